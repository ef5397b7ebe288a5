"""Probabilities of offsets on a grid of cells of side 1, for noise in the plane that depends on distance alone."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fastdp.errors import ParameterError

NEAR = 3
"""Offsets whose cells are too near the peak, where the density has a corner, to be integrated point by point."""
SPAN = 45.0
"""Lengths times rate beyond which nothing is left in float64."""
LARGEST_REACH = 10_000


def geometric_masses(rate: float, size: int) -> np.ndarray:
    """Probabilities proportional to e**(-rate |z|) of offsets up to ``size - 1``; the outermost hold all beyond."""
    return mirrored(_quarter(rate, size, lambda i, j: np.exp(-rate * np.hypot(i, j))))


def laplace_masses(rate: float, size: int) -> np.ndarray:
    """Probabilities that planar Laplace noise falls in the cells around (0, 0); the outermost hold all beyond.

    Cells near the peak are differences of integrals in polar coordinates, others are integrated by Gauss's rule: both
    to all digits.
    """
    nodes, weights = np.polynomial.legendre.leggauss(6 + math.ceil(2 * min(rate, 20.0)))
    corners = np.array([[_rectangle(rate, a + 0.5, b + 0.5) for b in range(NEAR)] for a in range(NEAR)])
    inner = np.diff(np.diff(np.pad(corners, ((1, 0), (1, 0))), axis=0), axis=1)
    inner[0] *= 2  # both halves of a cell that an axis cuts
    inner[:, 0] *= 2
    return _laplace(rate, size, nodes / 2, weights / 2, inner)


def spread_masses(rate: float, size: int) -> np.ndarray:
    """As :func:`laplace_masses`, for noise added to points that are uniform within cell (0, 0), not in its middle.

    Means over the points' places: the density is weighed by the overlap of a cell with one that is shifted by as much
    as the noise, a triangle each way. Near the peak it is integrated in parts that halve towards it, so that it is
    smooth on each of them.
    """
    nodes, weights = _triangle(5 + math.ceil(2 * min(rate, 20.0)), np.array([-1.0, 0.0, 1.0]))
    halves = 2.0 ** -np.arange(40.0)
    inner = np.empty((NEAR, NEAR))
    for i in range(NEAR):
        for j in range(NEAR):
            (u, a), (v, b) = (_triangle(12, _parts(k, halves)) for k in (i, j))
            inner[i, j] = a @ np.exp(-rate * np.hypot(i + u[:, None], j + v)) @ b
    return _laplace(rate, size, nodes, weights, inner * (rate * rate / (2 * math.pi)))


def _parts(offset: int, halves: np.ndarray) -> np.ndarray:
    """Edges of parts of [-1, 1] that halve towards -offset, where the peak is, if that is in it."""
    ends = np.concatenate((-offset - halves, [-offset], -offset + halves, [-1.0, 0.0, 1.0], np.linspace(-1, 1, 9)))
    return np.unique(ends[(ends >= -1) & (ends <= 1)])


def _triangle(count: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss's nodes on the parts between edges, and their weights under 1 - |u|."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    half = np.diff(edges)[:, None] / 2
    u = (edges[:-1, None] + half * (1 + nodes)).reshape(-1)
    return u, (half * weights).reshape(-1) * (1 - np.abs(u))


def _laplace(rate: float, size: int, nodes: np.ndarray, weights: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Integrals of the density at offsets by weighed nodes each way, but for the given ones near the peak."""

    def cells(i: int, j: np.ndarray) -> np.ndarray:
        total = np.zeros(j.shape)
        for u, a in zip(nodes, weights, strict=True):
            for v, b in zip(nodes, weights, strict=True):
                total += a * b * np.exp(-rate * np.hypot(i + u, j + v))
        total *= rate * rate / (2 * math.pi)
        if i < NEAR:
            total[:NEAR] = inner[i, : total.size]
        return total

    return mirrored(_quarter(rate, size, cells))


def _rectangle(rate: float, a: float, b: float) -> float:
    """The probability of planar Laplace noise to fall in [0, a] x [0, b]."""
    nodes, weights = np.polynomial.legendre.leggauss(80)
    corner, total = math.atan2(b, a), 0.0
    for start, stop, side, leg in ((0.0, corner, a, np.cos), (corner, math.pi / 2, b, np.sin)):
        reach = rate * side / leg((stop - start) / 2 * (nodes + 1) + start)
        within = -np.expm1(-reach) - reach * np.exp(-reach)
        total += float(weights @ within) * (stop - start) / 2
    return total / (2 * math.pi)


def _quarter(rate: float, size: int, masses: Callable[[int, np.ndarray], np.ndarray]) -> np.ndarray:
    """Masses of offsets 0 .. size - 1 each way, the outermost with all beyond; ``masses(i, j)`` gives a row of them."""
    reach = size + math.ceil(SPAN / rate)
    if reach > LARGEST_REACH:
        raise ParameterError(
            f"GridChannel: rate must be at least {SPAN / (LARGEST_REACH - size):.2g} per cell, got {rate:g}"
        )
    places = np.arange(reach + 1, dtype=np.float64)
    quarter = np.zeros((size, size))
    for i in range(reach + 1):
        row = masses(i, places)
        row[size - 1] += row[: size - 1 : -1].sum()
        quarter[min(i, size - 1)] += row[:size]
    return quarter


def mirrored(quarter: np.ndarray) -> np.ndarray:
    """All four quarters, summing to 1, offset (0, 0) in the middle."""
    half = np.concatenate((quarter[:0:-1], quarter))
    whole = np.concatenate((half[:, :0:-1], half), axis=1)
    return whole / whole.sum()
