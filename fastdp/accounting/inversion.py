"""A proven bracket of delta(epsilon) by inverting the smoothed moment function: docs/accounting.md has every term."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fastdp.accounting.factors import UNIT, Factors, sampled_range, sampled_step

SMOOTHING_CONSTANT = 1 / (math.sqrt(2) - 1)
"""What a smoothing variance adds is at most this times e^{w^2/4} times what as much again adds."""
ROUNDING = 128
"""Units of rounding per factor of a product, of modulus at most 1; see docs/accounting.md."""
MOST_NODES = 1 << 19
TILTS = (1.25, 1.5, 2.0, 3.0, 5.0)


def choose_tilt(factors: Factors, *, delta: float | None = None, epsilon: float = 0.0) -> tuple[float, float]:
    """The tilt near the saddle point for a delta or an epsilon, and the Chernoff bound of the other one.

    Only a choice: the bracket holds at every tilt.
    """
    largest = factors.largest

    def bound(log_theta: float) -> float:
        theta = math.exp(log_theta)
        payoff = math.log1p(theta) + theta * math.log1p(1 / theta)
        with np.errstate(over="ignore"):
            moment = factors.log_moment(theta) - payoff
        return moment - theta * epsilon if delta is None else (moment - math.log(delta)) / theta

    low, high = _descend(bound, 6.0 if factors.sampled else 30.0)
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = bound(left), bound(right)
    for _ in range(7):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = bound(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = bound(right)
    best = (low + high) / 2
    theta, value = math.exp(best), bound(best)
    end = value if delta is not None else epsilon
    if end < largest < math.inf and theta * _deviation(factors, theta)[1] < 0.5:  # a tilt onto the very largest loss
        theta = min(theta, 5 / (largest - end))
    return theta, value


def _deviation(factors: Factors, theta: float) -> tuple[float, float]:
    """K(theta), and the standard deviation of the tilted losses, by differences."""
    step = 1e-3 * theta
    below, moment, above = (factors.log_moment(theta + shift) for shift in (-step, 0.0, step))
    return moment, math.sqrt(max((above - 2 * moment + below) / step**2, 0.0))


def _descend(bound: Callable[[float], float], end: float) -> tuple[float, float]:
    """An interval around the least value of a function that falls, then rises."""
    step = math.log(4.0)
    here, value = 1.0, bound(1.0)
    for direction in (step, -step):
        while -14 < here < end:
            then = bound(here + direction)
            if not then < value:
                break
            here, value = here + direction, then
    return here - step, here + step


@dataclass(slots=True)
class Inversion:
    """The bracket at one tilt ``theta`` and one ``width`` of smoothing, for any epsilon."""

    factors: Factors
    theta: float
    width: float
    cut: float = 1e-7
    _fields: dict[str, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        factors, theta = self.factors, self.theta
        moment, sigma = _deviation(factors, theta)
        period = 2 * max(11 * sigma, 25 / theta)
        dt = 2 * math.pi / period
        width = max(self.width, 9.2 / (dt * MOST_NODES))
        smoothing = width * width
        variance = factors.variance + smoothing
        nodes = int(9.2 / math.sqrt(variance) / dt) + 2
        self._fields = {"period": period, "dt": dt, "smoothing": smoothing, "moment": moment}
        self._fill(nodes)
        self._fields["right"] = [(factors.log_moment(theta * f), theta * f) for f in TILTS]

    def _fill(self, nodes: int) -> None:
        """Products at all nodes, the weighted integrand, and what was left out."""
        from fastdp.kernels.losses import inversion, moments

        factors, theta, dt = self.factors, self.theta, self._fields["dt"]
        limit, tail = self._last_frequency()
        nodes = min(nodes, int(limit / dt) + 2) if limit else nodes
        blocks = -(-nodes // moments.BLOCK)
        nodes = blocks * moments.BLOCK
        re, im, dead = np.ones(nodes), np.zeros(nodes), np.zeros(blocks, np.uint8)
        work = np.empty((6, moments.BLOCK))
        if factors.laplace.size:
            epsilons, rates, counts = np.ascontiguousarray(factors.laplace.T)
            moments.multiply_laplace(dt, theta, epsilons, rates, counts.astype(np.int64), self.cut, work, dead, re, im)
        if factors.counts.size:
            most = int(np.diff(factors.starts).max())
            turns = np.empty((2, most, moments.BLOCK))
            moments.multiply_atoms(
                dt, factors.starts, factors.losses, factors.tilted(theta), factors.counts, self.cut, work, turns[0],
                turns[1], np.empty((2, most)), dead, re, im,
            )  # fmt: skip
        sampled_error, reach = self._multiply_sampled(dead, re, im)
        once, twice = np.zeros((2, nodes)), np.zeros((2, nodes))
        smoothing = self._fields["smoothing"]
        live, moved, lost = inversion.weigh_nodes(dt, theta, factors.variance, smoothing, 1, dead, re, im, once, twice)
        variance = factors.variance + smoothing
        reach += factors.reach + 2 * variance * (2 * theta + 1)
        last = (nodes - 1) * dt
        count = factors.count + 4
        coarse, steep = _coarse_error(factors.laplace, theta, last)
        reach += steep
        product_error = UNIT * (ROUNDING * count + coarse + 4 * last * reach) + sampled_error
        rounding = (UNIT * (ROUNDING * count + coarse + nodes) + sampled_error) * live + 4 * UNIT * reach * moved
        slack = (rounding + (self.cut + product_error) * lost) * dt / math.pi
        beyond = min(math.exp(-0.5 * variance * last * last), tail if limit else 1.0)
        slack += beyond / (math.pi * last)
        self._fields |= {
            "dead": dead,
            "once": once,
            "twice": twice,
            "slack": slack,
            "moved": UNIT * 4 * moved * dt / math.pi,
        }

    def _last_frequency(self) -> tuple[float, float]:
        """A frequency beyond which the product is below ``cut`` by the variation of densities; 0 if there is none."""
        factors, theta = self.factors, self.theta
        if not factors.sampled:
            return 0.0, 1.0
        variations = [(variation(sigma, rate, theta, add=add), count) for sigma, rate, count, add in factors.sampled]

        def log_bound(frequency: float) -> float:
            return math.fsum(count * min(0.0, math.log(total / frequency)) for total, count in variations)

        frequency = min(total for total, _ in variations)
        while log_bound(frequency) > math.log(self.cut):
            frequency *= 1.5
        return frequency, self.cut

    def _multiply_sampled(self, dead: np.ndarray, re: np.ndarray, im: np.ndarray) -> tuple[float, float]:
        """Multiply by the sampled Gaussians, band by band of frequencies; their error and the reach of their losses."""
        from fastdp.kernels.losses import moments

        dt, error, reach = self._fields["dt"], 0.0, 0.0
        rows = sorted(
            self.factors.sampled, key=lambda one: -one[1] * math.sqrt(math.expm1(min(one[0] ** -2, 50.0)) * one[2])
        )
        block = 0
        bands = []
        while rows and block < dead.size:
            stop = min(dead.size, max(block + 1, int(block * 1.5)))
            bands.append((block, stop))
            block = stop
        for sigma, rate, count, add in rows:
            worst, far = 0.0, 0.0
            for first, stop in bands:
                if dead[first:stop].all():
                    continue
                exponent, low, high = sampled_range(sigma, self.theta, add=add)
                frequency = stop * moments.BLOCK * dt
                eta = min(sigma / 3, sampled_step(sigma, self.theta, frequency, add=add))
                size = int((high - low) / eta) + 2
                losses, weights = np.empty(size + 1), np.empty(size + 1)
                _, off = moments.fill_sampled(
                    sigma, rate, exponent, -1.0 if add else 1.0, low, high, size, losses, weights
                )
                kept = weights > 1e-20
                off += 1e-20 * size + 1e-17
                losses, weights = losses[kept], weights[kept]
                worst, far = max(worst, 2 * off), max(far, float(weights @ np.abs(losses)))
                turns = np.empty((2, losses.size, moments.BLOCK))
                span = slice(first * moments.BLOCK, stop * moments.BLOCK)
                moments.multiply_band(
                    dt, first, losses, weights, count, self.cut, np.empty((2, moments.BLOCK)), turns[0], turns[1],
                    np.empty((2, losses.size)), dead[first:stop], re[span], im[span],
                )  # fmt: skip
            error += count * worst
            reach += count * far * 2
        return error, reach

    def bounds(self, epsilon: float) -> tuple[float, float]:
        """Lower and upper bounds on delta(epsilon), finite losses alone."""
        from fastdp.kernels.losses import inversion

        f, theta = self._fields, self.theta
        first, second = inversion.sum_nodes(f["dt"], epsilon, f["dead"], f["once"], f["twice"])
        smoothing = f["smoothing"]
        added = smoothing * theta * (theta + 1) / 2
        exponent = f["moment"] + added - theta * epsilon
        error = self.factors.log_moment_error(theta) + 8 * UNIT * (abs(exponent) + abs(theta * epsilon) + 8)
        error += self.factors.spread + UNIT * theta * 4 * self.factors.reach
        slack = f["slack"] + f["moved"] * abs(epsilon)
        base, base_twice = math.exp(min(exponent, 700.0)), math.exp(min(exponent + added, 700.0))
        upper = (first + slack) * base * math.exp(error)
        lower = (first - slack) * base * math.exp(-error) - self._alias(epsilon)
        twice = (second + slack) * base_twice * math.exp(error)
        constant = SMOOTHING_CONSTANT * math.exp(smoothing / 4) * (1 + 8 * UNIT)
        lower = lower - constant * (twice - lower)
        return max(0.0, lower), min(1.0, max(upper, 0.0))

    def _alias(self, epsilon: float) -> float:
        """What the period adds: copies of the curve one period and more to either side."""
        f, theta = self._fields, self.theta
        period, smoothing = f["period"], f["smoothing"]
        left = math.exp(-theta * period)
        right = math.inf
        for moment, other in f["right"]:
            gap = (other - theta) * period
            power = moment + smoothing * other * (other + 1) / 2 - other * epsilon - gap
            right = min(right, math.exp(min(power, 700.0)) / -math.expm1(-gap))
        return (left / (1 - left) + right) * (1 + 1e-9)


def _coarse_error(laplace: np.ndarray, theta: float, last: float) -> tuple[float, float]:
    """Units of rounding that geometric noise adds where t * rate goes beyond 1: the sine has then an absolute error."""
    rates, counts = laplace[:, 1], laplace[:, 2]
    beyond = rates * last > 1
    if not beyond.any():
        return 0.0, 0.0
    units = counts[beyond] / -np.expm1(-(2 * theta + 1) * rates[beyond])
    return 64 * float(units.sum()), 8 * float(units @ rates[beyond])


def variation(sigma: float, rate: float, theta: float, *, add: bool) -> float:
    """A bound on the total variation of the tilted density of a sampled Gaussian's loss: at most four times its top.

    The density at noise y is g(y) = sigma^2 phi(y) (rate e^x)^a (1 + c e^-x)^(a+1) / M with x = (2y-1)/(2 sigma^2),
    c = (1 - rate) / rate and a the exponent. Where g is stationary, y = a - (a+1) s(y) with s in (0, 1) monotone, so
    that y lies between -1 and a, and there are at most three such points: two tops.
    """
    from fastdp.accounting.factors import _sampled_log_moment

    a = -theta if add else 1 + theta
    ends = sorted((-1.0, a))
    y = np.linspace(ends[0], ends[1], 257)
    x = (2 * y - 1) / (2 * sigma * sigma)
    odds = math.log1p(-rate) - math.log(rate) if rate < 1 else -math.inf
    log_g = -y * y / (2 * sigma * sigma) + a * (x + math.log(rate)) + (a + 1) * np.logaddexp(0.0, odds - x)
    slope = (ends[1] - ends[0]) * max(1.0, abs(a + 1)) / sigma**2
    top = float(log_g.max()) + slope * (y[1] - y[0]) / 2
    moment = _sampled_log_moment(sigma, rate, theta, add)
    tops = 1 if 0 <= a + 1 <= 4 * sigma * sigma or a + 1 <= 0 else 2
    return 2 * tops * math.exp(min(top - moment, 600.0)) * sigma / math.sqrt(2 * math.pi) * (1 + 1e-9)
