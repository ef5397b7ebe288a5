"""Classes of rows with equal codes: a direct table where the key space is small, else buckets of hashed keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fastdp.anonymity.coding.codes import Codes, code_type
from fastdp.kernels.classes.buckets import (
    count_buckets,
    list_entries,
    number_classes,
    scatter,
    scatter_pairs,
    scatter_rows,
    size_classes,
    table_mask,
)
from fastdp.kernels.classes.diversity import FIGURES, SUMMARY, fold_entries, fold_table
from fastdp.kernels.classes.keys import add_weights, count_keys, count_narrow, count_sizes
from fastdp.kernels.fairness.cells import append_codes, fold_codes, largest_code

LARGEST_TABLE = 1 << 24
"""Cells of a direct table."""
WIDE_TABLE = 1 << 16
"""Cells from which on counts are bytes at first, so that more of them stay in the second cache."""
BLOCK = 1 << 15
"""Rows whose keys are packed at once: they stay in the second cache until they are counted."""
BUCKET = 1 << 12
"""Rows that a bucket aims at."""
WORD = 1 << 64
SMALL_SIZES = 1 << 12


@dataclass(frozen=True, slots=True)
class Shares:
    """How the values of a sensitive column are distributed in the whole table, as kernels read it."""

    counts: np.ndarray
    shares: np.ndarray
    logs: np.ndarray
    below: np.ndarray
    area: np.ndarray

    @classmethod
    def of(cls, counts: np.ndarray) -> Shares:
        """From how often each value occurs, all of them at least once."""
        whole = counts.sum()
        below = np.cumsum(counts) / whole
        return cls(
            counts, counts / whole, np.log(counts) - math.log(whole), below, np.concatenate([[0.0], np.cumsum(below)])
        )


def lay_out(shares: Sequence[Shares]) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Where each sensitive column's values begin, and the shares of all one after another, as kernels read them."""
    starts = np.concatenate([[0], np.cumsum([one.counts.size for one in shares])]).astype(np.int64)
    parts = [[one.shares, one.logs, one.below, one.area] for one in shares]
    rows = [np.concatenate(row) for row in zip(*parts, strict=True)] if parts else [np.zeros(1)] * 4
    return starts, (rows[0], rows[1], rows[2], rows[3])


class Grouping(Protocol):
    """The values of a sensitive column in every class."""

    def fold(self, shares: Shares, depth: int) -> np.ndarray:
        """The worst figure of any class, and sums over classes, in the order of ``kernels.classes.diversity``."""

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Of two values: how often each occurs in every class."""


def _new_summary() -> np.ndarray:
    summary = np.zeros(SUMMARY)
    summary[:3] = np.inf
    return summary


@dataclass(frozen=True, slots=True)
class Table:
    """Counts [key, value]; keys that no row has are rows of zeros."""

    counts: np.ndarray

    def fold(self, shares: Shares, depth: int) -> np.ndarray:
        known, summary = self.counts.shape[1], _new_summary()
        fold_table(
            self.counts, depth, shares.shares, shares.logs, shares.below, shares.area, np.empty(known, np.int64),
            np.empty(known, np.int64), np.empty(max(depth, 1), np.int64), np.empty(FIGURES), summary,
        )  # fmt: skip
        return summary

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        seen = self.counts[self.counts.any(axis=1)]
        return seen[:, 0].astype(np.int64), seen[:, 1].astype(np.int64)


@dataclass(frozen=True, slots=True)
class Entries:
    """The distinct values of every class, ascending, with their counts; class c is offsets[c] to offsets[c + 1]."""

    offsets: np.ndarray
    values: np.ndarray
    counts: np.ndarray

    def fold(self, shares: Shares, depth: int) -> np.ndarray:
        summary = _new_summary()
        fold_entries(
            self.offsets, self.values, self.counts, depth, shares.shares, shares.logs, shares.below, shares.area,
            np.empty(max(depth, 1), np.int64), np.empty(FIGURES), summary,
        )  # fmt: skip
        return summary

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        owner = np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))
        counts = np.zeros((2, self.offsets.size - 1), np.int64)
        counts[self.values, owner] = self.counts
        return counts[0], counts[1]


def space_of(columns: Sequence[Codes]) -> int:
    """How many combinations of codes there can be."""
    return math.prod(column.size for column in columns)


def is_small(cells: int, rows: int) -> bool:
    """Whether a direct table beats hashing."""
    return cells <= min(LARGEST_TABLE, max(1 << 16, 4 * rows))


class _MoreValues(Exception):  # noqa: N818
    """A column holds a code beyond the size that was guessed."""


def class_sizes(columns: Sequence[Codes], weights: np.ndarray | None) -> np.ndarray:
    """The size of every class, in no particular order; a direct table has zeros in between."""
    try:
        return _class_sizes(columns, weights)
    except _MoreValues:
        return _class_sizes([column.exact() for column in columns], weights)


def _class_sizes(columns: Sequence[Codes], weights: np.ndarray | None) -> np.ndarray:
    rows, cells = columns[0].codes.size, space_of(columns)
    if is_small(cells, rows):
        return _fill_table(columns, weights, cells)
    if weights is not None:
        ids, first = number_rows(columns)
        return np.bincount(ids, weights, first.size).astype(np.int64)
    keys = pack(columns)
    shift, start = _buckets(keys)
    hashes = np.empty(rows, np.uint64)
    scatter(keys, shift, start, hashes)
    room = _room(start)
    sizes = np.empty(rows, np.uint32 if rows < 1 << 32 else np.int64)
    found = size_classes(hashes, start, np.empty(room, np.uint64), np.zeros(room, sizes.dtype), sizes)
    return sizes[:found]


def group_values(columns: Sequence[Codes], sensitive: Codes, weights: np.ndarray | None) -> Grouping:
    """The values of a sensitive column in every class."""
    try:
        return _group_values(columns, sensitive.exact(), weights)
    except _MoreValues:
        return _group_values([column.exact() for column in columns], sensitive.exact(), weights)


def _group_values(columns: Sequence[Codes], sensitive: Codes, weights: np.ndarray | None) -> Grouping:
    rows, cells = columns[0].codes.size, space_of(columns) * sensitive.size
    if is_small(cells, rows):
        return Table(_fill_table(columns, weights, cells, [sensitive]).reshape(-1, sensitive.size))
    if weights is not None:
        ids, first = number_rows(columns)
        return weighted_entries(ids, first.size, sensitive, weights)
    keys = pack(columns)
    shift, start = _buckets(keys)
    hashes, beside = np.empty(rows, np.uint64), np.empty(rows, sensitive.codes.dtype)
    scatter_pairs(keys, sensitive.codes, shift, start, hashes, beside)
    room, largest = _room(start), _largest(start)
    offsets, counts = np.empty(rows + 1, np.int64), np.empty(rows, np.int64)
    values = np.empty(rows, sensitive.codes.dtype)
    found = list_entries(
        hashes, beside, start, np.empty(room, np.uint64), np.full(room, -1, np.int64), np.empty(largest, np.int64),
        np.empty(largest, np.int64), np.empty(largest + 1, np.int64), np.zeros(sensitive.size, np.int64), offsets,
        values, counts,
    )  # fmt: skip
    last = offsets[found]
    return Entries(offsets[: found + 1], values[:last], counts[:last])


def weighted_entries(ids: np.ndarray, classes: int, sensitive: Codes, weights: np.ndarray) -> Entries:
    """The values of every numbered class, from distinct rows."""
    owner = Codes("", ids, classes, 0, sensitive.kind)
    pair_ids, first = number_rows([owner, sensitive])
    totals = np.bincount(pair_ids, weights, first.size).astype(np.int64)
    order = np.lexsort((sensitive.codes[first], ids[first]))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(ids[first], minlength=classes))])
    return Entries(offsets, sensitive.codes[first][order], totals[order])


def _fill_table(
    columns: Sequence[Codes], weights: np.ndarray | None, cells: int, last: Sequence[Codes] = ()
) -> np.ndarray:
    """Counts of all combinations, in one pass: keys are packed a block at a time and counted from the cache.

    Columns of few values come first, so that most digits are appended in bytes; those in ``last`` stay last.
    """
    ordered = [*sorted(columns, key=lambda column: column.size), *last]
    rows = ordered[0].codes.size
    wide = np.int64 if weights is not None or rows >= 1 << 32 else np.uint32
    counts, narrow = np.zeros(cells, wide), np.zeros(cells if weights is None and cells >= WIDE_TABLE else 0, np.uint8)
    room = {kind: np.empty((2, min(rows, BLOCK)), kind) for kind in (np.uint8, np.uint16, np.uint32)}
    steps, size = [], ordered[0].size
    for j, column in enumerate(ordered[1:]):
        size *= column.size
        kind = code_type(size).type
        steps.append((column, kind(column.size % (1 << 8 * np.dtype(kind).itemsize)), room[kind][j & 1]))
    for start in range(0, rows, BLOCK):
        stop = min(start + BLOCK, rows)
        keys = ordered[0].codes[start:stop]
        if largest_code(keys) >= ordered[0].size:
            raise _MoreValues
        for column, radix, place in steps:
            appended = place[: stop - start]
            if append_codes(keys, column.codes[start:stop], radix, appended) >= column.size:
                raise _MoreValues
            keys = appended
        if weights is not None:
            add_weights(keys, weights[start:stop], counts)
        elif narrow.size:
            count_narrow(keys, narrow, counts)
        else:
            count_keys(keys, counts)
    if narrow.size:
        np.left_shift(counts, 8, out=counts)
        np.add(counts, narrow, out=counts)
    return counts


def pack(columns: Sequence[Codes]) -> np.ndarray:
    """One 64-bit key per row, equal where all codes are; columns beyond 64 bits are numbered as classes first."""
    columns = [column.exact() for column in columns]
    keys, size = columns[0].codes.astype(np.uint64), columns[0].size
    for column in columns[1:]:
        if size * column.size > WORD:
            keys, first = _number_keys(keys)
            keys, size = keys.astype(np.uint64), first.size
        fold_codes(column.codes, np.uint64(column.size), keys)
        size *= column.size
    return keys


def number_rows(columns: Sequence[Codes]) -> tuple[np.ndarray, np.ndarray]:
    """The number of each row's class, and the first row of every class."""
    return _number_keys(pack(columns))


def _number_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = keys.size
    shift, start = _buckets(keys)
    kind = np.uint32 if rows < 1 << 32 else np.int64
    hashes, order = np.empty(rows, np.uint64), np.empty(rows, kind)
    scatter_rows(keys, shift, start, hashes, order)
    room = _room(start)
    ids, first = np.empty(rows, kind), np.empty(rows, np.int64)
    found = number_classes(hashes, order, start, np.empty(room, np.uint64), np.full(room, -1, np.int64), ids, first)
    return ids, first[:found]


def _buckets(keys: np.ndarray) -> tuple[Any, np.ndarray]:
    """How far hashes are shifted to give their bucket, and where each bucket begins."""
    bits = max(1, math.ceil(math.log2(max(keys.size, 2) / BUCKET))) if keys.size > BUCKET else 1
    shift = np.uint64(64 - bits)
    counts = np.zeros(1 << bits, np.int64)
    count_buckets(keys, shift, counts)
    return shift, np.concatenate([[0], np.cumsum(counts)[:-1]])


def _largest(ends: np.ndarray) -> int:
    return int(np.diff(ends, prepend=0).max())


def _room(ends: np.ndarray) -> int:
    """Places that the table of the largest bucket needs."""
    return int(table_mask(_largest(ends))) + 1


def size_histogram(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct class sizes, ascending, and how many classes have each."""
    histogram = np.zeros(SMALL_SIZES, np.int64)
    large = np.empty(int(sizes.sum(dtype=np.int64)) // SMALL_SIZES + 1, np.int64)
    found = count_sizes(sizes, histogram, large)
    histogram[0] = 0
    few = np.flatnonzero(histogram)
    many, counts = np.unique(large[:found], return_counts=True)
    return np.concatenate([few, many]), np.concatenate([histogram[few], counts])
