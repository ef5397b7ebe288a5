"""What a release costs, in integers: a sum of integers is the same on every machine, and rounding is always up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Protocol, runtime_checkable

from fastdp.errors import ParameterError
from fastdp.losses import GaussianLoss, Loss
from fastdp.privacy import MetricPrivacy, Privacy

NANO = 10**9
"""Parts of an epsilon, of a rho and of a mu squared."""
ATTO = 10**18
"""Parts of a delta."""
LARGEST = 2**62
"""What an entry or a total may hold."""
HIGHEST = 20.0
"""The largest epsilon of a limit under "approx" and "gaussian", up to which delta covers the draws."""

TOO_MUCH = "ledger: this release costs more than a ledger can hold; it is no guarantee worth stating"


@runtime_checkable
class Private(Protocol):
    """Whatever states its guarantee: a mechanism, a plan, a receipt."""

    @property
    def privacy(self) -> Any: ...


@runtime_checkable
class Composed(Protocol):
    """A privacy curve, which is no guarantee before its delta is chosen."""

    def as_privacy(self, *, delta: float = 0.0) -> Privacy: ...


@runtime_checkable
class Lossy(Protocol):
    """Whatever gives its privacy losses: a mechanism, a plan."""

    def losses(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Cost:
    """Epsilon, rho and mu squared in billionths, delta in units of 1e-18; None where a guarantee has no such number.

    ``rho`` is what the guarantee states, or epsilon**2 / 2 of a pure one. ``bounded`` and ``square`` are rho and mu
    squared of a release of which a part of probability ``delta``, or ``square_delta``, is set aside. [Bun, Steinke
    2016, lemma 8.8]
    """

    epsilon: int | None
    delta: int
    rho: int | None
    bounded: int | None = None
    square: int | None = None
    square_delta: int = 0

    @classmethod
    def of(cls, privacy: Privacy) -> Cost:
        """The cost of a guarantee, each number rounded up.

        What was asked for is charged, to the last decimal, since a guarantee is stated just below it.

        >>> Cost.of(Privacy(epsilon=0.1))
        Cost(epsilon=100000001, delta=0, rho=5000001, bounded=5000001, square=15702349, square_delta=0)
        """
        epsilon = _units(privacy.epsilon, NANO)  # first, for its square could be beyond float64
        pure = None if privacy.epsilon is None else Privacy(epsilon=privacy.epsilon).as_zcdp().rho
        rho = pure if privacy.rho is None and not privacy.delta else privacy.rho
        square = None if privacy.epsilon is None else mu_of_epsilon(privacy.epsilon) ** 2 * (1 + 1e-15)
        delta = _units(privacy.delta, ATTO) or 0
        return cls(epsilon, delta, _units(rho, NANO), _units(pure, NANO), _units(square, NANO), delta)

    def with_gaussians(self, losses: Iterable[Loss], records: int) -> Cost:
        """The cost of a release whose losses are those of Gaussian noise, for ``records`` records together.

        Its mu squared is the noise's own, far below that of any (epsilon, delta) it has. The sampler's probabilities
        are within a factor e**±margin of the law's and within a statistical distance of it; delta pays for both.
        """
        gaussians = [loss for loss in losses if isinstance(loss, GaussianLoss)]
        square = sum(Fraction(loss.mu) ** 2 for loss in gaussians) * records**2
        apart = sum(Fraction(loss.distance) + 2 * Fraction(loss.margin) for loss in gaussians) * records
        delta = _units(apart * (1 + math.ceil(math.exp(HIGHEST))), ATTO) or 0
        return replace(self, square=_units(square, NANO), square_delta=delta)

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


def read_losses(given: Any) -> list[Loss]:
    """The losses that a mechanism or plan gives, none where it states a guarantee alone."""
    losses = given.losses() if isinstance(given, Lossy) else ()
    every: list[Any] = [losses] if isinstance(losses, Loss) else list(losses)
    return [one for loss, count in (item if isinstance(item, tuple) else (item, 1) for item in every)
            for one in [loss] * count]  # fmt: skip


def _units(value: float | Fraction | None, unit: int) -> int | None:
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
    if isinstance(given, Composed):
        raise ParameterError(
            f"{owner}: a composition has a guarantee at one delta; give compose([...]).as_privacy(delta=...)"
        )
    if not isinstance(record, Privacy) and not (record is None and metric):
        raise ParameterError(f"{owner}: give a mechanism, a plan, a receipt or a Privacy, got {type(given).__name__}")
    return record, metric
