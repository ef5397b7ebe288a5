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

    def solver(self, *, delta: float | None = None, epsilon: float = 0.0, scale: float = 1.0) -> Solver:
        """Bounds on delta as a function of epsilon, sharp near the given one, without what is `far`."""
        try:
            return self._sides(delta, epsilon, scale)
        except TooFineError:
            self.factors, self.below = (self.factors.gathered(below=side) for side in (False, True))
            self.width = max(self.width, CELLS_WIDTH)
            return self._sides(delta, epsilon, scale)

    def _sides(self, delta: float | None, epsilon: float, scale: float) -> Solver:
        above = _Charged.of(self.factors, self._finite(delta, epsilon, scale))
        if self.below is None:
            return Solver(above, above)
        below = Direction(self.below, self.bounded, self.width)
        return Solver(_Charged.of(self.below, below._finite(delta, epsilon, scale)), above)

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


@dataclass(frozen=True, slots=True)
class _Charged:
    """A curve of finite losses, with the mass at infinity, and what losses and masses may be off by."""

    finite: Callable[[float], tuple[float, float]]
    shift: float
    infinite: float
    grown: float

    @classmethod
    def of(cls, factors: Factors, finite: Callable[[float], tuple[float, float]]) -> _Charged:
        shift, spread = factors.margin * 2 + factors.shift, factors.margin + factors.spread
        return cls(finite, shift, factors.infinite, math.exp(spread))

    def lower(self, at: float) -> float:
        found = self.finite(at + self.shift)[0] + self.infinite * (1 - 4e-12)
        return max(0.0, found / self.grown)

    def upper(self, at: float) -> float:
        found = self.finite(at - self.shift)[1] + self.infinite
        return min(1.0, self.grown * found * (1 + 4e-16))


@dataclass(frozen=True, slots=True)
class Solver:
    """Bounds on delta as functions of epsilon: the lower end of one curve, the upper one of another or the same."""

    below: _Charged
    above: _Charged

    def lower(self, at: float) -> float:
        """A lower bound on delta."""
        return self.below.lower(at)

    def upper(self, at: float) -> float:
        """An upper bound on delta."""
        return self.above.upper(at)

    def __call__(self, at: float) -> Bounds:
        upper = self.upper(at)
        return Bounds(min(self.lower(at), upper), upper)


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


def _solve_above(direction: Direction, bounds: Solver, delta: float, width: float) -> float:
    """An epsilon at which the upper bound is at most delta; infinite if none is found.

    What is far grows with epsilon, the rest falls: half of delta shows how much of it there can be.
    """
    limit, goal = _upper_limit(direction, bounds, delta), delta
    if direction.distance:
        enough = solve(bounds.upper, delta / 2, 0.0, _upper_limit(direction, bounds, delta / 2), 0.01)[1]
        far = direction.far(enough)
        if not far <= delta / 2:
            return math.inf
        goal = delta - far
        limit = min(limit, enough) if bounds.upper(limit) <= goal else enough

    near = None if direction.start is None else approach(bounds.upper, goal, direction.start, width)
    return near[1] if near is not None and near[1] <= limit else solve(bounds.upper, goal, 0.0, limit, width)[1]


def _solve_below(direction: Direction, bounds: Solver, delta: float, upper: float, width: float) -> float:
    """An epsilon just below ``upper`` where the curve is still above delta, else 0: the tilt is sharp near it alone."""
    if not math.isfinite(upper):
        return 0.0

    def lower(epsilon: float) -> float:
        return bounds.lower(epsilon) - direction.far(epsilon)

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


def _upper_limit(direction: Direction, bounds: Solver, delta: float) -> float:
    """An epsilon at which the upper bound is at most delta; infinite if none is found."""
    factors = direction.factors
    if math.isfinite(factors.largest) and not direction.bounded:
        top = rounding.up(factors.largest * (1 + 1e-15) + 2 * factors.margin + factors.shift)
        return top if bounds.upper(top) <= delta else math.inf
    high = 1.0
    while high < 1e5 and bounds.upper(high) > delta:
        high *= 1.5
    return high if bounds.upper(high) <= delta else math.inf
