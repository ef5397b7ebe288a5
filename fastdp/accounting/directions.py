"""One order of the two neighbouring data sets: brackets of its delta and its epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fastdp import rounding
from fastdp.accounting.brackets import Bounds, approach, solve
from fastdp.accounting.cells import CELLS_WIDTH
from fastdp.accounting.exact import exact_curve
from fastdp.accounting.factors import Factors
from fastdp.accounting.inversion import Inversion, TooFineError, choose_tilt, least_moment
from fastdp.losses import ConcentratedLoss, Loss, RenyiLoss

WIDTH = 1e-6
"""The relative width of epsilon that is aimed at."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """Losses of which only moments are bounded: ``rho`` of zCDP, and rows of orders, epsilons and counts."""

    rho: float
    renyi: tuple[tuple[tuple[float, ...], tuple[float, ...], int], ...]
    distance: float

    @classmethod
    def of(cls, items: Sequence[tuple[Loss, int]]) -> Bounded | None:
        """Those of the losses, None if there are none."""
        if not items:
            return None
        rho = math.fsum(loss.rho * count for loss, count in items if isinstance(loss, ConcentratedLoss))
        renyi = [(loss.orders, loss.epsilons, count) for loss, count in items if isinstance(loss, RenyiLoss)]
        return cls(rho * (1 + 4e-16), tuple(renyi), math.fsum(loss.distance * count for loss, count in items))

    @property
    def largest_tilt(self) -> float:
        """Beyond it nothing is known."""
        return min((max(orders) - 1 for orders, _, _ in self.renyi), default=math.inf)

    def log_moment(self, theta: float) -> float:
        """A bound on the sum of ln E e^{theta L}; between orders the chord of a convex function, which is 0 at 0."""
        total = self.rho * theta * (theta + 1)
        for orders, epsilons, count in self.renyi:
            tilts = np.array([0.0, *(order - 1 for order in orders)])
            total += count * float(np.interp(theta, tilts, [0.0, *(tilts[1:] * epsilons)])) * (1 + 1e-15)
        return total


class Direction:
    """The curve of one order of the two neighbouring data sets: losses, mass at infinity, and what is charged.

    ``bounded`` are losses of which only moments are known; ``below`` are factors whose curve lies below. ``start`` is
    where a search for epsilon begins: Chernoff's bound, and how fast the logarithm of delta falls there.
    """

    def __init__(
        self, factors: Factors, bounded: Bounded | None = None, width: float = WIDTH, below: Factors | None = None
    ) -> None:
        self.factors, self.bounded, self.width, self.below = factors, bounded, width, below
        self.start: tuple[float, float] | None = None
        self._exact = None if bounded else exact_curve(factors)

    @property
    def is_exact(self) -> bool:
        """Whether the curve has a closed form."""
        return self._exact is not None and self.below is None

    @property
    def worst_at_zero(self) -> float:
        """A cheap bound on delta(0) where every loss is of a sampled Gaussian, by their total variations; else 1."""
        factors = self.factors
        if self.bounded or factors.laplace.size or factors.counts.size or factors.variance:
            return 1.0
        shares = [count * rate * 0.4 / sigma for sigma, rate, count, _ in factors.sampled.tolist()]
        return math.fsum(shares) * math.exp(2 * factors.margin) + 2 * factors.margin + 2 * factors.distance

    @property
    def distance(self) -> float:
        """The statistical distance of the samplers from their laws."""
        return self.factors.distance + (self.bounded.distance if self.bounded else 0.0)

    @property
    def least_pure(self) -> float:
        """A lower bound on the epsilon at delta 0: the largest loss, less what it may be off by."""
        factors = self.below or self.factors
        if self.bounded or self.distance:
            return 0.0
        if factors.infinite:
            return math.inf
        charged = 2 * factors.margin + factors.shift
        return max(0.0, factors.largest * (1 - 4e-16) - charged) if factors.largest < math.inf else math.inf

    def far(self, epsilon: float) -> float:
        """What the samplers' distance from their laws adds to delta."""
        return self.distance * (1 + math.exp(min(epsilon, 700.0)))

    def solver(
        self, *, delta: float | None = None, epsilon: float = 0.0, scale: float = 1.0
    ) -> Callable[[float], Bounds]:
        """Bounds on delta as a function of epsilon, sharp near the given one, without what is `far`."""
        try:
            lower, upper = self._sides(delta, epsilon, scale)
        except TooFineError:
            self.factors, self.below = (self.factors.gathered(below=side) for side in (False, True))
            self.width = max(self.width, CELLS_WIDTH)
            lower, upper = self._sides(delta, epsilon, scale)

        def bounds(at: float) -> Bounds:
            below, above = lower(at), upper(at)
            return Bounds(min(below.lower, above.upper), above.upper)

        return upper if lower is upper else bounds

    def _sides(
        self, delta: float | None, epsilon: float, scale: float
    ) -> tuple[Callable[[float], Bounds], Callable[[float], Bounds]]:
        """Bounds of which the lower, and of which the upper end counts."""
        upper = _charge(self.factors, self._finite(delta, epsilon, scale))
        if self.below is None:
            return upper, upper
        below = Direction(self.below, self.bounded, self.width)
        return _charge(self.below, below._finite(delta, epsilon, scale)), upper

    def _finite(self, delta: float | None, epsilon: float, scale: float) -> Callable[[float], tuple[float, float]]:
        factors = self.factors
        if self._exact is not None:
            return self._exact.bounds
        if self.bounded:
            return self._concentrated(self.bounded, delta, epsilon, scale)
        if not factors.count and not factors.variance:
            return _nothing
        epsilon = max(0.0, epsilon - 2 * factors.margin - factors.shift)
        goal = None if delta is None else max((delta - factors.infinite) / 2, delta * 1e-6, 1e-280)
        theta, found = choose_tilt(factors, delta=goal, epsilon=epsilon)
        self.start = (found, theta) if goal is not None else None
        # where the curve is smooth, smoothing by w widens delta by 1.2 w^2 theta (theta + 1), epsilon by theta less
        wanted = self.width * (max(found * theta, 1e-3) if goal is not None else 1.0)
        smoothing = min(wanted / 1.5, 0.02) / (theta * (theta + 1)) * scale**2
        depth = max(0.0, theta * (found if goal is not None else epsilon) - factors.log_moment(theta, coarse=True))
        cut = min(1e-6, max(1e-12, 0.05 * self.width * scale))
        inversion = Inversion(factors, theta, math.sqrt(min(smoothing, 4.0)), cut, depth)
        largest = factors.largest

        def finite(at: float) -> tuple[float, float]:
            return (0.0, 0.0) if at >= largest else inversion.bounds(at)

        return finite

    def _concentrated(
        self, bounded: Bounded, delta: float | None, epsilon: float, scale: float
    ) -> Callable[[float], tuple[float, float]]:
        """With losses of which only real moments are bounded: Chernoff above, and Gaussians of their rho below."""
        gaussian = replace(self.factors, variance=self.factors.variance + 2 * bounded.rho)
        below = Direction(gaussian, width=self.width)._finite(delta, epsilon, scale)  # noqa: SLF001

        def moment(theta: float) -> float:
            return self.factors.log_moment(theta) + bounded.log_moment(theta)

        def finite(at: float) -> tuple[float, float]:
            theta = least_moment(moment, at, bounded.largest_tilt)
            known, error = self.factors.log_moment_with_error(theta)
            log_bound = (
                known + bounded.log_moment(theta) - theta * at - math.log1p(theta) - theta * math.log1p(1 / theta)
            )
            error += 1e-14 * (1 + abs(theta * at) + abs(known) + abs(log_bound))
            return below(at)[0], min(1.0, math.exp(min(0.0, log_bound + error)))

        return finite


def _nothing(at: float) -> tuple[float, float]:
    """The curve where P is Q."""
    delta = 0.0 if at >= 0 else -math.expm1(at)
    return delta, delta


def _charge(factors: Factors, finite: Callable[[float], tuple[float, float]]) -> Callable[[float], Bounds]:
    """Add the mass at infinity, and what losses and masses may be off by."""
    charged = factors.margin * 2 + factors.shift
    infinite = factors.infinite
    grown = math.exp(factors.margin + factors.spread)

    def bounds(at: float) -> Bounds:
        lower, upper = finite(at)
        if charged:
            lower, upper = finite(at + charged)[0], finite(at - charged)[1]
        top = grown * (upper + infinite) * (1 + 4e-16)
        return Bounds(max(0.0, (lower + infinite * (1 - 4e-12)) / grown), min(1.0, top))

    return bounds


def delta_bounds(direction: Direction, epsilon: float) -> Bounds:
    found, far = direction.solver(epsilon=epsilon)(epsilon), direction.far(epsilon)
    return Bounds(max(0.0, found.lower - far), min(1.0, found.upper + far))


def epsilon_bounds(direction: Direction, delta: float) -> Bounds:
    """The bracket of epsilon; smoothed less where it comes out wider than was aimed at."""
    if direction.worst_at_zero <= delta:
        return Bounds(0.0, 0.0)
    best = Bounds(0.0, math.inf)
    for scale in (1.0, 0.3):
        bounds = direction.solver(delta=delta, scale=scale)
        width = 1e-14 if direction.is_exact else direction.width / 20
        upper = _solve_above(direction, bounds, delta, width)
        lower = _solve_below(direction, bounds, delta, upper, width)
        best = Bounds(max(best.lower, lower), min(best.upper, upper))
        if best.upper - best.lower <= 1.5 * direction.width * best.upper or direction.is_exact:
            break
    return best


def _solve_above(direction: Direction, bounds: Callable[[float], Bounds], delta: float, width: float) -> float:
    """An epsilon at which the upper bound is at most delta; infinite if none is found.

    What is far grows with epsilon, the rest falls: half of delta shows how much of it there can be.
    """
    limit, goal = _upper_limit(direction, bounds, delta), delta
    if direction.distance:
        enough = solve(lambda e: bounds(e).upper, delta / 2, 0.0, _upper_limit(direction, bounds, delta / 2), 0.01)[1]
        far = direction.far(enough)
        if not far <= delta / 2:
            return math.inf
        goal = delta - far
        limit = min(limit, enough) if bounds(limit).upper <= goal else enough

    def upper(epsilon: float) -> float:
        return bounds(epsilon).upper

    near = None if direction.start is None else approach(upper, goal, direction.start, width)
    return near[1] if near is not None and near[1] <= limit else solve(upper, goal, 0.0, limit, width)[1]


def _solve_below(
    direction: Direction, bounds: Callable[[float], Bounds], delta: float, upper: float, width: float
) -> float:
    """An epsilon just below ``upper`` where the curve is still above delta, else 0: the tilt is sharp near it alone."""
    if not math.isfinite(upper):
        return 0.0

    def lower(epsilon: float) -> float:
        return bounds(epsilon).lower - direction.far(epsilon)

    if direction.start is not None:
        near = approach(lower, delta, (upper * (1 - width), direction.start[1]), width)
        if near is not None and near[0] <= upper:
            return near[0]
    back = 4 * width
    while back < 1:
        low = upper * (1 - back)
        if lower(low) > delta:
            return solve(lower, delta, low, upper, width)[0]
        back *= 4
    return 0.0


def _upper_limit(direction: Direction, bounds: Callable[[float], Bounds], delta: float) -> float:
    """An epsilon at which the upper bound is at most delta; infinite if none is found."""
    factors = direction.factors
    if math.isfinite(factors.largest) and not direction.bounded:
        top = rounding.up(factors.largest * (1 + 1e-15) + 2 * factors.margin + factors.shift)
        return top if bounds(top).upper <= delta else math.inf
    high = 1.0
    while high < 1e5 and bounds(high).upper > delta:
        high *= 1.5
    return high if bounds(high).upper <= delta else math.inf
