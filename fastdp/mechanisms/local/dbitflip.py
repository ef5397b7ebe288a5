"""Repeated collection of counters: each person answers for a few buckets, for good."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.columns.categories import codes_result_type, out_of_domain, read_codes
from fastdp.columns.numeric import Nulls, NumericColumn, numeric_result_type, read_numeric
from fastdp.columns.persons import read_persons
from fastdp.columns.reports import Field, Parts, ReportType
from fastdp.engine.runner import run_reports
from fastdp.errors import DomainError, InputCorruptError, ParameterError
from fastdp.kernels.local.permanent import fill_permanent_sets, fill_samples
from fastdp.laws.coins import Coin, flip_threshold, log_up, resolvable_epsilon
from fastdp.laws.loss_atoms import atomic, mixed
from fastdp.laws.rate import Rate
from fastdp.losses import AtomicLoss
from fastdp.mechanisms.annotations import (
    UNSET,
    DeclaredDomain,
    OptionalPair,
    computed,
    frozen,
)
from fastdp.mechanisms.base import set_fields
from fastdp.mechanisms.local.frequencies import (
    Counts,
    FlippedBits,
    FrequencyEstimate,
    check_variance_arguments,
    protocol_variance,
)
from fastdp.mechanisms.local.unary import count_sets, read_unary_domain
from fastdp.privacy import Privacy
from fastdp.random.permanent_keys import new_key, read_key
from fastdp.random.rng import Rng, resolve
from fastdp.typing import Column

if TYPE_CHECKING:
    import pyarrow as pa


@frozen()
class DBitFlip(FlippedBits):
    """Answer for ``bits`` of the buckets, drawn once per person: is the counter in there? The answers never change.

    The buckets of a person, and the two answers for each (in, or not in), are keyed functions of (key, person), so that
    a counter that moves between other buckets repeats its answers, and nothing is stored. epsilon-local DP for a value
    that stays; what a person can ever reveal is the two answers to ``bits`` questions. Every counter needs a key of its
    own: with a shared one, answers that differ would tell that the values do. ``domain`` is the number of
    buckets; with ``bounds`` values are numbers, clamped to them and cut into that many equal buckets.

    [Ding, Kulkarni, Yekhanin 2017]

    Parameters
    ----------
    epsilon
        The privacy of the answers about a value that stays in its bucket.
    domain
        The number of buckets.
    bits
        The number of buckets that each person answers for.
    bounds
        The interval (low, high) of a counter that is cut into buckets.
    question
        Public text that separates the permanent answers to one question from those to another.

    >>> import fastdp as fd
    >>> mechanism = fd.DBitFlip(epsilon=1.0, domain=24, bits=4, bounds=(0, 86400))
    >>> key = fd.DBitFlip.new_key()
    >>> reports = mechanism.randomize([3600.0, 80000.0], persons=[1, 2], key=key)
    >>> bool((reports == mechanism.randomize([3600.0, 80000.0], persons=[1, 2], key=key)).all())
    True
    """

    epsilon: float
    domain: DeclaredDomain
    bits: int
    bounds: OptionalPair = UNSET
    question: str = ""
    _noise: Coin = computed(compare=True)

    def __post_init__(self) -> None:
        owner = "DBitFlip"
        epsilon = resolvable_epsilon(owner, self.epsilon)
        domain = read_unary_domain(owner, self.domain)
        bits = validation.positive_integer(owner, "bits", self.bits)
        if bits > domain.size:
            raise ParameterError(f"{owner}: bits must be at most the {domain.size} buckets of the domain, got {bits}")
        bounds = None if self.bounds is None else validation.bounds(owner, self.bounds, integers=False)
        if bounds is not None and domain.labels is not None:
            raise ParameterError(f"{owner}: bounds are for a number of buckets; labels have none")
        noise = Coin(flip_threshold(Rate.below(Fraction(epsilon) / 2)))
        set_fields(self, epsilon=epsilon, domain=domain, bits=bits, bounds=bounds, _noise=noise)

    new_key = staticmethod(new_key)

    @property
    def privacy(self) -> Privacy:
        """What the reports of a value that stays cost, however many: up to two answers differ between two buckets."""
        ratio = (self._truth.exact / self._noise.exact) ** min(2, self.bits)
        return Privacy(epsilon=log_up(ratio), unit="person and value", neighbours="replace")

    def losses(self) -> tuple[AtomicLoss, ...]:
        """The privacy loss of the answers for two buckets, of which both, one or none are asked for."""
        k, flip = self.domain.size, self._noise.exact
        both, none = (Fraction(n * (n - 1), k * (k - 1)) for n in (self.bits, k - self.bits))
        one = [(1 - flip, flip), (flip, 1 - flip)]
        two = [(p * other_p, q * other_q) for p, q in one for other_p, other_q in one]
        return (atomic(mixed([(both, two), (1 - both - none, one), (none, [(Fraction(1), Fraction(1))])])),)

    @property
    def report_type(self) -> ReportType:
        """Two packed sets: the buckets that were asked for, and those of them that were answered with yes."""
        size = self.domain.size
        return ReportType((Field.packed("asked", size), Field.packed("yes", size)))

    def variance(self, n: int, frequency: float = 0.0) -> float:
        """The variance of the estimated frequency of one bucket over ``n`` reports, n bits / k of which ask for it."""
        n, frequency = check_variance_arguments("DBitFlip", n, frequency)
        asked = n * self.bits / self.domain.size
        return float(protocol_variance(self.p, self.q, 1, frequency) / asked + _subset_variance(frequency, asked, n))

    def randomize(  # type: ignore[override]  # no report without knowing whose
        self, values: Column, *, persons: Column, key: bytes, rng: Rng | None = None, nulls: Nulls = "error"
    ) -> Any:
        """One report per value. ``rng`` is not used: all randomness is the key's.

        Parameters
        ----------
        values, persons, key, rng, nulls
            As in `Longitudinal.randomize`; ``rng`` is not used.
        """
        owner, k = "DBitFlip", self.domain.size
        resolve(owner, rng)
        column = self._read(values, nulls)
        answers, names = read_key(owner, key, self.question, (owner, k, self.bits, self._noise))
        people = read_persons(owner, persons, column.size, names)
        coins = *self._noise.halves, *self._truth.halves

        def block(_key: Any, _slot: Any, at: int, codes: np.ndarray, memory: Any, result: Parts) -> None:
            asked, yes = result
            codes = self._buckets(codes)
            someone, by_value = people.read(at, at + codes.size), False
            if fill_permanent_sets(answers, someone, codes, by_value, *coins, k, memory.permanent, yes):
                raise out_of_domain(owner)
            fill_samples(answers, someone, k, self.bits, memory.permanent, asked)
            np.bitwise_and(yes, asked, out=yes)

        return run_reports(owner, values, column, Rng(), self.report_type, block)

    def result_type(self, arrow_type: pa.DataType) -> pa.DataType:
        """The arrow type of the reports."""
        if self.bounds is None:
            codes_result_type("DBitFlip", arrow_type, self.domain)
        else:
            numeric_result_type("DBitFlip", arrow_type, "float")
        return self.report_type.arrow_type()

    def _read(self, values: Column, nulls: Nulls) -> NumericColumn:
        if self.bounds is None:
            return read_codes("DBitFlip", values, self.domain, nulls=nulls)
        return read_numeric("DBitFlip", values, "float", nulls=nulls)

    def _buckets(self, values: np.ndarray) -> np.ndarray:
        """The bucket of each value; codes are buckets already."""
        if self.bounds is None:
            return values
        low, high = self.bounds
        if np.isnan(values).any():
            raise DomainError("DBitFlip: the values hold NaN; drop or replace them first")
        inside = np.clip(values.astype(np.float64), low, high)
        share = (inside / 2 - low / 2) / (high / 2 - low / 2)  # halves, for the widest bounds
        return np.minimum((share * self.domain.size).astype(np.int64), self.domain.size - 1)

    def aggregate(self, reports: Column) -> Counts:
        """How often each bucket was answered with yes, and how often it was asked for; counts of batches add up."""
        owner, k = "DBitFlip", self.domain.size
        total = Counts(np.zeros((2, k), np.int64), 0)
        for asked, yes in self.report_type.read(owner, reports):
            if (yes & ~asked).any():
                raise InputCorruptError(f"{owner}: reports answer what was not asked; they are not this protocol's")
            questions, answers = count_sets(owner, [asked], k), count_sets(owner, [yes], k)
            total += Counts(np.stack([answers.support, questions.support]), questions.n)
        return total

    def _support_shape(self) -> tuple[int, ...]:
        return 2, self.domain.size

    def estimate(self, reports: Column) -> FrequencyEstimate:
        """Unbiased frequencies of each bucket, with standard errors; infinite where nobody was asked."""
        counts = self._counts_of(reports)
        if counts.n < 1:
            raise ParameterError("estimate: there are no reports")
        yes, asked = counts.support
        some = np.maximum(asked, 1)
        frequencies = np.where(asked > 0, (yes / some - self.q) / (self.p - self.q), 0.0)
        inside = np.clip(frequencies, 0, 1)
        spread = protocol_variance(self.p, self.q, 1, inside) / some + _subset_variance(inside, some, counts.n)
        return FrequencyEstimate(frequencies, np.where(asked > 0, np.sqrt(spread), np.inf), counts.n)


def _subset_variance(frequency: Any, asked: Any, n: int) -> Any:
    """The variance of the share of a bucket among those who were asked for it, around its share among all."""
    return frequency * (1 - frequency) * np.maximum(1 / asked - 1 / n, 0)
