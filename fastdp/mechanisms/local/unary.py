"""Unary encodings: one bit per value of the domain, each a coin of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.channels import DenseChannel
from fastdp.columns.categories import out_of_domain
from fastdp.columns.domain import Domain
from fastdp.columns.reports import Field, Parts, ReportType
from fastdp.engine.runner import ReportBlock
from fastdp.errors import InputCorruptError, ParameterError
from fastdp.kernels.local.unary import count_bits, fill_unary
from fastdp.laws.coins import BITS, Coin, flip_threshold, log_up, resolvable_epsilon, set_loss
from fastdp.laws.rate import Rate
from fastdp.losses import AtomicLoss
from fastdp.mechanisms.annotations import UNSET, DeclaredDomain, OptionalNumber, computed, frozen
from fastdp.mechanisms.base import derived, given, set_fields
from fastdp.mechanisms.encoded import EncodedReports
from fastdp.mechanisms.local.frequencies import CoinProtocol, Counts
from fastdp.privacy import Privacy
from fastdp.typing import Column

LARGEST_DOMAIN = 1 << 24
LARGEST_CHANNEL = 12
"""Values of a domain whose 2**k sets are written out as a channel."""
_COUNTED_SIDE_BY_SIDE = 512


class PackedBits(EncodedReports, CoinProtocol):
    """Protocols whose report is a packed set: the true value is in with probability p, each other one with q.

    Value v is bit v % 8 of byte v // 8 of a report, the lowest bit first; bits beyond the domain are zero.
    """

    __slots__ = ()

    @property
    def coins(self) -> tuple[Coin, Coin]:
        """The coins of the true value's bit and of all others."""
        return self._truth, self._noise

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the sampler as implemented, from its integer thresholds, rounded up."""
        return Privacy(epsilon=unary_cost(self._truth, self._noise), unit="report", neighbours="replace")

    @property
    def report_type(self) -> ReportType:
        """Packed bits: arrow's fixed-size binary, or rows of uint8."""
        return ReportType((Field.packed("bits", self.domain.size),))

    def losses(self) -> tuple[AtomicLoss, ...]:
        """The privacy loss of the two bits in which two values' sets differ."""
        return (set_loss(self._truth, self._noise),)

    def channel(self) -> DenseChannel:
        """The channel from values to sets, the set's bits read as a number; for domains of up to 12 values."""
        return sets_channel(type(self).__name__, self.domain.size, self.p, self.q)

    @property
    def _slots(self) -> int:
        return self.report_type.fields[0].per_report

    def _block(self) -> ReportBlock:
        owner, k = type(self).__name__, self.domain.size
        coins = *self._noise.halves, *self._truth.halves

        def block(key: Any, slot: Any, _first: int, codes: np.ndarray, memory: Any, result: Parts) -> None:
            if fill_unary(key, slot, *coins, codes, k, memory.bits, result[0]):
                raise out_of_domain(owner)

        return block

    def aggregate(self, reports: Column) -> Counts:
        """In how many reports each value's bit is set, in one pass; counts of batches add up."""
        owner = type(self).__name__
        return count_sets(owner, (sets for (sets,) in self.report_type.read(owner, reports)), self.domain.size)


def sets_channel(owner: str, k: int, p: float, q: float) -> DenseChannel:
    """The channel from k values to 2**k sets, their bits read as a number."""
    if k > LARGEST_CHANNEL:
        raise ParameterError(
            f"{owner}: a channel to 2**{k} sets is too large; it is written out for up to {LARGEST_CHANNEL} values"
        )
    sets = (np.arange(1 << k)[:, None] >> np.arange(k)) & 1
    chances = np.where(np.eye(k, dtype=bool), p, q)
    return DenseChannel(np.stack([np.where(sets, chance, 1 - chance).prod(axis=1) for chance in chances]))


def count_sets(owner: str, pieces: Iterable[np.ndarray], k: int) -> Counts:
    """How many of the packed sets hold each value below k."""
    width = (k + 7) // 8
    columns = max(1, _COUNTED_SIDE_BY_SIDE // width)
    support, lanes, n = np.zeros(k, np.int64), np.empty((8, width * columns), np.uint8), 0
    for sets in pieces:
        n += sets.size // width
        if count_bits(sets, width, columns, lanes, support):
            raise InputCorruptError(f"{owner}: reports have bits set beyond the domain; they are not this protocol's")
    return Counts(support, n)


def unary_cost(truth: Coin, noise: Coin) -> float:
    """ln(p (1-q) / (q (1-p))): two values' reports differ in two bits; rounded up."""
    p, q = truth.exact, noise.exact
    return log_up(p * (1 - q) / (q * (1 - p)))


@frozen()
class UnaryEncoding(PackedBits):
    """One bit per value of the domain, set with probability p for the true value and q for any other.

    epsilon-local DP for one report per person, epsilon = ln(p (1-q) / (q (1-p))). Optimized (OUE): p = 1/2 and
    q = 1 / (e**epsilon + 1). Not optimized (SUE, basic RAPPOR): p = 1 - q, half of epsilon for either bit. Or any p and
    q, with :meth:`of` or as ``probabilities``. ``domain`` is the number of codes, or the labels in a public order.

    9 random bits per bit of a report. [Wang, Blocki, Li, Jha 2017]

    Parameters
    ----------
    epsilon
        The privacy of one report, of which two bits depend on the value.
    domain
        The number of codes, or the labels in a public order.
    optimized
        True for OUE (p = 1/2, the smallest variance), False for SUE (symmetric).
    probabilities
        The pair (p, q) itself, instead of epsilon.

    >>> import fastdp as fd
    >>> mechanism = fd.UnaryEncoding(epsilon=1.0, domain=10)
    >>> mechanism.randomize([3, 3], rng=fd.Rng.unsafe_seed(7))
    array([[171,   0],
           [ 32,   0]], dtype=uint8)
    >>> round(mechanism.variance(1), 5)
    3.68269
    """

    epsilon: OptionalNumber = UNSET
    domain: DeclaredDomain
    optimized: bool = True
    probabilities: Sequence[float] | None = None
    _truth: Coin = computed(compare=True)
    _noise: Coin = computed(compare=True)

    def __post_init__(self) -> None:
        owner, asked = "UnaryEncoding", given(self.epsilon)
        if not isinstance(self.optimized, bool):
            raise ParameterError(f"UnaryEncoding: optimized must be True or False, got {self.optimized!r}")
        if validation.exactly_one(owner, epsilon=asked, probabilities=self.probabilities) == "probabilities":
            self._set_probabilities(owner)
            return
        epsilon = resolvable_epsilon(owner, asked)
        exact = Fraction(epsilon) if self.optimized else Fraction(epsilon) / 2
        noise = flip_threshold(Rate.below(exact))
        truth = 1 << BITS - 1 if self.optimized else (1 << BITS) - noise
        domain = read_unary_domain("UnaryEncoding", self.domain)
        set_fields(self, epsilon=epsilon, domain=domain, _truth=Coin(truth), _noise=Coin(noise))

    def _set_probabilities(self, owner: str) -> None:
        """Coins with the given p and q, rounded towards each other, and the epsilon that follows."""
        if not isinstance(self.probabilities, list | tuple) or len(self.probabilities) != 2:
            raise ParameterError(f"{owner}: probabilities must be the pair (p, q)")
        p, q = (validation.probability(owner, *pair) for pair in zip("pq", self.probabilities, strict=True))
        if not q < p:
            raise ParameterError(f"{owner}: q must be below p, got p={p!r} and q={q!r}")
        thresholds = int(Fraction(p) * (1 << BITS)), math.ceil(Fraction(q) * (1 << BITS))
        if not thresholds[1] < thresholds[0]:
            raise ParameterError(f"{owner}: p and q must be more than 2**-128 apart, got p={p!r} and q={q!r}")
        truth, noise = Coin(thresholds[0]), Coin(thresholds[1])
        epsilon = derived(resolvable_epsilon(owner, unary_cost(truth, noise)))
        domain = read_unary_domain(owner, self.domain)
        set_fields(self, epsilon=epsilon, domain=domain, probabilities=(p, q), _truth=truth, _noise=noise)

    @classmethod
    def of(cls, *, p: float, q: float, domain: int | Sequence[str] | Sequence[int] | Domain) -> UnaryEncoding:
        """The encoding with these probabilities, 0 < q < p < 1; its epsilon follows.

        Parameters
        ----------
        p
            The probability of the true value's bit to be set.
        q
            The probability of any other bit to be set.
        domain
            The number of codes, or the labels in a public order.

        >>> round(UnaryEncoding.of(p=0.75, q=0.25, domain=10).epsilon, 6)
        2.197225
        """
        return cls(probabilities=(p, q), domain=domain)


@frozen()
class ThresholdedHistogram(PackedBits):
    """Which entries of a histogram of one, with Laplace noise of scale 2 / epsilon on each, exceed a threshold (THE).

    Every bit is a coin: set with probability p = 1 - e**(epsilon (threshold - 1) / 2) / 2 for the true value and
    q = e**(-epsilon threshold / 2) / 2 for any other, so the coins are drawn and no noise. The threshold, between 1/2
    and 1, is by default the one with the least variance. The guarantee is that of the bits, below the epsilon of the
    noise. [Wang, Blocki, Li, Jha 2017]

    Parameters
    ----------
    epsilon
        The privacy of the noisy histogram that is compared with the threshold.
    domain
        The number of codes, or the labels in a public order.
    threshold
        The value above which a noisy entry counts as 1; by default the one with the smallest variance.

    >>> import fastdp as fd
    >>> mechanism = fd.ThresholdedHistogram(epsilon=1.0, domain=10)
    >>> round(mechanism.threshold, 4), round(mechanism.variance(1), 5)
    (0.6186, 4.80715)
    """

    epsilon: float
    domain: DeclaredDomain
    threshold: OptionalNumber = UNSET
    _truth: Coin = computed(compare=True)
    _noise: Coin = computed(compare=True)

    def __post_init__(self) -> None:
        owner = "ThresholdedHistogram"
        epsilon = resolvable_epsilon(owner, self.epsilon)
        domain = read_unary_domain(owner, self.domain)
        threshold = given(self.threshold)
        if threshold is None:
            threshold = derived(best_threshold(epsilon))
        else:
            threshold = validation.probability(owner, "threshold", threshold)
        if threshold < 0.5:
            raise ParameterError(f"{owner}: threshold must be from 0.5 to 1, got {threshold!r}")
        p, q = _threshold_probabilities(epsilon * (1 - 2.0**-40), threshold)
        truth, noise = Coin(int(Fraction(p) * (1 << BITS))), Coin(math.ceil(Fraction(q) * (1 << BITS)))
        set_fields(self, epsilon=epsilon, domain=domain, threshold=threshold, _truth=truth, _noise=noise)


def _threshold_probabilities(epsilon: float, threshold: float) -> tuple[float, float]:
    return 1 - math.exp(epsilon * (threshold - 1) / 2) / 2, math.exp(-epsilon * threshold / 2) / 2


def best_threshold(epsilon: float) -> float:
    """The threshold between 1/2 and 1 with the least variance of a rare value's frequency."""

    def cost(threshold: float) -> float:
        p, q = _threshold_probabilities(epsilon, threshold)
        return q * (1 - q) / (p - q) ** 2

    low, high = 0.5, 1.0
    for _ in range(80):  # thirds: the cost has one minimum
        third = (high - low) / 3
        low, high = (low, high - third) if cost(low + third) < cost(high - third) else (low + third, high)
    return min((low + high) / 2, 1 - 2.0**-50)


def read_unary_domain(owner: str, domain: int | Sequence[str] | Sequence[int] | Domain) -> Domain:
    """A domain small enough for one bit per value."""
    return Domain.read(owner, domain, most=LARGEST_DOMAIN, hint="; a report has a bit for each")
