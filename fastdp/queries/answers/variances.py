"""Intervals of variances of noisy sums of squares, values and rows.

Let m be the true mean around the middle of the bounds and v the true variance. Then S2 - 2 m S1 + (m**2 - v) N is the
noise Z2 - 2 m Z1 + (m**2 - v) Zn and nothing else, so the pairs (m, v) at which it is at most the quantile of that
noise, with m in Fieller's set, hold the truth. Seen from v this is nearly as narrow as if m were known: where
S2 - 2 m S1 + m**2 N is least, at the noisy mean, it does not change with m to first order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fastdp.queries.answers.noise import Noise
from fastdp.queries.answers.ratios import atoms

Tail = Callable[[np.ndarray], np.ndarray]
PLACES = 13
"""Multipliers at which the quantile is computed where groups are many; it is convex, and interpolated from above."""
FEW = 8
"""Groups up to which each has quantiles of its own."""
ROUNDS = 6
_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Scales:
    """The noise of a sum of squares, a sum and a count, and what a step of each is worth."""

    square: Noise
    square_step: float
    total: Noise
    step: float
    count: Noise
    count_step: float

    def quantile(self, level: float, mean: float, rows: float) -> float:
        """A number that |Z2 - mean Z1 - rows Zn| exceeds with at most what may fail."""
        a, b = self.square.scale * self.square_step, mean * self.total.scale * self.step
        c = rows * self.count_step
        # a law on steps lies within half a step of a continuous one that is at least as wide
        loose = (self.square_step + mean * self.step) / 2
        if self.square.is_gaussian or self.total.is_gaussian:
            if self.count.scale >= 1 or not c or self.count.law is None:
                wide = math.hypot(a, b, c * self.count.scale)
                return wide * NormalDist().inv_cdf((1 + level) / 2) + loose + c * (self.count.law is not None) / 2
            return self._mixed(level, c, math.hypot(a, b), lambda x: _normal_tail(x, math.hypot(a, b))) + loose
        return self._mixed(level, c, a + b, lambda x: _laplace_tail(x, a, b)) + loose

    def _mixed(self, level: float, step: float, scale: float, tail: Tail) -> float:
        """The quantile of the sum of the count's steps and a law with this tail."""
        places, mass = atoms(self.count)
        shift, low, high = step * places, 0.0, max(scale + step * self.count.scale, 1e-300)
        while float(mass @ (tail(high - shift) + tail(high + shift))) > 1 - level:
            low, high = high, 4 * high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            outside = float(mass @ (tail(middle - shift) + tail(middle + shift)))
            low, high = (low, middle) if outside <= 1 - level else (middle, high)
            if high - low < 1e-5 * high:
                break
        return high

    def table(self, level: float, mean: float, rows: float) -> np.ndarray:
        """Quantiles at multipliers up to these, as `PLACES` by `PLACES`."""
        means, counts = np.linspace(0, mean, PLACES), np.linspace(0, rows, PLACES)
        return np.array([[self.quantile(level, one, other) for other in counts] for one in means])


def _normal_tail(x: np.ndarray, sigma: float) -> np.ndarray:
    scale = max(sigma, 1e-300) * math.sqrt(2)
    return np.array([math.erfc(min(max(one / scale, -30.0), 30.0)) / 2 for one in x.tolist()])


def _laplace_tail(x: np.ndarray, a: float, b: float) -> np.ndarray:
    """P(A + B > x) of two Laplace laws of these scales; near equal ones are set apart, toward the wider."""
    a, b = max(a, b), min(a, b)
    a = max(a, b * (1 + 1e-3), 1e-300)
    size = np.abs(x)
    tail = np.exp(-size / a) / 2
    if b > 1e-9 * a:
        one = a * a / (a * a - b * b)
        tail = one * tail - (one - 1) * np.exp(-size / b) / 2
    return np.asarray(np.where(x >= 0, tail, 1 - tail))


def variance_set(
    scales: Scales,
    squares: np.ndarray,
    sums: np.ndarray,
    rows: np.ndarray,
    means: tuple[np.ndarray, np.ndarray],
    level: float,
    half: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the variances in the set, for each group; ``half`` is half the width of the bounds."""
    low, high = (np.clip(end, -half, half) for end in means)
    largest = half * half
    multiplier = 2 * np.maximum(np.abs(low), np.abs(high))
    quantile = _quantiles(scales, level, multiplier, 2 * half, largest)
    safe = np.where(rows > 0, rows, 1.0)

    def centred(mean: np.ndarray) -> np.ndarray:
        return np.asarray(squares - 2 * mean * sums + mean**2 * rows)

    # convex in the mean: least near the noisy mean, largest at an end of its interval
    least = centred(np.clip(sums / safe, low, high))
    most = np.maximum(centred(low), centred(high))
    nearest, furthest = _sizes(low, high)
    bottom, top = np.zeros_like(safe), np.full_like(safe, largest)
    for _ in range(ROUNDS):  # each end is valid; the next one uses the quantile at what is left of the set
        above = quantile(np.maximum(np.abs(nearest - top), np.abs(furthest - bottom)))
        upper, lower = (most + above) / safe, (least - above) / safe
        bottom, top = np.clip(lower, bottom, largest), np.clip(upper, 0.0, top)
        bottom = np.minimum(bottom, top)
    return np.where(rows > 0, bottom, 0.0), np.where(rows > 0, top, largest)


def _sizes(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest square between two ends."""
    largest = np.maximum(low**2, high**2)
    return np.where((low <= 0) & (high >= 0), 0.0, np.minimum(low**2, high**2)), largest


def _quantiles(scales: Scales, level: float, multiplier: np.ndarray, mean: float, rows: float) -> Tail:
    """The quantile of each group as a function of the size of its count's multiplier."""
    if multiplier.size <= FEW:
        return lambda sizes: np.array(
            [scales.quantile(level, one, other) for one, other in zip(multiplier.tolist(), sizes.tolist(), strict=True)]
        )
    table = scales.table(level, mean, rows)
    at, part = _locate(multiplier, mean)
    edge = (1 - part)[:, None] * table[at] + part[:, None] * table[at + 1]

    def between(sizes: np.ndarray) -> np.ndarray:
        place, rest = _locate(sizes, rows)
        number = np.arange(sizes.size)
        return np.asarray((1 - rest) * edge[number, place] + rest * edge[number, place + 1])

    return between


def _locate(sizes: np.ndarray, largest: float) -> tuple[np.ndarray, np.ndarray]:
    """The interval of a table that a size lies in, and how far."""
    place = np.clip(sizes / largest, 0.0, 1.0) * (PLACES - 1)
    first = np.minimum(place.astype(np.int64), PLACES - 2)
    return first, place - first
