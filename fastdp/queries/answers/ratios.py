"""Intervals of ratios of two noisy sums (Fieller's set), exact for the noise, also where that is not normal.

The ratio r of the true sums makes X - r Y the noise Zx - r Zy and nothing else, so {r: |X - r Y| <= q(r)} holds it with
probability ``level``, if q(r) is that quantile of |Zx - r Zy|. [Fieller 1954]
"""

from __future__ import annotations

import math

import numpy as np

from fastdp.queries.answers.noise import Noise

PLACES = 65
FEW_STEPS = 1 << 12
"""Steps of count noise that are summed one by one; wider noise is as good as continuous."""
_HALVINGS = 60


def _tail(noise: Noise, steps: np.ndarray) -> np.ndarray:
    """P(Z > steps) of symmetric integer noise, for real numbers of steps."""
    if noise.law is None:
        return np.where(steps < 0, 1.0, 0.0)
    from math import sqrt

    first = np.floor(steps) + 1  # the smallest integer above
    if not noise.is_gaussian:
        rate = 1 / noise.scale
        above = np.exp(-rate * np.maximum(first, 0.0)) / (1 + math.exp(-rate))
        below = 1 - np.exp(-rate * np.maximum(1 - first, 0.0)) / (1 + math.exp(-rate))
        return np.asarray(np.where(first > 0, above, below))
    reach = math.ceil(40 * noise.scale) + 2
    if noise.scale < 64:
        places = np.arange(-reach, reach + 1, dtype=np.float64)
        weights = np.exp(-(places**2) / (2 * noise.scale**2))
        tails = np.append(np.cumsum((weights / weights.sum())[::-1])[::-1], 0.0)
        found: np.ndarray = tails[np.clip(first + reach, 0, tails.size - 1).astype(np.int64)]
        return found
    return np.asarray(np.vectorize(math.erfc, otypes=[float])((first - 0.5) / (noise.scale * sqrt(2))) / 2)


def _atoms(noise: Noise) -> tuple[np.ndarray, np.ndarray]:
    """Places and probabilities of noise, those of many steps in cells of several."""
    if noise.law is None:
        return np.zeros(1), np.ones(1)
    reach = math.ceil((12 if noise.is_gaussian else 40) * noise.scale) + 1
    stride = max(1, 2 * reach // FEW_STEPS)
    places = np.arange(-(reach // stride) * stride, reach + 1, stride, dtype=np.float64)
    edges = np.append(places - stride / 2, places[-1] + stride / 2)
    mass = -np.diff(_tail(noise, edges))
    return places, mass / mass.sum()


def difference_quantile(x: Noise, y: Noise, ratio: float, level: float) -> float:
    """The smallest q, in steps of x, with P(|Zx - ratio * Zy| <= q) >= level; ratio in steps of x per step of y."""
    if x.law is None and (y.law is None or ratio == 0):
        return 0.0
    places, mass = _atoms(y)
    shift = ratio * places
    low, high = 0.0, 50 * (x.scale + abs(ratio) * y.scale) + 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        outside = _tail(x, middle - shift) + _tail(x, middle + shift)
        if float((mass * outside).sum()) <= 1 - level:
            high = middle
        else:
            low = middle
        if high - low < 1e-9 * high:
            break
    return high


def fieller(
    x: np.ndarray, y: np.ndarray, noise_x: Noise, noise_y: Noise, level: float, largest: float
) -> tuple[np.ndarray, np.ndarray]:
    """The interval of the ratio of the true sums within ``largest`` in size, for each pair of noisy sums."""
    places = np.linspace(0, largest, PLACES)
    quantiles = np.array([difference_quantile(noise_x, noise_y, float(place), level) for place in places])

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
