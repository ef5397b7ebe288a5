"""Tables of counts over the combinations of several columns; counts of batches add up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp.errors import DomainError, ParameterError, SchemaError
from fastdp.fairness.encoding import OWNER, Codes
from fastdp.kernels.fairness.cells import add_weights, append_codes, count_cells, largest_code
from fastdp.kernels.fairness.truths import BLOCK, count_truths

ROWS = 1 << 18
"""Rows per call of a kernel, of one-byte cells; their cells stay in the second cache, and calls cost little."""
MOST_CELLS = 1 << 24
FEW_GROUPS = 32
"""Groups up to which truth values are counted 64 rows at once."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows have each combination of values; with weights their sums, and the sums of their squares."""

    values: tuple[tuple[Any, ...], ...]
    counts: np.ndarray
    squares: np.ndarray | None = None

    def __add__(self, other: Tally) -> Tally:
        """The counts of two batches, over the values of both."""
        values = tuple(
            ours if ours == theirs else tuple(sorted({*ours, *theirs}, key=lambda value: (str(type(value)), value)))
            for ours, theirs in zip(self.values, other.values, strict=True)
        )
        counts = self._over(values, self.counts) + other._over(values, other.counts)
        if self.squares is None or other.squares is None:
            return Tally(values, counts)
        return Tally(values, counts, self._over(values, self.squares) + other._over(values, other.squares))

    def _over(self, values: tuple[tuple[Any, ...], ...], counts: np.ndarray) -> np.ndarray:
        """The counts among more values."""
        wide = np.zeros([len(axis) for axis in values], counts.dtype)
        where = [{value: place for place, value in enumerate(axis)} for axis in values]
        places = [[found[value] for value in ours] for found, ours in zip(where, self.values, strict=True)]
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
    try:
        return _tally(columns, weights)
    except _MoreValues:
        return _tally([column.exact() for column in columns], weights)


class _MoreValues(Exception):  # noqa: N818
    """A column holds a code beyond those that were guessed."""


def _tally(columns: Sequence[Codes], weights: np.ndarray | None) -> Tally:
    shape = [max(len(column.values), 1) for column in columns]
    size = math.prod(shape)
    if size > MOST_CELLS:
        raise ParameterError(
            f"{OWNER}: the columns have {size:,} combinations of values, {MOST_CELLS:,} is the most; group some first"
        )
    dtype = np.dtype(np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.uint32)
    values = tuple(column.values for column in columns)
    if weights is None and _are_truths(columns, shape):
        return Tally(values, _count_truths(columns, shape))
    if weights is None:
        return Tally(values, _count(_blocks(columns, shape, dtype), size).reshape(shape))
    sums = np.zeros((2, size))
    for cells, start in _blocks(columns, shape, dtype):
        add_weights(cells, weights[start : start + cells.size], sums)
    return Tally(values, sums[0].reshape(shape), sums[1].reshape(shape))


def _are_truths(columns: Sequence[Codes], shape: list[int]) -> bool:
    """Whether the last two columns are bytes with at most two codes, in one piece, and groups before them are few."""
    return (
        len(columns) > 2
        and max(shape[-2:]) <= 2
        and math.prod(shape[:-2]) <= FEW_GROUPS
        and all(one.codes.dtype == np.uint8 and one.codes.flags.c_contiguous for one in columns[-2:])
    )


def _count_truths(columns: Sequence[Codes], shape: list[int]) -> np.ndarray:
    """How often each cell occurs, where the last two columns are truth values and groups are few."""
    first, second = (one.codes for one in columns[-2:])
    counts, words = np.zeros((math.prod(shape[:-2]), 4), np.int64), np.empty((3, BLOCK // 64), np.uint64)
    for groups, start in _blocks(columns[:-2], shape[:-2], np.dtype(np.uint8)):
        rows = slice(start, start + groups.size)
        if not count_truths(groups, first[rows], second[rows], words, counts):
            raise _MoreValues
    rows_of, ones, twos, both = counts.T
    cells = np.stack([rows_of - ones - twos + both, twos - both, ones - both, both], axis=1).reshape(-1, 2, 2)
    if cells[:, shape[-2] :].any() or cells[:, :, shape[-1] :].any():
        raise _MoreValues
    return np.asarray(cells[:, : shape[-2], : shape[-1]].reshape(shape))


def _count(blocks: Iterator[tuple[np.ndarray, int]], size: int) -> np.ndarray:
    """How often each cell occurs."""
    counts = np.zeros((4, size), np.int64)
    for cells, _ in blocks:
        count_cells(cells, counts)
    return np.asarray(counts.sum(axis=0))


def _blocks(columns: Sequence[Codes], shape: list[int], dtype: np.dtype[Any]) -> Iterator[tuple[np.ndarray, int]]:
    """The cells of each block of rows, and its first row; those of one column are its codes themselves."""
    rows, block = columns[0].codes.size, ROWS // dtype.itemsize
    room = np.empty((2, min(rows, block)), dtype)
    told = [one for one in zip(columns, shape, strict=True) if one[1] > 1 or one[0].guessed]  # no stratum of all rows
    for start in range(0, rows, block):
        count = min(block, rows - start)
        keys = room[0, :count]
        for step, (column, size) in enumerate(told):
            codes = column.codes[start : start + count]
            if not step:
                keys, largest = codes, largest_code(codes)
            else:
                radix = dtype.type(size % (1 << 8 * dtype.itemsize))  # all before it are zero where it does not fit
                cells = room[step & 1, :count]
                largest, keys = append_codes(keys, codes, radix, cells), cells
            if largest >= size:
                raise _MoreValues
        if not told or keys.dtype != dtype or not keys.flags.c_contiguous:
            room[0, :count] = keys if told else 0
            keys = room[0, :count]
        yield keys, start


def read_weights(values: Any) -> np.ndarray | None:
    """Weights of rows: finite numbers of at least 0."""
    if values is None:
        return None
    from fastdp import validation

    weights = np.ascontiguousarray(validation.floats(OWNER, "weights", values))
    if weights.ndim != 1 or not (np.isfinite(weights) & (weights >= 0)).all():
        raise DomainError(f"{OWNER}: weights must be one finite number >= 0 per row")
    return weights
