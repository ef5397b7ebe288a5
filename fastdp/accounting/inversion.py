"""A proven bracket of delta(epsilon) by inverting the smoothed moment function: docs/accounting.md has every term."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fastdp.accounting.factors import UNIT, Factors

SMOOTHING_CONSTANT = 1 / (math.sqrt(2) - 1)
"""What a smoothing variance adds is at most this times e^{w^2/4} times what as much again adds."""
ROUNDING = 128
"""Units of rounding per factor of a product, of modulus at most 1; see docs/accounting.md."""
TRUNCATION = 9.2
"""Deviations of the smoothing's transform after which nodes end, at e^{-9.2^2 / 2} = 4e-19."""
MOST_NODES = 1 << 19
MOST_POINTS = 1 << 16
DEVIATIONS = (14.0, 18.0, 22.0)
"""Periods that are tried, in deviations of the tilted losses."""
COPY = 28.0
"""How far below the curve, as a logarithm, its copy one period above should be."""
TILTS = (1.06, 1.25, 1.5, 2.0, 3.0, 5.0)
"""Multiples of the tilt for Chernoff's bound one period above."""
SAMPLED_TILTS = (1.06, 1.12, 1.25, 1.5)
"""The same, where moments grow with e^{theta^2}."""
LARGEST_MOMENT = 2.0
"""The largest K(theta) - theta epsilon that a tilt is raised to: so many nats of delta are lost to cancellation."""
FEW_BLOCKS = 4
"""Blocks so few that all their nodes are computed."""
MOST_BOUNDED = 1 << 40
"""Losses whose moduli are bounded beforehand: bounds of each may be off by 9 units."""


class TooFineError(Exception):
    """Losses of so few samples, or of so small a rate, that their transform falls too late; cells serve them."""


def choose_tilt(factors: Factors, *, delta: float | None = None, epsilon: float = 0.0) -> tuple[float, float]:
    """The tilt near the saddle point for a delta or an epsilon, and the Chernoff bound of the other one.

    Only a choice: the bracket holds at every tilt.
    """
    largest = factors.largest

    def bound(log_theta: float) -> float:
        theta = math.exp(log_theta)
        payoff = math.log1p(theta) + theta * math.log1p(1 / theta)
        with np.errstate(over="ignore"):
            moment = factors.log_moment(theta, coarse=True) - payoff
        return moment - theta * epsilon if delta is None else (moment - math.log(delta)) / theta

    best, value = search(bound, 6.0 if factors.sampled.size else 30.0, 7)
    theta = math.exp(best)
    end = value if delta is not None else epsilon
    if end < largest < math.inf and theta * _deviation(factors, theta)[1] < 0.5:  # a tilt onto the very largest loss
        theta = min(theta, 5 / (largest - end))
    return _steepen(factors, theta, max(0.0, end)), value


def search(bound: Callable[[float], float], end: float, steps: int, *, start: float = 1.0) -> tuple[float, float]:
    """Where a function that falls, then rises is about least, and its value there, by the golden section."""
    low, high = _descend(bound, end, start)
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = bound(left), bound(right)
    for _ in range(steps):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = bound(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = bound(right)
    return (left, at_left) if at_left < at_right else (right, at_right)


def least_moment(moment: Callable[[float], float], epsilon: float, largest: float) -> float:
    """The tilt, up to the largest, at which Chernoff's bound on delta(epsilon) is about least."""

    def bound(log_theta: float) -> float:
        theta = min(math.exp(log_theta), largest)
        with np.errstate(over="ignore"):
            return moment(theta) - theta * epsilon - math.log1p(theta) - theta * math.log1p(1 / theta)

    return min(math.exp(search(bound, 30.0, 30)[0]), largest)


def _steepen(factors: Factors, theta: float, epsilon: float) -> float:
    """A larger tilt where delta is near 1: the saddle point is then near 0, where nodes would be too many."""
    if theta > 1 or factors.log_moment(theta, coarse=True) - theta * epsilon < -0.5:
        return theta
    while theta < 1 and factors.log_moment(2 * theta, coarse=True) - 2 * theta * epsilon < LARGEST_MOMENT:
        theta *= 2
    return theta


def _deviation(factors: Factors, theta: float) -> tuple[float, float]:
    """K(theta), and the standard deviation of the tilted losses, by differences."""
    step = 1e-3 * theta
    below, moment, above = factors.log_moments(theta + np.array([-step, 0.0, step])).tolist()
    return moment, math.sqrt(max((above - 2 * moment + below) / step**2, 0.0))


def _descend(bound: Callable[[float], float], end: float, start: float) -> tuple[float, float]:
    """An interval around the least value of a function that falls, then rises."""
    step = math.log(4.0)
    here, value = start, bound(start)
    for direction in (step, -step):
        while start - 15 < here < end:
            then = bound(here + direction)
            if not then < value:
                break
            here, value = here + direction, then
    return here - step, here + step


@dataclass(slots=True)
class Inversion:
    """The bracket at one tilt ``theta`` and one ``width`` of smoothing, for any epsilon.

    ``depth`` is about -ln delta at the epsilons that matter: copies of the curve are kept below it.
    """

    factors: Factors
    theta: float
    width: float
    cut: float = 1e-7
    depth: float = 0.0
    _fields: dict[str, Any] = field(init=False, repr=False)
    _bounded: dict[float, float] = field(default_factory=dict, init=False, repr=False)
    """`_far` of upper bounds on K, at the tilts that it was needed at."""

    def __post_init__(self) -> None:
        factors, theta = self.factors, self.theta
        rough, sigma = _deviation(factors, theta)
        tilts = theta * np.array(SAMPLED_TILTS if factors.sampled.size else TILTS)
        far = list(zip(factors.log_moments(tilts).tolist(), tilts.tolist(), strict=True))
        period = self._period(rough, sigma, far)
        dt = 2 * math.pi / period
        width = max(self.width, TRUNCATION / (dt * MOST_NODES))
        smoothing = width * width
        variance = factors.variance + smoothing
        nodes = int(TRUNCATION / math.sqrt(variance) / dt) + 2
        limit = self._last_frequency()
        if factors.sampled.size and factors.sampled_points(theta, min(limit, nodes * dt)) > MOST_POINTS:
            raise TooFineError
        moment, error = factors.log_moment_with_error(theta)
        self._fields = {"period": period, "dt": dt, "smoothing": smoothing, "moment": moment, "error": error}
        self._fill(nodes, limit)
        self._fields["right"] = [(self._far(moment, tilt), tilt) for moment, tilt in far]

    def _period(self, moment: float, sigma: float, far: list[tuple[float, float]]) -> float:
        """The shortest of a few periods whose copy above is small beside the curve."""
        theta = self.theta
        epsilon = (self.depth + moment) / theta
        for deviations in DEVIATIONS:
            period = max(deviations * sigma, (36 + self.depth) / theta)
            copy = min(other - tilt * epsilon - (tilt - theta) * period for other, tilt in far)
            if copy < moment - theta * epsilon - COPY:
                break
        return period

    def _fill(self, nodes: int, limit: float) -> None:
        """Products at all nodes, the weighted integrand, and what was left out."""
        from fastdp.kernels.losses import inversion, moments

        factors, theta, dt = self.factors, self.theta, self._fields["dt"]
        blocks = -(-int(min(nodes, limit / dt + 2)) // moments.BLOCK)
        nodes = blocks * moments.BLOCK
        re, im, dead = np.ones(nodes), np.zeros(nodes), np.zeros(blocks, np.uint8)
        left = np.empty(blocks, np.int64)
        weights, tilting = factors.tilted(theta) if factors.counts.size else (factors.masses, 0.0)
        rows = np.ascontiguousarray(factors.laplace.T)
        self._mark_dead(rows, weights, dead)
        work = np.empty((6, moments.BLOCK))
        if factors.laplace.size:
            moments.multiply_laplace(dt, theta, *rows[:2], rows[2].astype(np.int64), self.cut, work, left, dead, re, im)
        if factors.counts.size:
            most = int(np.diff(factors.starts).max())
            turns = np.empty((2, most, moments.BLOCK))
            moments.multiply_atoms(
                dt, factors.starts, factors.losses, weights, factors.counts, self.cut, work, turns[0], turns[1],
                np.empty((4, most)), left, dead, re, im,
            )  # fmt: skip
        sampled_error, reach = self._multiply_sampled(dead, re, im)
        once, twice = np.empty((2, nodes)), np.empty((2, nodes))
        smoothing = self._fields["smoothing"]
        live, moved, lost = inversion.weigh_nodes(dt, theta, factors.variance, smoothing, 1, dead, re, im, once, twice)
        variance = factors.variance + smoothing
        reach += factors.reach + 2 * variance * (2 * theta + 1)
        last = (nodes - 1) * dt
        coarse, steep = _coarse_error(factors.laplace, theta, last)
        reach += steep
        units = ROUNDING * (factors.count + 4) + 2 * factors.points + tilting + coarse
        product_error = UNIT * (units + 4 * last * reach) + sampled_error
        rounding = (UNIT * (units + nodes) + sampled_error) * live + 4 * UNIT * reach * moved
        slack = (rounding + (self.cut + product_error) * lost) * dt / math.pi
        beyond = min(math.exp(-0.5 * variance * last * last), self.cut if last >= limit else 1.0)
        slack += beyond / (math.pi * last)
        self._fields |= {
            "dead": dead,
            "once": once,
            "twice": twice,
            "slack": slack,
            "moved": UNIT * 4 * moved * dt / math.pi,
        }

    def _mark_dead(self, rows: np.ndarray, weights: np.ndarray, dead: np.ndarray) -> None:
        """Mark blocks whose product is below ``cut`` by bounds that hold over all of a block."""
        from fastdp.kernels.losses import decay

        factors, dt = self.factors, self._fields["dt"]
        if dead.size <= FEW_BLOCKS or factors.count > MOST_BOUNDED:
            return
        least = 0.99 * self.cut**2
        places = -(-dead.size // decay.LANES) * decay.LANES
        work, bounds = np.empty((3, decay.LANES)), np.ones(places)
        if factors.laplace.size:
            decay.bound_laplace(dt, self.theta, *rows[:2], rows[2].astype(np.int64), least, work, bounds, dead)
        if factors.counts.size:
            decay.bound_atoms(dt, factors.starts, factors.losses, weights, factors.counts, least, work, bounds, dead)

    def _last_frequency(self) -> float:
        """A frequency beyond which the product is below ``cut`` by the variations of densities; infinite without."""
        factors, theta = self.factors, self.theta
        if not factors.sampled.size:
            return math.inf
        from fastdp.kernels.losses import sampled

        sigmas, rates, counts, adds = factors.sampled.T.copy()
        totals, points = np.empty(sigmas.size), factors.sampled_points(theta, 0.0)
        sampled.fill_variations(theta, sigmas, rates, adds, *np.empty((2, points)), totals)
        frequency = float(totals.min())
        while counts @ np.minimum(0.0, np.log(totals / frequency)) > math.log(self.cut):
            frequency *= 1.1
        return frequency

    def _multiply_sampled(self, dead: np.ndarray, re: np.ndarray, im: np.ndarray) -> tuple[float, float]:
        """Multiply by the sampled Gaussians, band by band of frequencies; their error and the reach of their losses."""
        from fastdp.kernels.losses import sampled
        from fastdp.kernels.losses.moments import BLOCK

        factors, dt, theta = self.factors, self._fields["dt"], self.theta
        if not factors.sampled.size:
            return 0.0, 0.0
        sigmas, rates, counts, adds = factors.sampled.T.copy()
        powers = counts.astype(np.int64)
        errors, reaches = np.zeros((2, sigmas.size))
        first = 0
        while first < dead.size:
            stop = min(dead.size, max(first + 1, int(first * 1.5)))
            points = factors.sampled_points(theta, stop * BLOCK * dt)
            turns = np.empty((2, points, BLOCK))
            sampled.multiply_sampled(
                dt, theta, first, stop, sigmas, rates, powers, adds, self.cut, *np.empty((2, points)), turns[0],
                turns[1], np.empty((4, points)), np.empty((2, BLOCK)), dead, errors, reaches, re, im,
            )  # fmt: skip
            first = stop
        return float(counts @ errors), 2 * float(counts @ reaches)

    def bounds(self, epsilon: float) -> tuple[float, float]:
        """Lower and upper bounds on delta(epsilon), finite losses alone."""
        from fastdp.kernels.losses import inversion

        f, theta = self._fields, self.theta
        first, second = inversion.sum_nodes(f["dt"], epsilon, f["dead"], f["once"], f["twice"])
        smoothing = f["smoothing"]
        added = smoothing * theta * (theta + 1) / 2
        exponent = f["moment"] + added - theta * epsilon
        error = f["error"] + 8 * UNIT * (abs(exponent) + abs(theta * epsilon) + 8)
        error += self.factors.spread + UNIT * theta * 4 * self.factors.reach
        if exponent + added > 600 or error > 1:
            return 0.0, 1.0
        slack = f["slack"] + f["moved"] * abs(epsilon)
        base, base_twice = math.exp(min(exponent, 700.0)), math.exp(min(exponent + added, 700.0))
        upper = (first + slack) * base * math.exp(error)
        lower = (first - slack) * base * math.exp(-error) - self._alias(epsilon)
        twice = (second + slack) * base_twice * math.exp(error)
        lower -= smoothing_constant(smoothing) * (twice - lower)
        return max(0.0, lower), min(1.0, max(upper, 0.0))

    def _alias(self, epsilon: float) -> float:
        """What the period adds: copies of the curve one period and more to either side."""
        f, theta = self._fields, self.theta
        left = math.exp(-theta * f["period"])
        _, other = min([(power - tilt * epsilon, tilt) for power, tilt in f["right"]])
        if other not in self._bounded:
            self._bounded[other] = self._far(sum(self.factors.log_moment_with_error(other)), other)
        power = self._bounded[other] - other * epsilon
        right = math.exp(min(power, 700.0)) / -math.expm1((theta - other) * f["period"])
        return (left / (1 - left) + right) * (1 + 1e-9)

    def _far(self, moment: float, tilt: float) -> float:
        """The logarithm of Chernoff's bound one period above epsilon 0, at another tilt."""
        f = self._fields
        return float(moment + f["smoothing"] * tilt * (tilt + 1) / 2 - (tilt - self.theta) * f["period"])


def smoothing_constant(smoothing: float) -> float:
    """What a smoothing variance adds to delta is at most this times what as much again adds."""
    return SMOOTHING_CONSTANT * math.exp(min(smoothing / 4, 600.0)) * (1 + 8 * UNIT)


def _coarse_error(laplace: np.ndarray, theta: float, last: float) -> tuple[float, float]:
    """Units of rounding that geometric noise adds where t * rate goes beyond 1: the sine has then an absolute error."""
    rates, counts = laplace[:, 1], laplace[:, 2]
    beyond = rates * last > 1
    if not beyond.any():
        return 0.0, 0.0
    units = counts[beyond] / -np.expm1(-(2 * theta + 1) * rates[beyond])
    return 64 * float(units.sum()), 8 * float(units @ rates[beyond])
