"""Run a selection over a column of scores: passes over its blocks, and the few exact draws that decide."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np

from fastdp.columns.numeric import NumericColumn, read_numeric
from fastdp.engine.runner import working_memory
from fastdp.errors import DomainError, ParameterError, SchemaError
from fastdp.kernels.selection import acceptances, scores
from fastdp.kernels.stream.words import Scratch
from fastdp.laws.central.selection import SelectionLaw
from fastdp.random.integers import Integers
from fastdp.random.rng import Slots
from fastdp.typing import Column

TRIES = 8
"""Candidates looked up in one go: about three in four are kept."""
LARGEST_UNSIGNED = np.uint64((1 << 63) - 1)


class Scores:
    """The scores of candidates, in steps of the grid that ``law`` is for; integers are steps of 1, under its rescaling.

    ``granularity`` is a power of two, the width of a step of ``law``.
    """

    def __init__(self, owner: str, values: Column, law: SelectionLaw, granularity: float) -> None:
        self._owner = owner
        self._column, is_integer = _read(owner, values)
        if not self._column.size:
            raise ParameterError(f"{owner}: scores must hold at least one candidate")
        self._inverse = 1.0 if is_integer else 1 / granularity
        self._law = law.rescaled(-round(np.log2(granularity))) if is_integer else law
        self._skipped = np.empty(0, np.int64)

    @property
    def size(self) -> int:
        return self._column.size

    def choose(self, count: int, slots: Slots) -> list[int]:
        """The indices of ``count`` candidates, drawn by weight one after the other without replacement.

        Draws that repeat an earlier choice are dropped, which is the same as drawing among the rest.
        """
        integers = Integers(slots)
        chosen: list[int] = []
        while len(chosen) < count:
            self._skipped = np.sort(np.array(chosen, np.int64))
            chosen += self._draw(count - len(chosen), integers)
        return chosen

    def _draw(self, wanted: int, integers: Integers) -> list[int]:
        """Up to ``wanted`` candidates that were not chosen before, in the order of their draws."""
        largest = self._largest()
        counts = self._count_gaps(largest)
        totals = [int(total) for total in counts.sum(axis=0)]
        weights = list(accumulate(t * w for t, w in zip(totals, self._law.bucket_weights(), strict=True)))
        found: list[int] = []
        for _ in range(TRIES * wanted):
            bucket = bisect_right(weights, integers.below(weights[-1]))
            index, gap = self._find(largest, counts, bucket, integers.below(totals[bucket]))
            if self._law.accepts(gap - (bucket << self._law.shift), integers) and index not in found:
                found.append(index)
                if len(found) == wanted:
                    break
        return found

    def accept_one(self, slots: Slots) -> int:
        """One of the candidates that were accepted independently with e**-(rate * gap), uniformly: permute-and-flip.

        The candidate at index i reads the words of slot i; the slot after the last one chooses among them.
        """
        largest = self._largest()
        shift, sure, possible = self._law.acceptances()
        sums, settled = [], []
        for first, block in self._blocks():
            slot = slots.start + np.uint64(first)
            with working_memory() as memory:
                arguments = (block, self._inverse, largest, shift, sure)
                undecided = memory.noise[: block.size]
                accepted, count = acceptances.count_accepted(
                    slots.key, slot, *arguments, possible, memory.scratch, undecided
                )
                settled.append(self._settle(slots.key, slot, block, largest, undecided[:count], memory.scratch))
            sums.append(accepted + settled[-1].size)
        totals = list(accumulate(map(int, sums)))
        rank = Integers(Slots(slots.key, slots.start + np.uint64(self.size))).below(totals[-1])
        number = bisect_right(totals, rank)
        first, block = next(pair for at, pair in enumerate(self._blocks()) if at == number)
        with working_memory() as memory:
            found = acceptances.find_accepted(
                slots.key, slots.start + np.uint64(first), block, self._inverse, largest, shift, sure, settled[number],
                memory.scratch, rank - (totals[number - 1] if number else 0),
            )  # fmt: skip
        return first + int(found)

    def _settle(
        self, key: np.ndarray, slot: Any, block: np.ndarray, largest: int, undecided: np.ndarray, scratch: Scratch
    ) -> np.ndarray:
        """Which of the undecided candidates are accepted, by further bits of their own slots."""
        found = []
        for index in undecided:
            own = Slots(key, slot + np.uint64(index))
            word = acceptances.read_word(own.key, own.start, scratch)
            gap = largest - scores.find_largest(block[index : index + 1], self._inverse, self._skipped[:0])[0]
            if self._law.settles(int(gap), int(word), Integers(own)):
                found.append(index)
        return np.array(found, np.int64)

    def _blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """The index of the first candidate of each block, and the scores in it."""
        first = 0
        for block in self._column.blocks(self._owner):
            yield first, _widened(block)
            first += block.size

    def _skip(self, first: int, block: np.ndarray) -> np.ndarray:
        """The candidates of a block that were chosen before."""
        start, stop = np.searchsorted(self._skipped, [first, first + block.size])
        return self._skipped[start:stop] - first

    def _largest(self) -> int:
        """The largest step; scores that are not finite are refused."""
        found = [scores.find_largest(block, self._inverse, self._skip(first, block)) for first, block in self._blocks()]
        if not all(finite for _, finite in found):
            raise DomainError(f"{self._owner}: scores must be finite; give candidates to leave out no score at all")
        return max(int(best) for best, _ in found)

    def _count_gaps(self, largest: int) -> np.ndarray:
        """How many candidates of each block lie in each bucket of gaps."""
        law, rows = self._law, []
        tables = np.zeros((4, law.buckets), np.int64)
        for first, block in self._blocks():
            counts = np.zeros(law.buckets, np.int64)
            skip = self._skip(first, block)
            scores.count_gaps(block, self._inverse, largest, law.shift, skip, tables, counts)
            rows.append(counts)
        return np.array(rows)

    def _find(self, largest: int, counts: np.ndarray, bucket: int, rank: int) -> tuple[int, int]:
        """The index and the gap of the candidate with that rank in its bucket."""
        ends = counts[:, bucket].cumsum()
        number = int(np.searchsorted(ends, rank, side="right"))
        first, block = next(pair for at, pair in enumerate(self._blocks()) if at == number)
        before = int(ends[number - 1]) if number else 0
        law, skip = self._law, self._skip(first, block)
        index, gap = scores.find_rank(
            block, self._inverse, largest, law.shift, skip, law.buckets - 1, bucket, rank - before
        )
        return first + int(index), int(gap)


def _widened(block: np.ndarray) -> np.ndarray:
    """Scores as one of the three types that kernels are compiled for."""
    if block.dtype == np.uint64:
        block = np.minimum(block, LARGEST_UNSIGNED)
    if block.dtype.kind == "f":
        return block.astype(np.float64, copy=False)
    return block.astype(np.int64 if block.dtype in (np.int64, np.uint32, np.uint64) else np.int32, copy=False)


def _read(owner: str, values: Any) -> tuple[NumericColumn, bool]:
    """The scores as a column, and whether they are integers."""
    try:
        return read_numeric(owner, values, "integer"), True
    except SchemaError:
        return read_numeric(owner, values, "float"), False
