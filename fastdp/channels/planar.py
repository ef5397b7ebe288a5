"""Probabilities of offsets on a grid of cells of side 1, for noise in the plane that depends on distance alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from fastdp.errors import ParameterError

NEAR = 3
"""Offsets whose cells are too near the peak, where the density has a corner, to be integrated point by point."""
PARTS, NODES = 20, 12
"""At most so many parts of a cell near the peak, and nodes in each: few, for weights at the ends lose digits there."""
SPAN = 45.0
"""Lengths times rate beyond which nothing is left in float64."""
LARGEST_REACH = 10_000
SMOOTH = 8
"""Cells beyond the map that are integrated each by itself, for the peak may be near."""
CHUNK = 256

Size = int | tuple[int, int]
"""Rows and columns of a map; a number for both."""


def geometric_masses(rate: float, size: Size) -> np.ndarray:
    """Probabilities proportional to e**(-rate |z|) of offsets below ``size``; the outermost hold all beyond."""
    rows, columns = _sides(size)
    if max(rows, columns) + math.ceil(SPAN / rate) > LARGEST_REACH:
        raise ParameterError(f"GridChannel: rate must be at least {SPAN / LARGEST_REACH:.2g} per cell for such a grid")
    return mirrored(geometric_quarter(rate, rows, columns))


def geometric_quarter(rate: float, rows: int, columns: int, span: float = SPAN) -> np.ndarray:
    """Masses e**(-rate |z|), not normalised, of offsets from (0, 0) on; the outermost hold all beyond.

    Those further beyond than ``span`` / rate are left out.
    """
    margin = math.ceil(span / rate)
    places = np.arange(columns + margin, dtype=np.float64)
    quarter = np.zeros((rows, columns))
    for i in reversed(range(rows + margin)):  # the smallest first
        quarter[min(i, rows - 1)] += _folded(np.exp(-rate * np.hypot(i, places)), columns)
    return quarter


def laplace_masses(rate: float, size: Size) -> np.ndarray:
    """Probabilities that planar Laplace noise falls in the cells around (0, 0); the outermost hold all beyond."""
    rows, columns = _sides(size)
    most = _most(rate)
    quarter = laplace_quarter(rate, min(rows, most), min(columns, most))
    return mirrored(_folded(_folded(quarter, columns).T, rows).T)


def laplace_quarter(rate: float, rows: int, columns: int, span: float = SPAN) -> np.ndarray:
    """Integrals of e**(-rate |z|) over cells, from that of the peak on; the outermost hold all beyond.

    Cells near the peak, where the density has a corner, are cut into parts, and the peak's own is integrated in polar
    coordinates. All terms are positive, so that small masses keep their digits, too.
    """
    nodes, weights = np.polynomial.legendre.leggauss(6 + math.ceil(2 * min(rate, 20.0)))
    within = _gauss(NODES, np.linspace(-0.5, 0.5, 1 + min(max(math.ceil(rate / 2), 4), PARTS)))
    inner = np.empty((NEAR, NEAR))
    for i in range(NEAR):
        for j in range(NEAR):
            inner[i, j] = within[1] @ np.exp(-rate * np.hypot(i + within[0][:, None], j + within[0])) @ within[1]
    inner[0, 0] = _peak(rate)
    rule = _Rule(nodes / 2, weights / 2, -0.5, lambda v: np.ones(v.size))
    return _integrated(rate, (rows, columns), rule, inner, span)


def spread_masses(rate: float, size: Size) -> np.ndarray:
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
    rule = _Rule(nodes, weights, -1.0, lambda v: np.minimum(v, 1.0))
    rows, columns = _sides(size)
    most = _most(rate)
    quarter = _integrated(rate, (min(rows, most), min(columns, most)), rule, inner, SPAN)
    return mirrored(_folded(_folded(quarter, columns).T, rows).T)


def _parts(offset: int, halves: np.ndarray) -> np.ndarray:
    """Edges of parts of [-1, 1] that halve towards -offset, where the peak is, if that is in it."""
    ends = np.concatenate((-offset - halves, [-offset], -offset + halves, [-1.0, 0.0, 1.0], np.linspace(-1, 1, 9)))
    return np.unique(ends[(ends >= -1) & (ends <= 1)])


def _triangle(count: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss's nodes on the parts between edges, and their weights under 1 - |u|."""
    u, weights = _gauss(count, edges)
    return u, weights * (1 - np.abs(u))


def _gauss(count: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss's nodes on the parts between edges, and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + nodes)).reshape(-1), (half * weights).reshape(-1)


@dataclass(frozen=True, slots=True, eq=False)
class _Rule:
    """How the density is integrated along an axis: nodes in a cell, around its middle, and their weights.

    All cells from one on, taken together, begin ``start`` from its middle; there ``share(v)`` of what is v further on
    is in them.
    """

    nodes: np.ndarray
    weights: np.ndarray
    start: float
    share: Callable[[np.ndarray], np.ndarray]

    def spread(self, rate: float, cells: int, span: float) -> tuple[np.ndarray, np.ndarray]:
        """All nodes, cell by cell and then those of all beyond; and their weights."""
        within = (np.arange(cells)[:, None] + self.nodes).reshape(-1)
        edges = np.concatenate((np.arange(SMOOTH + 1), SMOOTH + np.cumsum(_widths(rate, span))))
        beyond, weights = _gauss(self.nodes.size + 8, edges)
        nodes = np.concatenate((within, cells + self.start + beyond))
        return nodes, np.concatenate((np.tile(self.weights, cells), weights * self.share(beyond)))

    def gather(self, values: np.ndarray, cells: int) -> np.ndarray:
        """Sums of weighed values of nodes, along the last axis, over each cell and over all beyond."""
        inside = cells * self.nodes.size
        parts = values[..., :inside].reshape(*values.shape[:-1], cells, self.nodes.size).sum(axis=-1)
        return np.concatenate((parts, values[..., inside:].sum(axis=-1, keepdims=True)), axis=-1)


def _widths(rate: float, span: float) -> np.ndarray:
    """Of parts that reach as far as anything is left: each half as wide again as the one before, up to 1 / rate."""
    widest, width, done, widths = max(1.0, 1.0 / rate), 1.0, 0.0, []
    while rate * done < span:
        widths.append(width)
        done, width = done + width, min(1.5 * width, widest)
    return np.array(widths)


def _most(rate: float) -> int:
    """Cells each way that hold anything in float64, and enough of them to be integrated."""
    return max(2 * NEAR + 2, math.ceil(SPAN / rate) + 1)


def _integrated(rate: float, shape: tuple[int, int], rule: _Rule, inner: np.ndarray, span: float) -> np.ndarray:
    """Integrals at offsets, but for the given ones near the peak; the outermost hold all up to ``span`` / rate beyond.

    Cells beyond the map are integrated together, in parts that grow: they may be many.
    """
    rows, columns = (max(side, 2 * NEAR + 2) for side in shape)
    (u, a), (v, b) = (rule.spread(rate, side, span) for side in (rows, columns))
    strips = [
        a[part, None] * rule.gather(np.exp(-rate * np.hypot(u[part, None], v)) * b, columns) for part in _chunks(u.size)
    ]
    quarter = rule.gather(np.concatenate(strips).T, rows).T
    quarter[:NEAR, :NEAR] = inner
    return _folded(_folded(quarter, shape[1]).T, shape[0]).T


def _chunks(size: int) -> Iterator[slice]:
    """Parts of the nodes, so that their table need not be held at once."""
    return (slice(start, start + CHUNK) for start in range(0, size, CHUNK))


def _folded(masses: np.ndarray, size: int) -> np.ndarray:
    """Entries along the last axis up to ``size``, the last one with all beyond; zeros where there were fewer."""
    inside = np.zeros((*masses.shape[:-1], size))
    held = min(size, masses.shape[-1])
    inside[..., :held] = masses[..., :held]
    inside[..., -1] += masses[..., size:].sum(axis=-1)
    return inside


def _sides(size: Size) -> tuple[int, int]:
    """Rows and columns, two at least: the outermost of a mirrored quarter hold what is beyond on one side each."""
    rows, columns = (size, size) if isinstance(size, int) else size
    return max(rows, 2), max(columns, 2)


def _peak(rate: float) -> float:
    """The integral of e**(-rate |z|) over the cell around 0: eight triangles, each in polar coordinates."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    reach = rate * 0.5 / np.cos(math.pi / 8 * (nodes + 1))
    within = -np.expm1(-reach) - reach * np.exp(-reach)
    small = reach < 1e-2  # there the difference would lose digits: its series
    series = reach**2 * (1 / 2 - reach / 3 + reach**2 / 8 - reach**3 / 30 + reach**4 / 144)
    return float(weights @ np.where(small, series, within)) * math.pi / rate**2


def mirrored(quarter: np.ndarray) -> np.ndarray:
    """All four quarters, summing to 1, offset (0, 0) in the middle."""
    half = np.concatenate((quarter[:0:-1], quarter))
    whole = np.concatenate((half[:, :0:-1], half), axis=1)
    shares: np.ndarray = whole / whole.sum()
    return shares
