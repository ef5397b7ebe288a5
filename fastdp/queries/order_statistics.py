"""Rows in order: those between any two ranks, from one pass that counts cells and another that gathers a few."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from fastdp.kernels.persons.order_statistics import count_cells, gather_cells

CELL_BITS = 16


class Ranked(Protocol):
    """Rows in order, by rank."""

    size: int

    def gather(self, ranges: Sequence[tuple[float, float]]) -> None:
        """Make ready what lies between these ranks."""

    def window(self, low: float, high: float) -> tuple[int, np.ndarray, int, int]:
        """Rows below the candidates with these ranks, their sorted steps, and the first and last such candidate."""


class SortedRows:
    """The sorted steps of a few rows, from 0 to ``width``."""

    def __init__(self, steps: np.ndarray, width: int) -> None:
        self._sorted, self._width, self.size = steps, width, steps.size

    def gather(self, ranges: Sequence[tuple[float, float]]) -> None:
        """All of them are."""

    def window(self, low: float, high: float) -> tuple[int, np.ndarray, int, int]:
        """See `Ranked`."""
        first, last = 0, self._width
        if low >= 1:
            first = int(self._sorted[min(math.floor(low), self.size) - 1])
        if math.ceil(high) < self.size:
            last = int(self._sorted[max(0, math.ceil(high))])
        below, above = np.searchsorted(self._sorted, [first, last + 1])
        return int(below), self._sorted[below:above], first, last


class OrderStatistics:
    """Rows as steps from 0 to ``width``, and the sorted ones of any range of ranks."""

    def __init__(self, pieces: Sequence[np.ndarray], width: int) -> None:
        self._pieces, self._width = pieces, width
        self._shift = max(0, width.bit_length() - CELL_BITS)
        cells = (width >> self._shift) + 1
        tables = np.zeros((4, cells + 1), np.int64)
        for piece in pieces:
            count_cells(piece, self._shift, tables)
        self._counts = tables.sum(axis=0)[:-1]
        self._ends = np.cumsum(self._counts)
        self.size = int(self._ends[-1])
        self._have = np.zeros(cells, bool)
        self._sorted = np.zeros(0, np.int32)

    def gather(self, ranges: Sequence[tuple[float, float]]) -> None:
        """Make ready what lies between these ranks, in one pass."""
        wanted = np.zeros(self._counts.size + 1, np.uint8)
        for low, high in ranges:
            first, last = self._cells(low, high)
            wanted[first : last + 1] = 1
        new = wanted[:-1].astype(bool) & ~self._have
        if not new.any():
            return
        wanted[:-1] = new
        out = np.empty(int(self._counts[new].sum()) + 1, np.int32)
        found = 0
        for piece in self._pieces:
            found += gather_cells(piece, self._shift, wanted, out[found:])
        self._sorted = np.sort(np.concatenate([self._sorted, out[:found]]))
        self._have |= new

    def _cells(self, low: float, high: float) -> tuple[int, int]:
        """The cells of candidates with these ranks, also of those that no row has: empty cells on both sides."""
        first = 0 if low <= 0 else int(np.searchsorted(self._ends, math.floor(low), "left"))
        last = self._ends.size - 1 if high >= self.size else int(np.searchsorted(self._ends, math.ceil(high), "right"))
        return min(first, self._ends.size - 1), min(last, self._ends.size - 1)

    def window(self, low: float, high: float) -> tuple[int, np.ndarray, int, int]:
        """Rows below the window, its sorted steps, and the first and last candidate in it."""
        self.gather([(low, high)])
        first, last = self._cells(low, high)
        start, stop = first << self._shift, min(self._width, ((last + 1) << self._shift) - 1)
        chosen = slice(*np.searchsorted(self._sorted, [start, stop + 1]))
        return int(self._ends[first] - self._counts[first]), self._sorted[chosen], start, stop
