"""Local hashing."""

from __future__ import annotations

import numbers
import threading
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.channels.hashing import HashingChannel
from fastdp.columns.categories import out_of_domain
from fastdp.columns.domain import Domain
from fastdp.columns.reports import Field, Parts, ReportType
from fastdp.engine.runner import ReportBlock
from fastdp.errors import InputCorruptError, ParameterError
from fastdp.kernels.local.hadamard import count_indices
from fastdp.kernels.local.hashing import count_supporters, fill_hashed, fill_in_cohorts, fold_cohorts
from fastdp.kernels.stream.words import TILE
from fastdp.laws.coins import resolvable_epsilon
from fastdp.laws.local.hashing import LARGEST_G, HashLaw, best_g, buckets, polynomials
from fastdp.laws.local.krr import KRRLaw, build_bounds
from fastdp.laws.rate import Rate
from fastdp.mechanisms.annotations import UNSET, DeclaredDomain, OptionalInteger, computed, frozen
from fastdp.mechanisms.base import FiniteMechanism, derived, given, set_fields
from fastdp.mechanisms.encoded import EncodedReports
from fastdp.mechanisms.local.frequencies import (
    Counts,
    FrequencyEstimate,
    LawProtocol,
    Score,
    check_variance_arguments,
    protocol_variance,
    unbiased,
)
from fastdp.threads import BLOCK, for_each_block
from fastdp.typing import Column

LARGEST_DOMAIN = 1 << 17
"""With a seed per person; as far as any two values have independent hashes."""
LARGEST_COHORT_DOMAIN = 1 << 24
LARGEST_COHORTS = 1 << 16
LARGEST_CODES = 1 << 24
"""Different reports of a protocol with cohorts; the server's histogram then takes 128 MiB."""


@frozen()
class LocalHashing(EncodedReports, LawProtocol, FiniteMechanism):
    """Report a hash of the value to g numbers, randomized by k-ary randomized response, and which hash function it was.

    epsilon-local DP for one report per person, with p = e**epsilon / (e**epsilon + g - 1) for the hash; the function
    says nothing about the value. The best g, and the default, is e**epsilon + 1 rounded (optimal local hashing); g = 2
    is binary local hashing. ``domain`` is the number of codes, or the labels in a public order.

    Without ``cohorts``, every report has its own random hash function: a 64-bit seed and a hash. Any two values have
    independent hashes, so estimates are unbiased; the server hashes every value for every report, n * k steps.

    With ``cohorts=C``, a report is one integer, c * g + hash, for a random one c of C public hash functions, made from
    ``salt``. The server counts the C * g reports and then takes C * k steps, whatever n is. The hash functions are the
    same for all, so values that collide often stay entangled: over the draw of the hash functions this adds
    sum(f**2) / ((g - 1) C) over the other values to the variance, however large n is. Standard errors include it, with
    the estimated frequencies; ``variance`` includes the most that it can be. Choose C well above n * sum(f**2) / 4.

    10 random bytes per report, 6 with cohorts. [Wang, Blocki, Li, Jha 2017; Bassily and Smith 2015]

    Parameters
    ----------
    epsilon
        The privacy of one report, spent on the hash; its function is independent of the value.
    domain
        The number of codes, or the labels in a public order.
    g
        The number of hash values; by default the one with the smallest variance (OLH).
    cohorts
        The number of public hash functions, one per cohort; without it every report has a hash function of its own.
    salt
        A public integer that selects the hash functions of the cohorts.

    >>> import fastdp as fd
    >>> mechanism = LocalHashing(epsilon=1.0, domain=1000)
    >>> mechanism.g, round(mechanism.p, 6), mechanism.q
    (4, 0.475367, 0.25)
    >>> mechanism.randomize([10, 20], rng=fd.Rng.unsafe_seed(7)).tolist()
    [(5983603755733040635, 1), (14868846730395880226, 3)]
    >>> LocalHashing(epsilon=1.0, domain=1000, cohorts=256).randomize([10, 20], rng=fd.Rng.unsafe_seed(7))
    array([598, 107], dtype=uint32)
    """

    epsilon: float
    domain: DeclaredDomain
    g: OptionalInteger = UNSET
    cohorts: int | None = None
    salt: int = 0
    _law: HashLaw = computed()

    def __post_init__(self) -> None:
        epsilon = resolvable_epsilon("LocalHashing", self.epsilon)
        domain = Domain.read("LocalHashing", self.domain)
        g = (
            derived(best_g(epsilon))
            if given(self.g) is None
            else validation.positive_integer("LocalHashing", "g", self.g)
        )
        if not 2 <= g <= LARGEST_G:
            raise ParameterError(f"LocalHashing: g must be from 2 to {LARGEST_G}, got {g}")
        cohorts = _check_cohorts(self.cohorts, g)
        salt = _check_salt(self.salt, cohorts)
        largest = LARGEST_DOMAIN if cohorts is None else LARGEST_COHORT_DOMAIN
        if domain.size > largest:
            more = "; with cohorts it may have more" if cohorts is None else ""
            raise ParameterError(f"LocalHashing: domain must have at most {largest} values, got {domain.size}{more}")
        law = HashLaw(KRRLaw(Rate.below(Fraction(epsilon)), g), cohorts is not None)
        set_fields(self, epsilon=epsilon, domain=domain, g=g, cohorts=cohorts, salt=salt, _law=law)

    @property
    def report_type(self) -> ReportType:
        """A seed and a hash; with cohorts, one integer below C * g."""
        if self.cohorts is not None:
            return ReportType((Field("report", np.dtype(np.uint32)),))
        return ReportType((Field("seed", np.dtype(np.uint64)), Field("value", np.dtype(np.uint16))))

    def channel(self) -> HashingChannel:
        """The channel from the values of the domain to the C * g reports of public cohorts."""
        if self.cohorts is None:
            raise ParameterError("LocalHashing: with a seed per report there are 2**64 hash functions; give cohorts")
        krr = self._law.krr
        return HashingChannel(self.domain.size, polynomials(self.salt, self.cohorts), self.g, krr.p, krr.q)

    def _block(self) -> ReportBlock:
        return self._seeded_block() if self.cohorts is None else self._cohort_block()

    def _seeded_block(self) -> ReportBlock:
        k, g = np.uint64(self.domain.size), np.uint64(self.g)
        bounds = build_bounds(self._law.krr)

        def block(key: Any, slot: Any, _first: int, values: np.ndarray, memory: Any, result: Parts) -> None:
            offsets = np.empty(TILE, np.uint32)
            if fill_hashed(key, slot, *bounds, k, g, values, memory.scratch, offsets, *result):
                raise out_of_domain("LocalHashing")

        return block

    def _cohort_block(self) -> ReportBlock:
        k, g = np.uint64(self.domain.size), np.uint64(self.g)
        bounds = build_bounds(self._law.krr)
        public = polynomials(self.salt, self.cohorts)

        def block(key: Any, slot: Any, _first: int, values: np.ndarray, memory: Any, result: Parts) -> None:
            chosen = np.empty((3, TILE), np.uint32)
            if fill_in_cohorts(key, slot, *bounds, k, g, public, values, memory.scratch, chosen, result[0]):
                raise out_of_domain("LocalHashing")

        return block

    def aggregate(self, reports: Column) -> Counts:
        """How many reports support each value, in one pass; counts of batches add up."""
        pieces = self.report_type.read("LocalHashing", reports)
        return self._count(pieces) if self.cohorts is None else self._count_cohorts(pieces)

    def _count(self, pieces: Iterator[Parts]) -> Counts:
        """Every value hashed for every report, on several threads."""
        counts, lock, n = np.zeros(self.domain.size, np.int64), threading.Lock(), 0
        starts, widths = buckets(self.g)

        for seeds, values in pieces:

            def count(start: int, stop: int, seeds: np.ndarray = seeds, values: np.ndarray = values) -> None:
                own = np.zeros(self.domain.size, np.uint32)
                if count_supporters(seeds[start:stop], values[start:stop], starts, widths, own):
                    raise InputCorruptError(
                        f"LocalHashing: the reports hold a value that is not below {self.g}; they are not of this "
                        "mechanism"
                    )
                with lock:
                    np.add(counts, own, out=counts)

            for_each_block(seeds.size, count)
            n += seeds.size
        return Counts(counts, n)

    def _count_cohorts(self, pieces: Iterator[Parts]) -> Counts:
        """A histogram of the reports, and every value hashed once for every cohort."""
        histogram, counts = self._histogram(pieces), np.zeros(self.domain.size, np.int64)
        fold_cohorts(histogram, polynomials(self.salt, self.cohorts), np.uint64(self.g), counts)
        return Counts(counts, int(histogram.sum()))

    @property
    def counts_outputs(self) -> bool:
        """Whether reports are outputs of the channel: in cohorts."""
        return self.cohorts is not None

    def count_outputs(self, reports: Column) -> np.ndarray:
        """How many reports are each number, in cohorts: the outputs of the channel."""
        if self.cohorts is None:
            raise ParameterError("LocalHashing: with a seed per report there are 2**64 hash functions; give cohorts")
        return self._histogram(self.report_type.read("LocalHashing", reports))

    def _histogram(self, pieces: Iterator[Parts]) -> np.ndarray:
        assert self.cohorts is not None, "seeds are not counted"
        codes = self.cohorts * self.g
        histogram = np.zeros(codes, np.int64)
        for (flat,) in pieces:
            for start in range(0, flat.size, BLOCK):
                if count_indices(flat[start : start + BLOCK], codes, histogram):
                    raise InputCorruptError(
                        f"LocalHashing: the reports hold a number that is not below {codes}; they are not of this "
                        "mechanism"
                    )
        return histogram

    @property
    def _entanglement(self) -> float:
        """The variance that collisions add per squared frequency of another value; 0 without cohorts."""
        if self.cohorts is None:
            return 0.0
        collision = self._law.collision
        return float(collision / (1 - collision) / self.cohorts)

    def variance(self, n: int, frequency: float = 0.0) -> float:
        """The variance of the estimated frequency of one value over ``n`` reports, all others holding one other value.

        That is the worst case for cohorts; without them it makes no difference.
        """
        n, frequency = check_variance_arguments("LocalHashing", n, frequency)
        return float(protocol_variance(self.p, self.q, n, frequency)) + self._entanglement * (1 - frequency) ** 2

    def estimate(self, reports: Column) -> FrequencyEstimate:
        """Unbiased frequencies of each value, with standard errors, from reports or from their counts."""
        found = unbiased(self.p, self.q, self._counts_of(reports))
        if self.cohorts is None:
            return found
        squares = np.clip(found.frequencies, 0, 1) ** 2
        others = np.minimum(squares.sum() - squares, 1.0)
        extra = self._entanglement * others
        constant, linear, sampled = found.score or Score(found.std_error**2, 0.0, 1 / found.n)
        score = Score(constant + extra, linear, sampled)
        return FrequencyEstimate(found.frequencies, np.sqrt(found.std_error**2 + extra), found.n, score)


def _check_cohorts(value: Any, g: int) -> int | None:
    """A number of cohorts that the server can count, or None."""
    if value is None:
        return None
    cohorts = validation.positive_integer("LocalHashing", "cohorts", value)
    if cohorts > LARGEST_COHORTS or cohorts * g > LARGEST_CODES:
        raise ParameterError(
            f"LocalHashing: cohorts must be at most {LARGEST_COHORTS}, and cohorts * g at most {LARGEST_CODES}, got "
            f"{cohorts} and {cohorts * g}"
        )
    return cohorts


def _check_salt(value: Any, cohorts: int | None) -> int:
    """A number that the public hash functions are made from."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 0 or (value and cohorts is None):
        raise ParameterError("LocalHashing: salt must be an integer >= 0, and goes with cohorts")
    return int(value)
