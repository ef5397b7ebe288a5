"""Rows to integer sums per group, bounded per person: the one pass over the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fastdp.kernels.persons.bounding import add_kept
from fastdp.kernels.persons.steps import add_clamped, add_clamped_sum, add_rows
from fastdp.queries.data.codes import IntegerTable, Table, make_table, nulls_of, words_of
from fastdp.queries.data.keys import Keys, OneGroup
from fastdp.queries.data.measures import Measure
from fastdp.queries.data.persons import Limits, PersonRows
from fastdp.random.rng import Rng
from fastdp.threads import get_threads

if TYPE_CHECKING:
    import pyarrow as pa


ROWS = 1 << 19
"""Rows that are coded at once: their codes and steps are in the caches, in pages that were used before."""


class Persons:
    """Who a row is about: an identity that no two persons share, and a seed that no order of the data changes."""

    def __init__(self, owner: str, schema: pa.Schema, column: str, seed: int) -> None:
        self.column = column
        table = make_table(owner, column, schema.field(column).type, seed)
        self._table: Table | None = None if isinstance(table, IntegerTable) else table

    @property
    def seeds(self) -> np.ndarray:
        """The seed of each identity, as uint64; empty where identities are their own."""
        return np.empty(0, np.uint64) if self._table is None else self._table.tags

    def read(self, batch: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray | None]:
        """Identities, as unsigned integers, and where there is no person, None if nowhere."""
        array = batch.column(self.column)
        words = words_of(array)
        if self._table is None:
            return np.ascontiguousarray(words).view(np.uint64), nulls_of(array)
        codes = self._table.find(words, is_open=True)
        return codes.view(np.uint32), nulls_of(array)


class Tally:
    """Sums of one query: batches in any order and size, then the same integers.

    Places of the sums: persons, rows, then the places of each measure.
    """

    def __init__(
        self, keys: Keys, measures: Sequence[Measure], *, persons: Persons | None, limits: Limits, rng: Rng,
        expected_rows: int | None, memory: int | None = None,
    ) -> None:  # fmt: skip
        self.keys, self.measures, self._persons, self._limits = keys, list(measures), persons, limits
        self._widths = np.array([measure.width for measure in measures], np.int64)
        self._sums = np.zeros((max(keys.size, 1), self._places), np.int64)
        more = {} if memory is None else {"memory": memory}
        self._rows = None if persons is None else PersonRows(rng, self._widths, expected_rows=expected_rows, **more)

    @property
    def _places(self) -> int:
        return 2 + int(self._widths.sum())

    @property
    def columns(self) -> list[str]:
        """The columns that it reads."""
        person = [] if self._persons is None else [self._persons.column]
        return list(dict.fromkeys([*self.keys.columns, *person, *(measure.column for measure in self.measures)]))

    def add(self, batch: pa.RecordBatch) -> None:
        """One batch of rows."""
        if self._rows is None and isinstance(self.keys, OneGroup):
            self._add_to_one(batch)
            return
        for start in range(0, batch.num_rows, ROWS):
            self._add_some(batch.slice(start, ROWS))

    def _add_some(self, batch: pa.RecordBatch) -> None:
        codes = self.keys.find(batch)
        steps = np.empty((len(self.measures), batch.num_rows), np.int32)
        for measure, out in zip(self.measures, steps, strict=True):
            measure.write_steps(batch.column(measure.column), out)
        if self._rows is None:
            self._sums = _with_rows(self._sums, self.keys.size)
            add_rows(codes, steps, self._widths, self._sums)
            return
        assert self._persons is not None
        identities, absent = self._persons.read(batch)
        if absent is not None:
            codes = np.where(absent, np.int32(-1), codes)
        self._rows.add(identities, codes, steps)

    def _add_to_one(self, batch: pa.RecordBatch) -> None:
        """Rows of one group without persons: straight from the column's own buffer."""
        self._sums[0, 1] += batch.num_rows
        place = 2
        for measure in self.measures:
            values, sums = measure.numbers(batch.column(measure.column)), np.zeros(3, np.int64)
            ends = values, measure.low, measure.high, 1 / measure.grid
            if measure.width == 3 or measure.centre:
                add_clamped(*ends, measure.centre, sums)
            else:
                add_clamped_sum(*ends, sums)
            self._sums[0, place : place + measure.width] += sums[1:2] if measure.width == 1 else sums[: measure.width]
            place += measure.width

    def finish(self) -> np.ndarray:
        """The sums, one row per group."""
        if self._rows is None:
            return _with_rows(self._sums, self.keys.size)[: self.keys.size]
        assert self._persons is not None
        size, names = max(self.keys.size, 1), (self.keys.tags, self._persons.seeds)
        sums = [np.zeros((size, self._places), np.int64) for _ in range(get_threads())]
        try:
            if self._limits.mode == "sample" and self._widths.size <= 1 and self._places <= 4:
                self._rows.add_to(sums, self._limits, *names)
            else:
                self._rows.bounded(
                    self._limits, lambda thread, kept, count: add_kept(kept, count, sums[thread]), *names
                )
        finally:
            self._rows.close()
        total = sums[0]
        for one in sums[1:]:
            total += one
        return total[: self.keys.size]


def _with_rows(sums: np.ndarray, size: int) -> np.ndarray:
    """The sums with room for at least ``size`` groups."""
    if sums.shape[0] >= size:
        return sums
    larger = np.zeros((max(size, 2 * sums.shape[0]), sums.shape[1]), np.int64)
    larger[: sums.shape[0]] = sums
    return larger
