"""Probabilities of offsets between cells of side 1, each to a small relative error, even when tiny."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

ERROR = 2.0**-40
"""The largest relative error of a mass in here; tests compare with 40 digits."""
SPAN = 50.0
"""Beyond this many scales from the outermost offset, less than 2**-60 of its mass is left."""
NEAR = 3
"""Cells so near the peak that the density, which has a corner there, needs smaller parts."""
NODES = 12
"""Nodes per part of a cell: few, since the weights of many are small at the ends and lose digits there."""
LARGEST_RATE, LARGEST_REACH = 10.0, 6_000


def geometric_quarter(rate: float, rows: int, columns: int) -> np.ndarray:
    """Masses e**(-rate |z|), not normalised, of offsets from (0, 0) on; the outermost hold all beyond."""
    return _quarter(rate, rows, columns, lambda i, j: np.exp(-rate * np.hypot(i, j)))


def laplace_quarter(rate: float, rows: int, columns: int) -> np.ndarray:
    """Masses of cells under planar Laplace noise, not normalised, from the peak's on; the outermost hold all beyond.

    The peak's cell is integrated in polar coordinates, all others by Gauss's rule, whose terms are positive, so that
    small masses keep their digits.
    """
    parts = math.ceil(rate / 2)

    def cells(i: int, j: np.ndarray) -> np.ndarray:
        total = np.empty(j.shape)
        near = slice(0, NEAR if i < NEAR else 0)
        total[near] = _gauss(rate, i, j[near], max(parts, 4))
        far = slice(near.stop, None)
        total[far] = _gauss(rate, i, j[far], parts)
        if i == 0:
            total[0] = _peak(rate)
        return total

    return _quarter(rate, rows, columns, cells)


def _gauss(rate: float, i: int, j: np.ndarray, parts: int) -> np.ndarray:
    """The integrals over cells, cut into so many parts each way."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    places = (np.arange(parts)[:, None] + (nodes + 1) / 2).reshape(-1) / parts - 0.5
    weights = np.tile(weights / 2 / parts, parts)
    total = np.zeros(j.shape)
    if j.size:
        for u, a in zip(places, weights, strict=True):
            for v, b in zip(places, weights, strict=True):
                total += a * b * np.exp(-rate * np.hypot(i + u, j + v))
    return total


def _peak(rate: float) -> float:
    """The integral of e**(-rate |z|) over the cell around 0: eight triangles, each in polar coordinates."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    reach = rate * 0.5 / np.cos(math.pi / 8 * (nodes + 1))
    within = -np.expm1(-reach) - reach * np.exp(-reach)
    small = reach < 1e-2  # there the difference would lose digits: its series
    series = reach**2 * (1 / 2 - reach / 3 + reach**2 / 8 - reach**3 / 30 + reach**4 / 144)
    return float(weights @ np.where(small, series, within)) * math.pi / rate**2


def _quarter(rate: float, rows: int, columns: int, masses: Callable[[int, np.ndarray], np.ndarray]) -> np.ndarray:
    """Masses of offsets each way, those beyond the outermost added to it, smallest first."""
    margin = math.ceil(SPAN / rate)
    places = np.arange(columns + margin, dtype=np.float64)
    quarter = np.zeros((rows, columns))
    for i in reversed(range(rows + margin)):
        row = masses(i, places)
        row[columns - 1] += row[: columns - 1 : -1].sum()
        quarter[min(i, rows - 1)] += row[:columns]
    return quarter
