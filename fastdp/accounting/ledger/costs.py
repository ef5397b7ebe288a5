"""What a release costs, in integers: a sum of integers is the same on every machine, and rounding is always up."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Protocol, runtime_checkable

from fastdp.errors import ParameterError
from fastdp.privacy import MetricPrivacy, Privacy

NANO = 10**9
"""Parts of an epsilon, of a rho and of a mu squared."""
ATTO = 10**18
"""Parts of a delta."""
LARGEST = 2**62
"""What an entry or a total may hold."""

TOO_MUCH = "ledger: this release costs more than a ledger can hold; it is no guarantee worth stating"


@runtime_checkable
class Private(Protocol):
    """Whatever states its guarantee: a mechanism, a plan, a receipt."""

    @property
    def privacy(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Cost:
    """Epsilon, rho and mu squared in billionths, delta in units of 1e-18; None where a guarantee has no such number.

    ``rho`` is what the guarantee states, or epsilon**2 / 2 of a pure one. ``bounded`` and ``square`` are rho and mu
    squared of a release of which a part of probability ``delta`` is set aside. [Bun, Steinke 2016, lemma 8.8]
    """

    epsilon: int | None
    delta: int
    rho: int | None
    bounded: int | None = None
    square: int | None = None

    @classmethod
    def of(cls, privacy: Privacy) -> Cost:
        """The cost of a guarantee, each number rounded up.

        What was asked for is charged, to the last decimal, since a guarantee is stated just below it.

        >>> Cost.of(Privacy(epsilon=0.1))
        Cost(epsilon=100000001, delta=0, rho=5000001, bounded=5000001, square=15702349)
        """
        epsilon = _units(privacy.epsilon, NANO)  # first, for its square could be beyond float64
        pure = None if privacy.epsilon is None else Privacy(epsilon=privacy.epsilon).as_zcdp().rho
        rho = pure if privacy.rho is None and not privacy.delta else privacy.rho
        square = None if privacy.epsilon is None else mu_of_epsilon(privacy.epsilon) ** 2 * (1 + 1e-15)
        return cls(
            epsilon, _units(privacy.delta, ATTO) or 0, _units(rho, NANO), _units(pure, NANO),
            _units(square, NANO),
        )  # fmt: skip

    def times(self, count: int) -> Cost:
        """The cost of so many releases."""
        counts = [None if one is None else one * count for one in astuple(self)]
        if any(one is not None and one > LARGEST for one in counts):
            raise ParameterError(TOO_MUCH)
        return Cost(*counts)  # type: ignore[arg-type]


def mu_of_epsilon(epsilon: float) -> float:
    """The smallest mu for which every epsilon-DP release is mu-Gaussian-DP, rounded up: 2z, P(N > z) = 1/(1+e^eps).

    The trade-off curve of randomized response has one kink, and a convex curve that is below it there is below it.

    >>> round(mu_of_epsilon(1.0), 6)
    1.232035
    """
    tail = 1 / (1 + math.exp(min(epsilon, 700.0)))
    return -2 * NormalDist().inv_cdf(tail) * (1 + 1e-12) + 1e-14


def _units(value: float | None, unit: int) -> int | None:
    """How many units a number is, rounded up."""
    if value is None:
        return None
    count = math.ceil(Fraction(value) * unit)
    if count > LARGEST:
        raise ParameterError(TOO_MUCH)
    return count


def read_guarantees(owner: str, given: Any) -> tuple[Privacy | None, dict[str, MetricPrivacy]]:
    """The guarantee of a mechanism, plan or receipt for whole records or persons, and those by distance, by column."""
    privacy = given if isinstance(given, Privacy) else given.privacy if isinstance(given, Private) else None
    metric = dict(getattr(privacy, "metric", {}))
    record = getattr(privacy, "record", privacy)
    if isinstance(record, MetricPrivacy):
        raise ParameterError(
            f"{owner}: a guarantee by distance has no place in a sum of epsilons; it needs an account of its own, "
            "which plans have by the name of their column: metric={...}"
        )
    if not isinstance(record, Privacy) and not (record is None and metric):
        raise ParameterError(f"{owner}: give a mechanism, a plan, a receipt or a Privacy, got {type(given).__name__}")
    return record, metric
