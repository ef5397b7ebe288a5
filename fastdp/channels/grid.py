"""Channels on a grid of cells: the same noise everywhere, sums outside clamped onto the border."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.channels.base import Channel
from fastdp.channels.dense import ROW_TOLERANCE
from fastdp.channels.observed import Observed
from fastdp.channels.planar import geometric_masses, laplace_masses
from fastdp.errors import ParameterError
from fastdp.kernels.grid import (
    add_ends,
    add_tails,
    apply_spectrum,
    crop_spread,
    crop_sums,
    spread_ends,
    spread_tails,
)
from fastdp.kernels.likelihood import step_weights


class GridChannel(Channel):
    """Add an offset to a cell; what falls outside goes to the nearest cell of the border, row and column each clamped.

    Cells are numbered row by row. ``masses`` are the probabilities of the offsets, an array with odd sides and offset
    (0, 0) in its middle. Products take O(N log N) time and O(N) memory, by Fourier transforms of twice the grid's
    sides. These give what falls inside; what goes beyond a side is added to it from sums of products with the masses
    beyond, transformed along the side, so that no transform has to cover the plane around the grid.

    Transforms are off by some 1e-17 whatever the size of a product, so that in gradients no probability of an output
    counts as less than 2**-52 of the likeliest entry's.
    """

    def __init__(self, masses: Any, shape: tuple[int, int]) -> None:
        masses = np.asarray(masses, np.float64)
        self.grid = (
            validation.positive_integer("GridChannel", "rows", shape[0]),
            validation.positive_integer("GridChannel", "columns", shape[1]),
        )
        if masses.ndim != 2 or not all(side % 2 for side in masses.shape):
            raise ParameterError(
                "GridChannel: masses must have two dimensions with odd sides, offset (0, 0) in the middle"
            )
        if not masses.min() >= 0 or not abs(masses.sum() - 1) <= ROW_TOLERANCE:
            raise ParameterError(f"GridChannel: masses must be probabilities that sum to 1 within {ROW_TOLERANCE:g}")
        self._masses = _clip(_clip(masses, self.grid[0]).T, self.grid[1]).T.copy()
        self._fft: Any = _transforms()
        self._plan()

    @classmethod
    def laplace(cls, rate: float, shape: tuple[int, int]) -> GridChannel:
        """Planar Laplace noise added to the middles of cells of side 1; ``rate`` is epsilon per side.

        >>> GridChannel.laplace(0.99, (3, 3)).shape
        (9, 9)
        """
        rate = validation.positive("GridChannel", "rate", rate)
        return cls(laplace_masses(rate, max(shape)), shape)

    @classmethod
    def geometric(cls, rate: float, shape: tuple[int, int]) -> GridChannel:
        """Planar geometric noise: offset z has probability proportional to e**(-rate |z|), |z| its length in cells."""
        rate = validation.positive("GridChannel", "rate", rate)
        return cls(geometric_masses(rate, max(shape)), shape)

    def _plan(self) -> None:
        """The spectrum of the offsets, and what lies beyond each side, transformed along it."""
        rows, columns = self.grid
        fft, masses = self._fft, self._masses
        self._lengths = _fast_length(2 * rows - 1), _fast_length(2 * columns - 1)
        wrapped = np.zeros(self._lengths)
        lags = np.arange(-rows + 1, rows)[:, None], np.arange(-columns + 1, columns)
        wrapped[lags] = masses
        spectrum = fft.fft(fft.rfft(wrapped, axis=1), axis=0)
        even = np.array_equal(masses, masses[::-1, ::-1])  # then it is real
        self._spectrum = np.ascontiguousarray(spectrum.real) if even else spectrum
        self._adjoint = self._spectrum if even else spectrum.conj()
        low, high = _strict_tails(masses)
        left, right = _strict_tails(masses.T)
        self._sides = tuple(self._along(tail, self._lengths[1]) for tail in (low, high))
        self._ends = tuple(self._across(tail).view(np.float64) for tail in (left, right))
        corners = [_strict_tails(tail.T) for tail in (low, high)]
        self._corners = np.stack([tail.T.reshape(-1) for pair in corners for tail in pair])
        self._largest = float(masses.max())

    def _along(self, tails: np.ndarray, length: int) -> np.ndarray:
        """Rows of offsets -m + 1 .. m - 1, transformed."""
        m = (tails.shape[1] + 1) // 2
        wrapped = np.zeros((len(tails), length))
        wrapped[:, np.arange(-m + 1, m)] = tails
        return self._fft.rfft(wrapped, axis=1)

    def _across(self, tails: np.ndarray) -> np.ndarray:
        """The tails of each column, transformed along their offsets and, conjugate, along the columns."""
        rows, width = self.grid[0], self._lengths[1]
        wrapped = np.zeros((len(tails), self._lengths[0]))
        wrapped[:, np.arange(-rows + 1, rows)] = tails
        both = self._fft.ifft(self._fft.fft(wrapped, axis=1), width, axis=0)
        return np.ascontiguousarray(both[: width // 2 + 1].T)

    @property
    def shape(self) -> tuple[int, int]:
        size = self.grid[0] * self.grid[1]
        return size, size

    def row(self, x: int) -> np.ndarray:
        self._check(x)
        return self._select(np.array([x]), np.arange(self.shape[1]))[0]

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
                    lags = s[here] - i[:, None] + rows - 1, t[here] - j[:, None] + columns - 1
                    out[:, here] = masses.T[lags]
        return out

    def _forward(self, p: np.ndarray) -> np.ndarray:
        fft, (rows, columns), (height, width) = self._fft, self.grid, self._lengths
        lines = fft.rfft(p.reshape(rows, columns), width, axis=1)
        both = fft.fft(lines, height, axis=0)
        ends = np.empty((2, height), np.complex128)
        add_ends(both.view(np.float64), *self._ends, width % 2 == 0, ends.view(np.float64))
        apply_spectrum(self._spectrum, both)
        inside = self._inverse(both)
        add_tails(lines, *self._sides, inside[0], inside[-1])
        out = np.empty((rows, columns))
        crop_sums(fft.irfft(inside, width, axis=1), fft.ifft(ends, axis=1).view(np.float64), self._corners @ p, out)
        return out.reshape(-1)

    def _backward(self, w: np.ndarray) -> np.ndarray:
        fft, (rows, columns), (height, width) = self._fft, self.grid, self._lengths
        cells = w.reshape(rows, columns)
        lines = fft.rfft(cells, width, axis=1)
        both = fft.fft(lines, height, axis=0)
        apply_spectrum(self._adjoint, both)
        ends = fft.fft(np.ascontiguousarray(cells[:, [0, -1]].T) * width, height, axis=1).view(np.float64)
        spread_ends(*self._ends, ends[0], ends[1], both.view(np.float64))
        inside = self._inverse(both)
        spread_tails(*self._sides, lines[0], lines[-1], inside)
        out = np.empty((rows, columns))
        crop_spread(fft.irfft(inside, width, axis=1), cells, self._corners.reshape(4, rows, columns), out)
        return out.reshape(-1)

    def _inverse(self, both: np.ndarray) -> np.ndarray:
        """The rows of the grid, transformed back; ``both`` is given up."""
        place = {} if self._fft is np.fft else {"overwrite_x": True}
        return self._fft.ifft(both, axis=0, **place)[: self.grid[0]]

    def prepare(self, counts: Any) -> Observed:
        return _ObservedGrid(self, counts, self._largest) if np.ndim(counts) < 2 else super().prepare(counts)


class _ObservedGrid(Observed):
    """Small products are rounded to no less than the error of a transform."""

    def __init__(self, channel: GridChannel, counts: Any, largest: float) -> None:
        super().__init__(channel, counts)
        self._floor, self._weighed = largest * 2.0**-52, self.counts.copy()

    def gradient(self, p: Any) -> tuple[np.ndarray, float]:
        d = self.channel.forward(self._vector(p))
        total = step_weights(self._weighed, self._floor, d)
        g = self.channel.backward(d)
        return np.maximum(g, 0.0, out=g), total


def _transforms() -> Any:
    """Fourier transforms: scipy's where it is there, which are a tenth faster here, else numpy's."""
    try:
        return importlib.import_module("scipy.fft")
    except ImportError:
        return np.fft


def _fast_length(least: int) -> int:
    """The smallest 2**a 3**b 5**c from ``least`` on."""
    length = least
    while True:
        rest = length
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return length
        length += 1


def _clip(masses: np.ndarray, size: int) -> np.ndarray:
    """Rows of offsets -size + 1 .. size - 1: all beyond are added to the outermost, as all of them leave the grid."""
    reach, most = len(masses) // 2, size - 1
    if reach <= most:
        return np.pad(masses, ((most - reach, most - reach), (0, 0)))
    inside = masses[reach - most : reach + most + 1].copy()
    inside[0] += masses[: reach - most].sum(axis=0)
    inside[-1] += masses[reach + most + 1 :].sum(axis=0)
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
