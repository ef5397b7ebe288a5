"""Exact probabilities of the laws, in floats good to 1e-15 and in mpmath to any precision."""

from __future__ import annotations

import math
from functools import lru_cache

import mpmath
import numpy as np


def laplace_pmf(rate: float, reach: int) -> np.ndarray:
    """P(z) for z = -reach .. reach of the discrete Laplace with ratio e**-rate."""
    z = np.abs(np.arange(-reach, reach + 1))
    return np.exp(-rate * z) * -math.expm1(-rate) / (1 + math.exp(-rate))


def gaussian_pmf(sigma: float, reach: int) -> np.ndarray:
    """P(z) for z = -reach .. reach of the discrete Gaussian."""
    everything = np.arange(-int(40 * sigma) - 2, int(40 * sigma) + 3, dtype=np.float64)
    total = np.exp(-(everything**2) / (2 * sigma**2)).sum()
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    return np.exp(-(z**2) / (2 * sigma**2)) / total


def staircase_pmf(epsilon: float, steps: int, tread: int, reach: int) -> np.ndarray:
    """P(z) for z = -reach .. reach of the discrete staircase."""
    z = np.abs(np.arange(-reach, reach + 1))
    k, within = np.divmod(z, steps)
    heights = np.exp(-epsilon * (k + (within >= tread)))
    ratio = math.exp(-epsilon)
    total = 2 * (tread + (steps - tread) * ratio) / (1 - ratio) - 1
    return heights / total


@lru_cache(2)
def _gaussian_weights(sigma: float, reach: int) -> tuple[dict[int, mpmath.mpf], mpmath.mpf]:
    """Weights of -reach .. reach and their sum, to 50 digits."""
    with mpmath.workdps(50):
        half = [mpmath.exp(-(mpmath.mpf(z) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) for z in range(reach + 1)]
        weight = {z: half[abs(z)] for z in range(-reach, reach + 1)}
        return weight, mpmath.fsum(weight.values())


def gaussian_delta(epsilon: float, sigma: float, steps: int) -> mpmath.mpf:
    """The exact delta of the discrete Gaussian at a shift, by its definition, to 50 digits."""
    with mpmath.workdps(50):
        reach = int(45 * sigma) + steps + 10
        weight, total = _gaussian_weights(sigma, reach)
        factor = mpmath.exp(epsilon)
        gains = (weight[z] - factor * weight.get(z + steps, 0) for z in range(-reach, reach + 1))
        return mpmath.fsum(gain for gain in gains if gain > 0) / total
