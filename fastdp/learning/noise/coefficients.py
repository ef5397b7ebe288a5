"""Correlated noise for prefix sums: the strategies, their sensitivities, and what they are worth.

Prefix sums A x of a stream x, A the lower triangle of ones, are released as A (x + C^-1 z): noise z on C x, the rest
is post-processing. One unit that takes part at k steps, at least ``separation`` apart, moves C x by at most the
sensitivity of the columns of C that it meets. [Denisov et al. 2022; Choquette-Choo et al. 2023]
"""

from __future__ import annotations

import math

import numpy as np

from fastdp.errors import ParameterError

COEFFICIENT_BITS = 12
"""Coefficients are multiples of 2**-12, so that C x is a vector of integers, in steps of the grid times 2**-12, and
noise on these integers is all that is released: a remainder below the grid of the noise would be in the clear."""


def root_coefficients(count: int) -> np.ndarray:
    """The first coefficients of (1 - x)^(-1/2), C(2j, j) / 4**j: the Toeplitz square root of prefix sums.

    >>> root_coefficients(4).tolist()
    [1.0, 0.5, 0.375, 0.3125]
    """
    found = np.ones(count)
    for j in range(1, count):
        found[j] = found[j - 1] * (2 * j - 1) / (2 * j)
    return found


def quantise(coefficients: np.ndarray) -> np.ndarray:
    """Coefficients as multiples of 2**-12, the first 1."""
    return np.asarray(np.rint(np.asarray(coefficients) * 2.0**COEFFICIENT_BITS) * 2.0**-COEFFICIENT_BITS)


def squared_sensitivity(coefficients: np.ndarray, steps: int, participations: int = 1, separation: int = 1) -> float:
    """The largest squared norm of the sum of columns of a banded Toeplitz matrix that one unit meets.

    For coefficients that are at least 0 and do not grow, the worst steps are 0, separation, 2 separation, ...
    [Kalinin, Lampert 2024]
    """
    if (coefficients < 0).any() or (np.diff(coefficients) > 0).any():
        raise ParameterError("BandedNoise: coefficients must be at least 0 and must not grow")
    column = np.zeros(steps)
    for k in range(participations):
        first = k * separation
        if first >= steps:
            break
        count = min(coefficients.size, steps - first)
        column[first : first + count] += coefficients[:count]
    return math.fsum(column * column)


def invert(coefficients: np.ndarray, count: int) -> np.ndarray:
    """The first coefficients of the inverse series, so of the inverse Toeplitz matrix."""
    found = np.zeros(count)
    found[0] = 1 / coefficients[0]
    for t in range(1, count):
        reach = min(t, coefficients.size - 1)
        found[t] = -(coefficients[1 : reach + 1] @ found[t - reach : t][::-1]) / coefficients[0]
    return found


def prefix_errors(coefficients: np.ndarray, steps: int) -> np.ndarray:
    """The variance of each prefix sum's noise, for unit noise z: rows of A C^-1, squared and added."""
    sums = np.cumsum(invert(coefficients, steps))
    return np.asarray(np.cumsum(sums * sums))


def optimal_coefficients(bands: int, steps: int, participations: int = 1, separation: int = 1) -> np.ndarray:
    """Coefficients of the least mean squared error of prefix sums at one sensitivity, by descent from the root.

    The optimum over banded Toeplitz matrices whose coefficients do not grow: differences are kept positive by their
    logarithms. Never worse than the first coefficients of the square root.

    >>> plain, best = root_coefficients(4), optimal_coefficients(4, 64)
    >>> worth = [squared_sensitivity(c, 64) * prefix_errors(c, 64).mean() for c in (plain, best)]
    >>> bool(worth[1] < worth[0])
    True
    """

    def cost(free: np.ndarray) -> float:
        c = _from_free(free)
        return math.log(squared_sensitivity(c, steps, participations, separation) * prefix_errors(c, steps).mean())

    free = _to_free(root_coefficients(bands))
    value, step = cost(free), 1.0
    for _ in range(60):
        slope = np.array([(cost(free + 1e-5 * e) - cost(free - 1e-5 * e)) / 2e-5 for e in np.eye(free.size)])
        size = float(np.linalg.norm(slope))
        if size < 1e-6 or step < 1e-8:
            break
        while step >= 1e-8:
            moved = free - step * slope / size
            after = cost(moved)
            if after < value:
                free, value, step = moved, after, step * 1.5
                break
            step /= 2
    return _from_free(free)


def _to_free(coefficients: np.ndarray) -> np.ndarray:
    """Logarithms of the drops from one coefficient to the next, and of the last: of sum 1."""
    return np.asarray(np.log(-np.diff(np.append(coefficients, 0.0))))


def _from_free(free: np.ndarray) -> np.ndarray:
    drops = np.exp(free - free.max())
    found = np.cumsum(drops[::-1])[::-1]
    return np.asarray(found / found[0])
