"""PrivacyCurve: epsilon for a delta and delta for an epsilon, as proven brackets."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fastdp import optional, rounding, validation
from fastdp.accounting.cells import CELLS_WIDTH
from fastdp.accounting.exact import exact_curve
from fastdp.accounting.factors import Factors
from fastdp.accounting.inversion import Inversion, TooFineError, choose_tilt, least_moment
from fastdp.errors import ParameterError
from fastdp.losses import ConcentratedLoss, Loss, RenyiLoss
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


class Curve(ABC):
    """A privacy curve for one relation of neighbours and one unit."""

    neighbours: Neighbours
    unit: str

    @abstractmethod
    def delta(self, *, epsilon: float) -> Bounds:
        """The smallest delta at an epsilon >= 0."""

    @abstractmethod
    def epsilon(self, *, delta: float) -> Bounds:
        """The smallest epsilon at a delta with 0 <= delta < 1; infinite if there is none."""

    def as_privacy(self, *, delta: float = 0.0) -> Privacy:
        """The guarantee at one delta: the upper end of epsilon."""
        epsilon = self.epsilon(delta=delta).upper
        if not math.isfinite(epsilon):
            raise ParameterError(
                f"{type(self).__name__}.as_privacy: there is no epsilon at delta {delta!r}; give a larger delta"
            )
        smallest = math.ulp(0.0)
        return Privacy(epsilon=max(epsilon, smallest), delta=delta, unit=self.unit, neighbours=self.neighbours)

    def plot(self, *, largest: float | None = None, points: int = 40) -> Any:
        """A picture of delta against epsilon, both ends of the bracket; needs matplotlib.

        Parameters
        ----------
        largest
            The largest epsilon; by default the one at delta 1e-12.
        points
            The number of steps up to it.
        """
        owner = f"{type(self).__name__}.plot"
        points = validation.positive_integer(owner, "points", points)
        pyplot = optional.load(owner, "matplotlib.pyplot", extra="report")
        end = validation.positive(owner, "largest", largest) if largest is not None else self.epsilon(delta=1e-12).upper
        if not math.isfinite(end):
            raise ParameterError(f"{owner}: there is no epsilon at delta 1e-12; give the largest one to draw: largest=")
        epsilons = [end * i / points for i in range(points + 1)]
        found = [self.delta(epsilon=epsilon) for epsilon in epsilons]
        figure, axes = pyplot.subplots()
        axes.fill_between(
            epsilons, [_shown(one.lower) for one in found], [_shown(one.upper) for one in found], alpha=0.3
        )
        axes.semilogy(epsilons, [_shown(one.upper) for one in found])
        axes.set_xlabel("epsilon")
        axes.set_ylabel("delta")
        return figure


def _shown(delta: float) -> float:
    """A delta on a logarithmic axis, nan at 0."""
    return delta if delta > 0 else math.nan


def checked_epsilon(owner: str, epsilon: float) -> float:
    """An epsilon that is a finite number >= 0."""
    epsilon = validation.as_float(epsilon)
    if not 0 <= epsilon < math.inf:
        raise ParameterError(f"{owner}.delta: epsilon must be a finite number >= 0, got {epsilon!r}")
    return epsilon


def checked_delta(owner: str, delta: float) -> float:
    """A delta with 0 <= delta < 1."""
    delta = validation.as_float(delta)
    if not 0 <= delta < 1:
        raise ParameterError(f"{owner}.epsilon: delta must be a number with 0 <= delta < 1, got {delta!r}")
    return delta


@dataclass(frozen=True, eq=False)
class PrivacyCurve(Curve):
    """What a composition guarantees: delta for every epsilon and the reverse, as proven brackets.

    >>> from fastdp.accounting.compose import compose
    >>> total = compose([(Privacy(epsilon=0.1), 100)])
    >>> round(total.epsilon(delta=1e-6).upper, 6)
    4.774568
    """

    directions: Sequence[Sequence[Direction]] = field(repr=False)
    """Alternatives (the largest counts), each a set of valid curves (the smallest counts)."""
    neighbours: Neighbours
    unit: str
    pure: float = math.inf
    """A pure epsilon, rounded up."""
    releases: tuple[tuple[Any, ...], ...] = field(default=(), repr=False)
    """What was composed, by alternatives."""

    def delta(self, *, epsilon: float) -> Bounds:
        """The smallest delta at an epsilon >= 0."""
        epsilon = checked_epsilon("PrivacyCurve", epsilon)
        if epsilon >= self.pure:
            return Bounds(0.0, 0.0)
        found = [_least(_delta(one, epsilon) for one in options) for options in self.directions]
        return _most(found)

    def epsilon(self, *, delta: float) -> Bounds:
        """The smallest epsilon at a delta with 0 <= delta < 1; infinite if there is none."""
        delta = checked_delta("PrivacyCurve", delta)
        if delta == 0:
            least = max(min(one.least_pure for one in options) for options in self.directions)
            return Bounds(min(least, self.pure), self.pure)
        found = _most([_least(_epsilon(one, delta) for one in options) for options in self.directions])
        return Bounds(min(found.lower, self.pure), min(found.upper, self.pure))

    def group(self, size: int) -> GroupCurve | PrivacyCurve:
        """The curve for ``size`` units at once."""
        size = validation.positive_integer("PrivacyCurve.group", "size", size)
        return self if size == 1 else GroupCurve(self, size)


@dataclass(frozen=True, eq=False)
class GroupCurve(Curve):
    """The curve of several units at once.

    Delta at size * epsilon is at most delta(epsilon) (e^(size * epsilon) - 1) / (e^epsilon - 1): a chain of ``size``
    steps, each of which adds delta(epsilon) times the factor e^epsilon of all steps before.

    >>> from fastdp.accounting.compose import compose
    >>> compose([Privacy(epsilon=0.5)]).group(3).as_privacy()
    Privacy(epsilon=1.5, unit='record', neighbours='add/remove')
    """

    curve: PrivacyCurve
    size: int

    @property
    def neighbours(self) -> Neighbours:  # type: ignore[override]
        """What it means for data sets to differ by one unit."""
        return self.curve.neighbours

    @property
    def unit(self) -> str:  # type: ignore[override]
        """What is protected, ``size`` of them at once."""
        return self.curve.unit

    def delta(self, *, epsilon: float) -> Bounds:
        """The bound on delta for the group, and from below what one unit has."""
        epsilon = checked_epsilon("GroupCurve", epsilon)
        lower = self.curve.delta(epsilon=epsilon).lower
        if epsilon >= self.curve.pure * self.size:
            return Bounds(0.0, 0.0)
        return Bounds(lower, max(lower, self._upper(epsilon)))

    def _upper(self, epsilon: float) -> float:
        step = epsilon / self.size * (1 - 1e-15)
        upper = self.curve.delta(epsilon=step).upper
        if not upper:
            return 0.0
        if step < 1e-300:
            return min(1.0, upper * self.size * (1 + 1e-14))
        # ln of (e^epsilon - 1) / (e^step - 1)
        log_factor = epsilon - step + math.log(-math.expm1(-epsilon)) - math.log(-math.expm1(-step))
        return math.exp(min(0.0, math.log(upper) + log_factor + 1e-14 * (1 + epsilon)))

    def epsilon(self, *, delta: float) -> Bounds:
        """The smallest epsilon of the group at a delta, and from below what one unit has."""
        delta = checked_delta("GroupCurve", delta)
        one = self.curve.epsilon(delta=delta)
        most = rounding.float_up(Fraction(self.curve.pure) * self.size) if self.curve.pure < math.inf else math.inf
        if delta == 0 or not math.isfinite(one.upper):
            return Bounds(one.lower, most)
        if self._upper(one.upper) <= delta:
            return one
        high = max(one.upper, 1e-9)
        while high < min(most, 1e5) and self._upper(high) > delta:
            high *= 2
        if high >= most or self._upper(high) > delta:
            high = most
        if not math.isfinite(high):
            return Bounds(one.lower, math.inf)
        return Bounds(one.lower, solve(self._upper_at(most), delta, one.upper, high, 1e-7)[1])

    def _upper_at(self, most: float) -> Callable[[float], float]:
        return lambda epsilon: 0.0 if epsilon >= most else self._upper(epsilon)


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


def approach(
    curve: Callable[[float], float], delta: float, start: tuple[float, float], width: float
) -> tuple[float, float] | None:
    """What `solve` finds, by Newton's steps on the logarithm from a point and its slope; None where they lead astray.

    Once a step is short, both sides of where it leads are tried.
    """
    at, slope = start
    goal, before = math.log(delta), None
    for _ in range(8):
        here = curve(at) if at > 0 else 0.0
        if not 0 < here < 1:
            return None
        height = math.log(here)
        if before is not None and before[0] != at:
            slope = (before[1] - height) / (at - before[0])
        if not slope > 0:
            return None
        before, at = (at, height), at + (height - goal) / slope
        if abs(at - before[0]) <= max(1e-3, 4 * width) * at:
            side = width * at / 3
            low, high = at - side, at + side
            if curve(low) > delta >= curve(high):
                return low, high
    return None


def solve(curve: Callable[[float], float], delta: float, low: float, high: float, width: float) -> tuple[float, float]:
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
