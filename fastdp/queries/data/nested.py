"""Rows of groups, apart from one another: at most so many of each person in each group, for ranks and distinct values.

Which rows of a person count follows from that person's rows alone, so that nobody else's can move them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fastdp.kernels.persons.steps import NULL
from fastdp.queries.data.keys import Keys
from fastdp.queries.data.persons import Limits, PersonRows
from fastdp.queries.data.tally import Persons

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng

_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


class NestedRows:
    """Collects a group and a step for each row, batch by batch; a step of NULL is no row.

    ``distinct`` counts equal steps of a person in a group as one row.
    """

    def __init__(
        self, keys: Keys, persons: Persons | None, limits: Limits, rng: Rng, expected_rows: int | None, *,
        distinct: bool,
    ) -> None:  # fmt: skip
        self._keys, self._persons, self._limits, self._distinct = keys, persons, limits, distinct
        self._pieces: list[np.ndarray] = []
        self._rows = None
        if persons is not None:
            self._rows = PersonRows(rng, np.ones(1, np.int64), expected_rows=expected_rows)

    def add(self, batch: pa.RecordBatch, codes: np.ndarray, steps: np.ndarray) -> None:
        """One batch of rows."""
        if self._rows is None or self._persons is None:
            present = (codes >= 0) & (steps != NULL)
            self._pieces.append(_join(codes[present], steps[present]))
            return
        identities, absent = self._persons.read(batch)
        if absent is not None:
            codes = np.where(absent, np.int32(-1), codes)
        self._rows.add(identities, codes, steps[None, :])

    def finish(self, tags: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Groups and steps of all rows that count, in ascending order; ``tags`` are words by step, else steps are."""
        if self._rows is not None:
            assert self._persons is not None
            names = self._keys.tags, self._persons.seeds

            def use(_thread: int, kept: np.ndarray, count: int) -> None:
                self._pieces.append(self._bound(kept[:count], tags))

            try:
                self._rows.bounded(self._limits, use, *names)
            finally:
                self._rows.close()
        pairs = np.concatenate(self._pieces) if self._pieces else np.empty(0, np.int64)
        pairs = np.unique(pairs) if self._distinct else np.sort(pairs)
        return pairs >> 32, (pairs & 0xFFFFFFFF).astype(np.int32)

    def _bound(self, kept: np.ndarray, tags: np.ndarray | None) -> np.ndarray:
        """The rows that count of one part: of a group with more, those whose keyed images come first."""
        if self._distinct and len(kept):
            kept = kept[np.lexsort((kept[:, 1], kept[:, 2]))]
            is_new = np.ones(len(kept), bool)
            is_new[1:] = (np.diff(kept[:, 1]) != 0) | (np.diff(kept[:, 2]) != 0)
            kept = kept[is_new]
        pairs = _join(kept[:, 0], kept[:, 1])
        _, sizes = np.unique(kept[:, 2], return_counts=True)
        if sizes.max(initial=0) <= self._limits.rows:
            return pairs
        words = kept[:, 1].astype(np.uint64) if tags is None else tags[kept[:, 1]]
        order = np.lexsort((_mixed(words, kept[:, 3].view(np.uint64)), kept[:, 2]))
        place = np.arange(order.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return pairs[order[place < self._limits.rows]]


def _join(codes: np.ndarray, steps: np.ndarray) -> np.ndarray:
    return (codes.astype(np.int64) << 32) | steps.astype(np.int64)


def _mixed(words: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """A bijection of each word by its key: that of `kernels.persons.mixing`."""
    words = (words ^ keys) * _FIRST
    words ^= words >> np.uint64(32)
    words *= _SECOND
    return np.asarray(words ^ (words >> np.uint64(29)))
