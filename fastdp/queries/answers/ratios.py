"""Intervals of ratios of two noisy sums (Fieller's set), exact for the noise, also where that is not normal.

The ratio r of the true sums makes X - r Y the noise Zx - r Zy and nothing else, so {r: |X - r Y| <= q(r)} holds it with
probability ``level``, if q(r) is that quantile of |Zx - r Zy|. [Fieller 1954]
"""

from __future__ import annotations

import functools
import math
from statistics import NormalDist

import numpy as np

from fastdp.queries.answers.noise import Noise

PLACES = 33
"""Ratios at which the quantile is computed; between them it is interpolated, from above, for it is convex."""
MOST_ATOMS = 1 << 10
"""Atoms of the count's noise that are summed one by one; of wider noise, cells of several steps."""
NORMAL_SCALE = 1.0
"""From this sigma on, a discrete Gaussian law added to another is normal to the last digit of float64."""
_HALVINGS = 60


def _laplace_tail(steps: np.ndarray, rate: float) -> np.ndarray:
    """P(Z > steps) of geometric noise, for real numbers of steps."""
    first = np.floor(steps) + 1  # the smallest integer above
    side = 1 + math.exp(-rate)
    below = 1 - np.exp(-rate * np.maximum(1 - first, 0.0)) / side
    return np.asarray(np.where(first > 0, np.exp(-rate * np.maximum(first, 0.0)) / side, below))


def _gaussian_tail(steps: np.ndarray, noise: Noise) -> np.ndarray:
    """P(Z > steps) of discrete Gaussian noise."""
    if noise.scale >= 64:
        scale = noise.scale * math.sqrt(2)
        return np.array([math.erfc((math.floor(step) + 0.5) / scale) / 2 for step in steps.tolist()])
    reach = math.ceil(40 * noise.scale) + 2
    places = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-(places**2) / (2 * noise.scale**2))
    tails = np.append(np.cumsum((weights / weights.sum())[::-1])[::-1], 0.0)
    found: np.ndarray = tails[np.clip(np.floor(steps) + 1 + reach, 0, tails.size - 1).astype(np.int64)]
    return found


def _tail(noise: Noise, steps: np.ndarray) -> np.ndarray:
    """P(Z > steps) of symmetric integer noise."""
    if noise.law is None:
        return np.where(steps < 0, 1.0, 0.0)
    return _gaussian_tail(steps, noise) if noise.is_gaussian else _laplace_tail(steps, 1 / noise.scale)


def atoms(noise: Noise) -> tuple[np.ndarray, np.ndarray]:
    """Places and probabilities of noise, those of many steps in cells of several."""
    if noise.law is None:
        return np.zeros(1), np.ones(1)
    reach = math.ceil((12 if noise.is_gaussian else 40) * noise.scale) + 1
    stride = -(-2 * reach // MOST_ATOMS)
    places = np.arange(-(reach // stride) * stride, reach + 1, stride, dtype=np.float64)
    edges = np.append(places - stride / 2, places[-1] + stride / 2)
    mass = -np.diff(_tail(noise, edges))
    return places, mass / mass.sum()


def difference_quantile(x: Noise, y: Noise, ratio: float, level: float) -> float:
    """The smallest q, in steps of x, with P(|Zx - ratio * Zy| <= q) >= level; ratio in steps of x per step of y."""
    if x.law is None and (y.law is None or ratio == 0):
        return 0.0
    if x.is_gaussian and y.is_gaussian and min(x.scale, y.scale) >= NORMAL_SCALE:
        return math.hypot(x.scale, ratio * y.scale) * NormalDist().inv_cdf((1 + level) / 2) + 0.5
    places, mass = atoms(y)
    shift = ratio * places
    low, high = 0.0, 50 * (x.scale + abs(ratio) * y.scale) + 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        outside = _tail(x, middle - shift) + _tail(x, middle + shift)
        low, high = (low, middle) if float((mass * outside).sum()) <= 1 - level else (middle, high)
        if high - low < 1e-7 * high:
            break
    return high


@functools.lru_cache(maxsize=64)
def _quantiles(x: Noise, y: Noise, level: float, largest: float) -> tuple[np.ndarray, np.ndarray]:
    places = np.linspace(0, largest, PLACES)
    return places, np.array([difference_quantile(x, y, float(place), level) for place in places])


def fieller(
    x: np.ndarray, y: np.ndarray, noise_x: Noise, noise_y: Noise, level: float, largest: float
) -> tuple[np.ndarray, np.ndarray]:
    """The interval of the ratio of the true sums within ``largest`` in size, for each pair of noisy sums."""
    places, quantiles = _quantiles(noise_x, noise_y, level, largest)

    def excess(ratio: np.ndarray) -> np.ndarray:
        """Positive where a ratio is outside the set."""
        return np.asarray(np.abs(x - ratio * y) - np.interp(np.abs(ratio), places, quantiles))

    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    safe = np.where(y > 0, y, 1.0)
    start = np.clip(x / safe, -largest, largest)

    def end(limit: float) -> np.ndarray:
        """From the estimate outward the excess is concave: it leaves the set once, or not at all."""
        inside, outside = start.copy(), np.full_like(start, limit)
        never = excess(outside) <= 0
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            out = excess(middle) > 0
            inside, outside = np.where(out, inside, middle), np.where(out, middle, outside)
        return np.where(never | (y <= 0), limit, outside)

    return end(-largest), end(largest)
