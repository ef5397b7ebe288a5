"""RAPPOR: Bloom filters in cohorts, every bit a coin."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.columns.categories import out_of_domain
from fastdp.columns.domain import Domain
from fastdp.columns.reports import Field, Parts, ReportType
from fastdp.engine.runner import ReportBlock
from fastdp.errors import InputCorruptError, NotIdentifiableError, ParameterError
from fastdp.kernels.local.bloom import count_cohorts, fill_bloom
from fastdp.kernels.local.unary import flip_sets
from fastdp.kernels.splitmix import splitmix
from fastdp.laws.coins import BITS, Coin, flip_loss, flip_threshold, log_up, resolvable_epsilon
from fastdp.laws.rate import Rate
from fastdp.losses import AtomicLoss
from fastdp.mechanisms.annotations import DeclaredDomain, computed, frozen
from fastdp.mechanisms.base import set_fields
from fastdp.mechanisms.encoded import EncodedReports
from fastdp.mechanisms.local.frequencies import (
    Counts,
    FlippedBits,
    FrequencyEstimate,
    check_variance_arguments,
)
from fastdp.privacy import Privacy
from fastdp.threads import BLOCK
from fastdp.typing import Column

LARGEST_FILTERS = 1 << 28
"""Bytes of the table of all values' filters in all cohorts."""
LARGEST_DECODED = 1 << 14


@frozen()
class RAPPOR(EncodedReports, FlippedBits):
    """Report a random cohort, and the value's Bloom filter in that cohort with every bit flipped with probability q.

    epsilon-local DP for one report per person: filters differ in at most 2 ``hashes`` bits, and
    q = 1 / (e**(epsilon / (2 hashes)) + 1). A report has ``bits`` bits however large the domain is; the server undoes
    the filters by least squares over all cohorts, which needs cohorts * bits to be well above the number of values. The
    filters are public, made from ``salt``. [Erlingsson, Pihur, Korolova 2014]

    Parameters
    ----------
    epsilon
        The privacy of one report, shared by the 2 hashes bits in which two filters differ.
    domain
        The number of codes, or the labels in a public order.
    bits
        The length of the Bloom filter.
    hashes
        The number of hash functions per cohort.
    cohorts
        The number of cohorts.
    salt
        A public integer that selects the hash functions.

    >>> import fastdp as fd
    >>> mechanism = fd.RAPPOR(epsilon=2.0, domain=100, bits=16, cohorts=32)
    >>> reports = mechanism.randomize([3, 5], rng=fd.Rng.unsafe_seed(7))
    >>> reports.dtype
    dtype([('cohort', '<u2'), ('bits', 'u1', (2,))])
    """

    epsilon: float
    domain: DeclaredDomain
    bits: int = 32
    hashes: int = 2
    cohorts: int = 64
    salt: int = 0
    _noise: Coin = computed()

    def __post_init__(self) -> None:
        owner = "RAPPOR"
        epsilon = resolvable_epsilon(owner, self.epsilon)
        domain = Domain.read(owner, self.domain)
        bits, hashes, cohorts = (
            validation.positive_integer(owner, name, getattr(self, name)) for name in ("bits", "hashes", "cohorts")
        )
        if cohorts & (cohorts - 1) or cohorts > 1 << 16:
            raise ParameterError(f"{owner}: cohorts must be a power of two up to 65536, got {cohorts}")
        if not hashes <= bits <= 1 << 16:
            raise ParameterError(f"{owner}: bits must be from the number of hashes, {hashes}, to 65536, got {bits}")
        if cohorts * domain.size * ((bits + 7) // 8) > LARGEST_FILTERS:
            raise ParameterError(f"{owner}: filters of all values in all cohorts exceed 256 MiB; use fewer cohorts")
        if isinstance(self.salt, bool) or not isinstance(self.salt, int) or not 0 <= self.salt < 1 << 64:
            raise ParameterError(f"{owner}: salt must be an integer from 0 to 2**64 - 1, got {self.salt!r}")
        coin = Coin(flip_threshold(Rate.below(Fraction(epsilon) / (2 * hashes))))
        set_fields(self, epsilon=epsilon, domain=domain, bits=bits, hashes=hashes, cohorts=cohorts, _noise=coin)

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the sampler as implemented, from its integer threshold, rounded up."""
        ratio = ((1 << BITS) - self._noise.threshold) / Fraction(self._noise.threshold)
        return Privacy(epsilon=log_up(ratio ** (2 * self.hashes)), unit="report", neighbours="replace")

    @property
    def report_type(self) -> ReportType:
        """The cohort, and a packed set of bits."""
        return ReportType((Field("cohort", np.dtype(np.uint16)), Field.packed("bits", self.bits)))

    def losses(self) -> tuple[AtomicLoss, ...]:
        """The privacy losses of the flipped bits in which two filters can differ, each independent of the others."""
        return (flip_loss(self._noise),) * (2 * self.hashes)

    def filters(self) -> np.ndarray:
        """Which bits each value sets in each cohort: bool[cohorts, k, bits]."""
        return _filters(self.cohorts, self.domain.size, self.bits, self.hashes, self.salt)

    @property
    def _slots(self) -> int:
        return self.report_type.fields[1].per_report

    def _block(self) -> ReportBlock:
        owner, k = "RAPPOR", self.domain.size
        packed = np.packbits(self.filters(), axis=2, bitorder="little")
        high, low = self._noise.halves

        def block(key: Any, slot: Any, _first: int, codes: np.ndarray, memory: Any, result: Parts) -> None:
            cohorts, sets = result
            if fill_bloom(key, slot, packed, codes, k, memory.scratch, cohorts, sets):
                raise out_of_domain(owner)
            flip_sets(key, slot, high, low, self.bits, memory.bits, sets)

        return block

    def aggregate(self, reports: Column) -> Counts:
        """How often each bit is set in each cohort, and in a last column how many reports the cohort has."""
        counts, sizes = np.zeros((self.cohorts, self.bits), np.int64), np.zeros(self.cohorts, np.int64)
        width = self.report_type.fields[1].per_report
        for cohorts, sets in self.report_type.read("RAPPOR", reports):
            for start in range(0, cohorts.size, BLOCK):
                part = cohorts[start : start + BLOCK], sets[start * width : (start + BLOCK) * width]
                if count_cohorts(*part, width, counts, sizes):
                    raise InputCorruptError("RAPPOR: reports have a cohort or bits that are not this protocol's")
        return Counts(np.concatenate([counts, sizes[:, None]], axis=1), int(sizes.sum()))

    def _support_shape(self) -> tuple[int, ...]:
        return self.cohorts, self.bits + 1

    def estimate(self, reports: Column) -> FrequencyEstimate:
        """Unbiased frequencies of each value by least squares over the filters, with standard errors."""
        counts = self._counts_of(reports)
        set_bits, sizes = counts.support[:, :-1], counts.support[:, -1]
        if counts.n < 1 or not sizes.all():
            raise ParameterError("RAPPOR: there must be reports of every cohort to estimate from; collect more")
        decode = self._decoder()
        shares = (set_bits / sizes[:, None] - self.q) / (self.p - self.q)
        frequencies = decode @ shares.reshape(-1)
        return FrequencyEstimate(frequencies, np.sqrt(self._variances(frequencies, sizes, decode)), counts.n)

    def variance(self, n: int, frequency: float = 0.0) -> float:
        """The variance of the estimated frequency of value 0 over ``n`` reports, the others being equally frequent."""
        n, frequency = check_variance_arguments("RAPPOR", n, frequency)
        k = self.domain.size
        shares = np.full(k, (1 - frequency) / (k - 1))
        shares[0] = frequency
        sizes = np.full(self.cohorts, n / self.cohorts)
        return float(self._variances(shares, sizes, self._decoder()[:1])[0])

    def _decoder(self) -> np.ndarray:
        if self.domain.size > LARGEST_DECODED:
            raise ParameterError(f"RAPPOR: estimates are made for up to {LARGEST_DECODED} values")
        return _decoder(self.cohorts, self.domain.size, self.bits, self.hashes, self.salt)

    def _variances(self, frequencies: np.ndarray, sizes: np.ndarray, decode: np.ndarray) -> np.ndarray:
        """Of the decoded values: coins of every bit, and who of the people fell into which cohort."""
        p, q = self.p, self.q
        inside = np.clip(frequencies, 0, None)
        inside = inside / max(inside.sum(), 1e-300)
        total = np.zeros(decode.shape[0])
        for cohort, filters in enumerate(self.filters()):
            weights = decode[:, cohort * self.bits : (cohort + 1) * self.bits]
            together = (filters * inside[:, None]).T @ filters
            mean = together.diagonal()
            people = together - np.outer(mean, mean)
            rates = q + (p - q) * mean
            spread = people + np.diag(rates * (1 - rates) / (p - q) ** 2 - people.diagonal())
            total += np.einsum("vi,ij,vj->v", weights, spread, weights) / sizes[cohort]
        exact = inside[: decode.shape[0]]
        variances: np.ndarray = np.maximum(total - exact * (1 - exact) / sizes.sum(), 0)  # everybody is in some cohort
        return variances


@lru_cache(maxsize=8)
def _filters(cohorts: int, k: int, bits: int, hashes: int, salt: int) -> np.ndarray:
    """Which bits each value sets in each cohort, by a public mix of (salt, cohort, value, hash)."""
    found = np.zeros((cohorts, k, bits), bool)
    cohort, value = np.meshgrid(np.arange(cohorts, dtype=np.uint64), np.arange(k, dtype=np.uint64), indexing="ij")
    for number in range(hashes):
        place = splitmix(splitmix(splitmix(np.uint64(salt) + cohort) + value) + np.uint64(number)) % np.uint64(bits)
        np.put_along_axis(found, place.astype(np.int64)[:, :, None], True, axis=2)
    found.setflags(write=False)
    return found


@lru_cache(maxsize=8)
def _decoder(cohorts: int, k: int, bits: int, hashes: int, salt: int) -> np.ndarray:
    """The least-squares inverse of the filters: k by cohorts * bits."""
    design = _filters(cohorts, k, bits, hashes, salt).transpose(0, 2, 1).reshape(cohorts * bits, k).astype(np.float64)
    if np.linalg.matrix_rank(design) < k:
        raise NotIdentifiableError(
            "RAPPOR: the filters of some values are the sums of others', so that no report can tell them apart; use "
            "more bits or cohorts"
        )
    return np.linalg.pinv(design)
