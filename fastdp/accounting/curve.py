"""PrivacyCurve: epsilon for a delta and delta for an epsilon, as proven brackets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fastdp import optional, rounding, validation
from fastdp.accounting.exact import exact_curve
from fastdp.accounting.factors import Factors
from fastdp.accounting.inversion import Inversion, choose_tilt
from fastdp.errors import ParameterError
from fastdp.privacy import Neighbours, Privacy

WIDTH = 1e-6
"""The relative width of epsilon that is aimed at."""


class Bounds(NamedTuple):
    """A bracket around a number; only ``upper`` is a guarantee.

    >>> float(Bounds(1.0, 1.5))
    1.5
    """

    lower: float
    upper: float

    def __float__(self) -> float:
        return self.upper


class Direction:
    """The curve of one order of the two neighbouring data sets: losses, mass at infinity, and what is charged."""

    def __init__(self, factors: Factors, rho: float = 0.0, width: float = WIDTH) -> None:
        self.factors, self.rho, self.width = factors, rho, width
        self._exact = None if rho else exact_curve(factors)

    @property
    def is_exact(self) -> bool:
        """Whether the curve has a closed form."""
        return self._exact is not None

    @property
    def worst_at_zero(self) -> float:
        """A cheap bound on delta(0) where every loss is of a sampled Gaussian, by their total variations; else 1."""
        factors = self.factors
        if self.rho or factors.laplace.size or factors.counts.size or factors.variance:
            return 1.0
        shares = [count * rate * 0.4 / sigma for sigma, rate, count, _ in factors.sampled.tolist()]
        return math.fsum(shares) * math.exp(2 * factors.margin) + 2 * factors.margin + 2 * factors.distance

    def far(self, epsilon: float) -> float:
        """What the samplers' distance from their laws adds to delta."""
        return self.factors.distance * (1 + math.exp(min(epsilon, 700.0)))

    def solver(
        self, *, delta: float | None = None, epsilon: float = 0.0, scale: float = 1.0
    ) -> Callable[[float], Bounds]:
        """Bounds on delta as a function of epsilon, sharp near the given one, without what is `far`."""
        factors = self.factors
        charged = factors.margin * 2 + factors.shift
        finite = self._finite(delta=delta, epsilon=max(0.0, epsilon - charged), scale=scale)
        infinite = factors.infinite
        grown = math.exp(factors.margin + factors.spread)

        def bounds(at: float) -> Bounds:
            lower, upper = finite(at)
            if charged:
                lower, upper = finite(at + charged)[0], finite(at - charged)[1]
            top = grown * (upper + infinite) * (1 + 4e-16)
            return Bounds(max(0.0, (lower + infinite * (1 - 4e-12)) / grown), min(1.0, top))

        return bounds

    def _finite(self, *, delta: float | None, epsilon: float, scale: float) -> Callable[[float], tuple[float, float]]:
        factors = self.factors
        if self._exact is not None:
            return self._exact.bounds
        if not factors.count and not factors.variance and not self.rho:
            return lambda at: (0.0, 0.0) if at >= 0 else (-math.expm1(at), -math.expm1(at))
        if self.rho:
            return self._concentrated(delta=delta, epsilon=epsilon, scale=scale)
        goal = None if delta is None else max((delta - factors.infinite) / 2, delta * 1e-6, 1e-280)
        theta, found = choose_tilt(factors, delta=goal, epsilon=epsilon)
        # where the curve is smooth, smoothing by w widens delta by 1.2 w^2 theta (theta + 1), epsilon by theta less
        wanted = self.width * (max(found * theta, 1e-3) if goal is not None else 1.0)
        smoothing = min(wanted / 1.5, 0.02) / (theta * (theta + 1)) * scale**2
        end = found if goal is not None else epsilon
        depth = max(0.0, theta * end - factors.log_moment(theta, coarse=True))
        cut = min(1e-6, max(1e-12, 0.05 * self.width * scale))
        inversion = Inversion(factors, theta, math.sqrt(min(smoothing, 4.0)), cut, depth)
        largest = factors.largest

        def finite(at: float) -> tuple[float, float]:
            return (0.0, 0.0) if at >= largest else inversion.bounds(at)

        return finite

    def _concentrated(
        self, *, delta: float | None, epsilon: float, scale: float
    ) -> Callable[[float], tuple[float, float]]:
        """With rho-zCDP losses only real moments are bounded: Chernoff above, and Gaussians of that rho below."""
        from dataclasses import replace

        gaussian = replace(self.factors, variance=self.factors.variance + 2 * self.rho)
        below = Direction(gaussian, width=self.width)._finite(delta=delta, epsilon=epsilon, scale=scale)  # noqa: SLF001

        def finite(at: float) -> tuple[float, float]:
            theta, _ = choose_tilt(gaussian, epsilon=at)
            moment, error = gaussian.log_moment_with_error(theta)
            log_bound = moment - theta * at - math.log1p(theta) - theta * math.log1p(1 / theta)
            error += 1e-14 * (1 + abs(theta * at) + abs(log_bound))
            return below(at)[0], min(1.0, math.exp(min(0.0, log_bound + error)))

        return finite


@dataclass(frozen=True, eq=False)
class PrivacyCurve:
    """What a composition guarantees: delta for every epsilon and the reverse, as proven brackets.

    >>> from fastdp.accounting.compose import compose
    >>> total = compose([(Privacy(epsilon=0.1), 100)])
    >>> round(total.epsilon(delta=1e-6).upper, 6)
    4.774568
    """

    directions: Sequence[Sequence[Direction]]
    """Alternatives (the largest counts), each a set of valid curves (the smallest counts)."""
    neighbours: Neighbours
    unit: str
    pure: float = math.inf
    """A pure epsilon, rounded up."""

    def delta(self, *, epsilon: float) -> Bounds:
        """The smallest delta at an epsilon >= 0."""
        epsilon = validation.as_float(epsilon)
        if not 0 <= epsilon < math.inf:
            raise ParameterError(f"PrivacyCurve.delta: epsilon must be a finite number >= 0, got {epsilon!r}")
        if epsilon >= self.pure:
            return Bounds(0.0, 0.0)
        found = [_least(_delta(one, epsilon) for one in options) for options in self.directions]
        return _most(found)

    def epsilon(self, *, delta: float) -> Bounds:
        """The smallest epsilon at a delta with 0 <= delta < 1; infinite if there is none."""
        delta = validation.as_float(delta)
        if not 0 <= delta < 1:
            raise ParameterError(f"PrivacyCurve.epsilon: delta must be a number with 0 <= delta < 1, got {delta!r}")
        if delta == 0:
            return Bounds(self.pure, self.pure)
        found = _most([_least(_epsilon(one, delta) for one in options) for options in self.directions])
        return Bounds(min(found.lower, self.pure), min(found.upper, self.pure))

    def as_privacy(self, *, delta: float = 0.0) -> Privacy:
        """The guarantee at one delta: the upper end of epsilon."""
        epsilon = self.epsilon(delta=delta).upper
        if not math.isfinite(epsilon):
            raise ParameterError(
                f"PrivacyCurve.as_privacy: there is no epsilon at delta {delta!r}; give a larger delta"
            )
        smallest = math.ulp(0.0)
        return Privacy(epsilon=max(epsilon, smallest), delta=delta, unit=self.unit, neighbours=self.neighbours)

    def group(self, size: int) -> GroupCurve | PrivacyCurve:
        """The curve for ``size`` units at once."""
        size = validation.positive_integer("PrivacyCurve.group", "size", size)
        return self if size == 1 else GroupCurve(self, size)

    def plot(self, *, largest: float | None = None, points: int = 40) -> Any:
        """A picture of delta against epsilon; needs matplotlib."""
        pyplot = optional.load("PrivacyCurve.plot", "matplotlib.pyplot", extra="report")
        end = largest if largest is not None else self.epsilon(delta=1e-12).upper
        epsilons = [end * i / points for i in range(points + 1)]
        figure, axes = pyplot.subplots()
        axes.semilogy(epsilons, [max(self.delta(epsilon=e).upper, 1e-300) for e in epsilons])
        axes.set_xlabel("epsilon")
        axes.set_ylabel("delta")
        return figure


@dataclass(frozen=True, eq=False)
class GroupCurve:
    """The curve of several units: delta(epsilon) (e^epsilon' - 1) / (e^epsilon - 1) at epsilon' = size * epsilon."""

    curve: PrivacyCurve
    size: int

    @property
    def neighbours(self) -> Neighbours:
        """What it means for data sets to differ by one unit."""
        return self.curve.neighbours

    def delta(self, *, epsilon: float) -> Bounds:
        """The bound on delta for the group, and from below what one unit has."""
        upper = self.curve.delta(epsilon=epsilon / self.size * (1 - 1e-15)).upper
        factor = self.size if not epsilon else math.expm1(epsilon) / math.expm1(epsilon / self.size)
        return Bounds(self.curve.delta(epsilon=epsilon).lower, min(1.0, upper * factor * (1 + 1e-14)))

    def epsilon(self, *, delta: float) -> Bounds:
        """The smallest epsilon of the group at a delta."""
        one = self.curve.epsilon(delta=delta)
        if delta == 0:
            return Bounds(one.lower, one.upper * self.size)
        high = max(one.upper, 1e-9)
        while high < 1e4 and self.delta(epsilon=high).upper > delta:
            high *= 2
        if self.delta(epsilon=high).upper > delta:
            return Bounds(one.lower, math.inf)
        return Bounds(one.lower, _solve(lambda e: self.delta(epsilon=e).upper, delta, one.upper, high, 1e-7)[1])


def _delta(direction: Direction, epsilon: float) -> Bounds:
    found, far = direction.solver(epsilon=epsilon)(epsilon), direction.far(epsilon)
    return Bounds(max(0.0, found.lower - far), min(1.0, found.upper + far))


def _epsilon(direction: Direction, delta: float) -> Bounds:
    """The bracket of epsilon; smoothed less where it comes out wider than was aimed at."""
    if direction.worst_at_zero <= delta:
        return Bounds(0.0, 0.0)
    best = Bounds(0.0, math.inf)
    for scale in (1.0, 0.3):
        bounds = direction.solver(delta=delta, scale=scale)
        width = 1e-14 if direction.is_exact else direction.width / 20
        upper = _solve_above(direction, bounds, delta, width)
        lower = _solve_below(lambda e: bounds(e).lower - direction.far(e), delta, upper, width)  # noqa: B023
        best = Bounds(max(best.lower, lower), min(best.upper, upper))
        if best.upper - best.lower <= 1.5 * direction.width * best.upper or direction.is_exact:
            break
    return best


def _solve_above(direction: Direction, bounds: Callable[[float], Bounds], delta: float, width: float) -> float:
    """An epsilon at which the upper bound is at most delta; infinite if none is found.

    What is far grows with epsilon, the rest falls: half of delta shows how much of it there can be.
    """
    limit, goal = _upper_limit(direction, bounds, delta), delta
    if direction.factors.distance:
        enough = _solve(lambda e: bounds(e).upper, delta / 2, 0.0, _upper_limit(direction, bounds, delta / 2), 0.01)[1]
        far = direction.far(enough)
        if not far <= delta / 2:
            return math.inf
        goal = delta - far
        limit = min(limit, enough) if bounds(limit).upper <= goal else enough
    return _solve(lambda e: bounds(e).upper, goal, 0.0, limit, width)[1]


def _solve_below(curve: Callable[[float], float], delta: float, upper: float, width: float) -> float:
    """An epsilon just below ``upper`` where the curve is still above delta, else 0: the tilt is sharp near it alone."""
    if not math.isfinite(upper):
        return 0.0
    back = 4 * width
    while back < 1:
        low = upper * (1 - back)
        if curve(low) > delta:
            return _solve(curve, delta, low, upper, width)[0]
        back *= 4
    return 0.0


def _upper_limit(direction: Direction, bounds: Callable[[float], Bounds], delta: float) -> float:
    """An epsilon at which the upper bound is at most delta; infinite if none is found."""
    factors = direction.factors
    if math.isfinite(factors.largest) and not direction.rho:
        top = rounding.up(factors.largest * (1 + 1e-15) + 2 * factors.margin + factors.shift)
        return top if bounds(top).upper <= delta else math.inf
    high = 1.0
    while high < 1e5 and bounds(high).upper > delta:
        high *= 1.5
    return high if bounds(high).upper <= delta else math.inf


def _solve(curve: Callable[[float], float], delta: float, low: float, high: float, width: float) -> tuple[float, float]:
    """An interval around the epsilon where a falling curve meets delta: above it at the left end, not at the right.

    The left end is 0 if the curve is at most delta there. By bisection until delta is near, then along logarithms.
    """
    if not math.isfinite(high):
        return low, high
    at_low, at_high = curve(low), curve(high)
    if at_low <= delta:
        return (0.0, low) if low == 0 else (low, low)
    goal, weight = math.log(delta), 1.0
    for step in range(200):
        if high - low <= max(width * high, 1e-15 * high, 5e-324):
            break
        at = (low + high) / 2
        if at_high > 0 and step % 3 and math.log(at_low / at_high) < 60:
            fraction = (math.log(at_low) - goal) / math.log(at_low / at_high)
            nudge = width * high * weight / 4
            at = low + fraction * (high - low)
            at = min(max(at + (nudge if step % 3 == 1 else -nudge), low + nudge), high - nudge)
            at = at if low < at < high else (low + high) / 2
        here = curve(at)
        if here > delta:
            low, at_low = at, here
        else:
            high, at_high = at, here
    return low, high


def _least(found: Any) -> Bounds:
    every = list(found)
    return Bounds(min(one.lower for one in every), min(one.upper for one in every))


def _most(found: Sequence[Bounds]) -> Bounds:
    return Bounds(max(one.lower for one in found), max(one.upper for one in found))
