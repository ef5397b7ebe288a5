"""Channels on a grid of cells: the same noise everywhere, sums outside clamped onto the border."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastdp import validation
from fastdp.channels.base import Channel
from fastdp.channels.dense_storage import ROW_TOLERANCE
from fastdp.channels.observed import Observed
from fastdp.channels.planar import geometric_masses, laplace_masses
from fastdp.errors import ParameterError
from fastdp.kernels.products.fourier import Transform
from fastdp.kernels.products.grid import Tables, apply_grid, scratch_size
from fastdp.kernels.products.likelihood import step_weights
from fastdp.kernels.products.vectors import LANES


class GridChannel(Channel):
    """Add an offset to a cell; what falls outside goes to the nearest cell of the border, row and column each clamped.

    Cells are numbered row by row. ``masses`` are the probabilities of the offsets, an array with odd sides and offset
    (0, 0) in its middle. Products take O(N log N) time and O(N) memory, by Fourier transforms of twice the grid's
    sides. These give what falls inside; what goes beyond a side is added to it from sums of products with the masses
    beyond, transformed along the side, so that no transform has to cover the plane around the grid. Masses that are the
    same under both reflections have real transforms, which take half the memory.

    Transforms are off by some 1e-17 whatever the size of a product, so that in gradients no probability of an output
    counts as less than 2**-52 of the likeliest entry's.

    Parameters
    ----------
    masses
        The probability of each offset, an array with odd sides and offset (0, 0) in its middle.
    shape
        The numbers of rows and of columns of the grid.
    """

    def __init__(self, masses: ArrayLike, shape: tuple[int, int]) -> None:
        masses = np.asarray(masses, np.float64)
        self.grid: tuple[int, int] = _read_shape(shape)
        if masses.ndim != 2 or not all(side % 2 for side in masses.shape):
            raise ParameterError(
                "GridChannel: masses must have two dimensions with odd sides, offset (0, 0) in the middle"
            )
        if not masses.min() >= 0 or not abs(masses.sum() - 1) <= ROW_TOLERANCE:
            raise ParameterError(f"GridChannel: masses must be probabilities that sum to 1 within {ROW_TOLERANCE:g}")
        self._masses = _clip(_clip(masses, self.grid[0]).T, self.grid[1]).T.copy()
        self._plan()

    @classmethod
    def laplace(cls, rate: float, shape: tuple[int, int]) -> GridChannel:
        """Planar Laplace noise added to the middles of cells of side 1; ``rate`` is epsilon per side.

        Parameters
        ----------
        rate, shape
            As in `geometric`.

        >>> GridChannel.laplace(0.99, (3, 3)).shape
        (9, 9)
        """
        rate = validation.positive("GridChannel", "rate", rate)
        return cls(laplace_masses(rate, _read_shape(shape)), shape)

    @classmethod
    def geometric(cls, rate: float, shape: tuple[int, int]) -> GridChannel:
        """Planar geometric noise: offset z has probability proportional to e**(-rate |z|), |z| its length in cells.

        Parameters
        ----------
        rate
            The inverse scale of the noise per cell.
        shape
            The numbers of rows and of columns.
        """
        rate = validation.positive("GridChannel", "rate", rate)
        return cls(geometric_masses(rate, _read_shape(shape)), shape)

    def _plan(self) -> None:
        """Tables in the order of the transforms: waves inside the grid, and what goes beyond its sides and corners."""
        (rows, columns), masses = self.grid, self._masses
        halves = [Transform(Transform.fast_length(rows), quarter) for quarter in (1, 3)]
        down, along = halves[0], Transform(Transform.fast_length(columns), 1)
        waves = along.values(masses) / (2 * down.length * along.length)
        sides, ends = _strict_tails(masses), _strict_tails(masses.T)
        corners = [tail.T for side in sides for tail in _strict_tails(side.T)]
        tables = Tables(
            down=down.stages,
            down_factors=np.stack([half.factors for half in halves]),
            along=along.stages,
            along_factors=along.factors,
            spectrum=np.stack([_blocks(half.values(waves.T).T, down.length) for half in halves]),
            sides=np.stack([_blocks(along.values(tails) / along.length, rows) for tails in sides]),
            ends=np.stack([_blocks(down.values(tails).T / down.length, down.length) for tails in ends]),
            corners=np.stack([_blocks(tails, _whole(down.length))[:, :, 0] for tails in corners]),
        )
        symmetric = np.array_equal(masses, masses[::-1]) and np.array_equal(masses, masses[:, ::-1])
        if symmetric:
            self._tables = self._adjoint = _each(tables, lambda table: np.ascontiguousarray(table[..., :1, :]))
        else:
            self._tables, self._adjoint = tables, _each(tables, lambda table: table * [[1.0], [-1.0]])
        self._scratch = scratch_size(tables)
        self._largest = float(masses.max())

    @property
    def shape(self) -> tuple[int, int]:
        size = self.grid[0] * self.grid[1]
        return size, size

    @property
    def masses(self) -> np.ndarray:
        """Probabilities of the offsets that stay on the grid from somewhere; the outermost hold all beyond."""
        return self._masses.copy()

    def row(self, x: int) -> np.ndarray:
        self._check(x)
        row: np.ndarray = self._select(np.array([x]), np.arange(self.shape[1]))[0]
        return row

    def dense(self) -> np.ndarray:
        return self._select(np.arange(self.shape[0]), np.arange(self.shape[1]))

    def _select(self, inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        rows, columns = self.grid
        i, j = np.divmod(inputs, columns)
        s, t = np.divmod(outputs, columns)
        out = np.empty((inputs.size, outputs.size))
        for side, along_rows in _sides_of(s, rows, self._masses):
            for end, masses in _sides_of(t, columns, along_rows.T):
                here = np.flatnonzero(side & end)
                if here.size:
                    table = np.ascontiguousarray(masses.T)
                    across = table.shape[1]
                    lags = (s[here] + rows - 1) * across + t[here] + columns - 1 - (i * across + j)[:, None]
                    out[:, here] = table.reshape(-1)[lags]
        return out

    def _forward(self, p: np.ndarray) -> np.ndarray:
        return self._apply(self._tables, p, back=False)

    def _backward(self, w: np.ndarray) -> np.ndarray:
        return self._apply(self._adjoint, w, back=True)

    def _apply(self, tables: Tables, values: np.ndarray, *, back: bool) -> np.ndarray:
        out = np.empty(self.grid)
        apply_grid(tables, back, values.reshape(self.grid), np.empty(self._scratch), out)
        return out.reshape(-1)

    def prepare(self, counts: ArrayLike) -> Observed:
        return _ObservedGrid(self, counts, self._largest) if np.ndim(counts) < 2 else super().prepare(counts)


class _ObservedGrid(Observed):
    """Small products are rounded to no less than the error of a transform."""

    def __init__(self, channel: GridChannel, counts: ArrayLike, largest: float) -> None:
        super().__init__(channel, counts)
        self._floor, self._weighed = largest * 2.0**-52, self.counts.copy()

    def gradient(self, p: Any) -> tuple[np.ndarray, float]:
        d = self.channel.forward(self._vector(p))
        total = step_weights(self._weighed, self._floor, d)
        g = self.channel.backward(d)
        return np.maximum(g, 0.0, out=g), total


def _whole(count: int) -> int:
    """So many or the next multiple of the lanes of a vector."""
    return -(-count // LANES) * LANES


def _blocks(values: np.ndarray, height: int) -> np.ndarray:
    """A table in blocks of so many rows, 0 where it has none: blocks, rows, real and imaginary parts, lanes."""
    rows, columns = values.shape
    wide = np.zeros((height, _whole(columns)), np.complex128)
    wide[:rows, :columns] = values
    parts = np.stack((wide.real, wide.imag)).reshape(2, height, -1, LANES)
    return np.ascontiguousarray(parts.transpose(2, 1, 0, 3))


def _each(tables: Tables, change: Callable[[np.ndarray], np.ndarray]) -> Tables:
    """The tables with those of complex numbers changed."""
    return tables._replace(**{name: change(getattr(tables, name)) for name in ("spectrum", "sides", "ends")})


def _read_shape(shape: tuple[int, int]) -> tuple[int, int]:
    return (
        validation.positive_integer("GridChannel", "rows", shape[0]),
        validation.positive_integer("GridChannel", "columns", shape[1]),
    )


def _clip(masses: np.ndarray, size: int) -> np.ndarray:
    """Rows of offsets -size + 1 .. size - 1: all beyond are added to the outermost, as all of them leave the grid."""
    reach, most = len(masses) // 2, size - 1
    if reach <= most:
        return np.pad(masses, ((most - reach, most - reach), (0, 0)))
    inside = masses[reach - most : reach + most + 1].copy()
    for end, rows in ((0, masses), (-1, masses[::-1])):  # from outside in, so that what is symmetric stays so
        inside[end] += np.ascontiguousarray(rows[: reach - most]).sum(axis=0)
    return inside


def _strict_tails(masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each of n rows of a grid, the sums over offsets that lead beyond the first row, and beyond the last."""
    size = (len(masses) + 1) // 2
    nothing = np.zeros((1, masses.shape[1]))
    low = np.concatenate((nothing, np.cumsum(masses[: size - 1], axis=0)))[::-1]
    high = np.concatenate((nothing, np.cumsum(masses[: size - 1 : -1], axis=0)))
    return low, high


def _sides_of(places: np.ndarray, size: int, masses: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Which outputs are inside, at the first and at the last row, and masses by offset with what ends up there added.

    Sums run from the far end, so that small ones keep their digits.
    """
    first, last = places == 0, (places == size - 1) & (places > 0)
    return [
        (~first & ~last, masses),
        (first, np.cumsum(masses, axis=0)),
        (last, np.cumsum(masses[::-1], axis=0)[::-1]),
    ]
