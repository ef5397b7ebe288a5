"""Tables of counts over the combinations of several columns; counts of batches add up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from fastdp.errors import DomainError, ParameterError, SchemaError
from fastdp.fairness.encoding import OWNER, Codes
from fastdp.kernels.fairness.cells import add_weights, count_cells, fold_codes

ROWS = 1 << 17
"""Rows per call of a kernel: their cells stay in the second cache."""
MOST_CELLS = 1 << 24


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows have each combination of values; with weights their sums, and the sums of their squares."""

    values: tuple[tuple[Any, ...], ...]
    counts: np.ndarray
    squares: np.ndarray | None = None

    def __add__(self, other: Tally) -> Tally:
        """The counts of two batches, over the values of both."""
        values = tuple(
            tuple(sorted({*ours, *theirs}, key=lambda value: (str(type(value)), value)))
            for ours, theirs in zip(self.values, other.values, strict=True)
        )
        counts = self._over(values, self.counts) + other._over(values, other.counts)
        if self.squares is None or other.squares is None:
            return Tally(values, counts)
        return Tally(values, counts, self._over(values, self.squares) + other._over(values, other.squares))

    def _over(self, values: tuple[tuple[Any, ...], ...], counts: np.ndarray) -> np.ndarray:
        """The counts among more values."""
        wide = np.zeros([len(axis) for axis in values], counts.dtype)
        places = [[axis.index(value) for value in ours] for axis, ours in zip(values, self.values, strict=True)]
        wide[np.ix_(*places)] = counts
        return wide

    def seen(self, declared: Sequence[int] = ()) -> Tally:
        """Without values that no row has, but for axes whose values were ``declared``."""
        kept = [
            np.arange(size)
            if axis in declared
            else np.flatnonzero(self.counts.any(axis=tuple(j for j in range(self.counts.ndim) if j != axis)))
            for axis, size in enumerate(self.counts.shape)
        ]
        values = tuple(tuple(axis[i] for i in places) for axis, places in zip(self.values, kept, strict=True))
        squares = None if self.squares is None else self.squares[np.ix_(*kept)]
        return Tally(values, self.counts[np.ix_(*kept)], squares)


def tally(columns: Sequence[Codes], weights: np.ndarray | None = None) -> Tally:
    """Count the combinations of codes in one pass."""
    rows = {column.codes.size for column in columns} | ({weights.size} if weights is not None else set())
    if len(rows) > 1:
        raise SchemaError(f"{OWNER}: the columns have different lengths")
    shape = [max(len(column.values), 1) for column in columns]
    size = math.prod(shape)
    if size > MOST_CELLS:
        raise ParameterError(
            f"{OWNER}: the columns have {size:,} combinations of values, {MOST_CELLS:,} is the most; group some first"
        )
    dtype = np.dtype(np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.uint32)
    values = tuple(column.values for column in columns)
    if weights is None:
        counts = np.zeros((4, size), np.int64)
        for cells, _ in _blocks(columns, shape, dtype):
            count_cells(cells, counts)
        return Tally(values, reduce(np.add, counts).reshape(shape))
    sums = np.zeros((2, size))
    for cells, start in _blocks(columns, shape, dtype):
        add_weights(cells, weights[start : start + cells.size], sums)
    return Tally(values, sums[0].reshape(shape), sums[1].reshape(shape))


def _blocks(columns: Sequence[Codes], shape: list[int], dtype: np.dtype[Any]) -> Any:
    """The cells of each block of rows, and its first row."""
    rows = columns[0].codes.size
    room = np.empty(min(rows, ROWS), dtype)
    for start in range(0, rows, ROWS):
        cells = room[: min(ROWS, rows - start)]
        cells[:] = columns[0].codes[start : start + ROWS]
        for column, size in zip(columns[1:], shape[1:], strict=True):
            radix = dtype.type(size % (1 << 8 * dtype.itemsize))  # all before it are zero where it does not fit
            fold_codes(column.codes[start : start + ROWS], radix, cells)
        yield cells, start


def read_weights(values: Any) -> np.ndarray | None:
    """Weights of rows: finite numbers of at least 0."""
    if values is None:
        return None
    from fastdp import validation

    weights = np.ascontiguousarray(validation.floats(OWNER, "weights", values))
    if weights.ndim != 1 or not (np.isfinite(weights) & (weights >= 0)).all():
        raise DomainError(f"{OWNER}: weights must be one finite number >= 0 per row")
    return weights
