"""Each person's rows together, and bounded: in memory, or through a temporary file where they are too many.

The result is a sum of integers, and which groups of a person are kept follows from the person and its keys alone:
it is the same for any order of the rows, any batches, threads, and with or without the file.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp.kernels.persons import bounding
from fastdp.kernels.persons.parts import count_parts, scatter_rows
from fastdp.kernels.persons.sampling import sum_part
from fastdp.queries.data.buffers import BoundBuffers, Buffers, SumBuffers, borrowed
from fastdp.queries.data.spill import SpillFile
from fastdp.random.rng import Rng
from fastdp.threads import get_threads

PART_ROWS = 1 << 14
"""Rows of a part, about: its records and their copy stay in the second-level cache."""
MOST_BITS = 13
BUCKET_ROWS, SUM_BUCKET_ROWS = 10, 2.5
"""Rows of a bucket, about."""
MEMORY = 256 << 20
"""Bytes of records that are held in memory; of more rows, SPILL_BUFFER bytes at a time."""
SPILL_BUFFER = 48 << 20
EACH = "each"
"""The mode that keeps rows apart: each row of the first few groups of a person, with a number per group."""
MODES = {"sample": bounding.SAMPLE, "L1": bounding.SCALE_L1, "L2": bounding.SCALE_L2, "rows": bounding.ROWS}


@dataclass(frozen=True, slots=True)
class Limits:
    """At most ``groups`` groups per person and ``rows`` rows per group; or, with mode "rows", ``rows`` rows in all.

    Of a person with more groups, "sample" keeps a random few; "L1" and "L2" scale all of them down to that norm; "each"
    keeps the rows of a random few, whose number the caller bounds.
    """

    groups: int
    rows: int
    mode: str = "sample"

    @property
    def is_scaled(self) -> bool:
        """Whether rows and counts come in steps of 2**-16."""
        return self.mode in {"L1", "L2"}


ITSELF = np.empty(0, np.uint64)
"""Tags of codes, or seeds of persons, that do not depend on the order of the data themselves."""
Part = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Records, and where the slices of a part begin and end."""


_idle_arenas: list[np.ndarray] = []
_lock = threading.Lock()


def _take_arena(words: int) -> np.ndarray:
    with _lock:
        return _idle_arenas.pop() if _idle_arenas else np.empty(words, np.uint64)


def _bucket_bits(size: int, rows: float) -> int:
    return min(max(1, round(math.log2(max(1, size / rows)))), 24)


class PersonRows:
    """Collects rows, batch by batch, and gives each part of them with all rows of its persons, bounded."""

    def __init__(self, rng: Rng, widths: np.ndarray, *, expected_rows: int | None = None, memory: int = MEMORY) -> None:
        slots = rng.reserve(1)
        secret = np.frombuffer(slots.key.tobytes()[:16], np.uint64)
        self._key, self._priority_key = secret[0] ^ slots.start, secret[1]
        self._widths = widths
        self._words = 2 + widths.size // 2
        rows = expected_rows if expected_rows is not None else 1 << 24
        self._bits = min(max(1, math.ceil(math.log2(max(1, rows / PART_ROWS)))), MOST_BITS)
        self._memory = memory
        fits = expected_rows is not None and rows * self._words * 8 <= memory
        self._capacity = max(1, (memory if fits else min(memory, SPILL_BUFFER)) // (8 * self._words))
        self._arena: np.ndarray | None = None
        self._filled = 0
        self._starts: list[np.ndarray] = []
        self._ends: list[np.ndarray] = []
        self._pool: ThreadPoolExecutor | None = None
        self._pending: Future[None] | None = None
        self._file: SpillFile | None = None
        self._spilled: list[tuple[int, np.ndarray, np.ndarray]] = []

    def add(self, persons: np.ndarray, codes: np.ndarray, steps: np.ndarray) -> None:
        """One batch: persons as unsigned integers, codes of keys (negative: dropped), and int32 steps per column.

        With several threads the batch is sorted into parts while the caller reads the next one.
        """
        if get_threads() == 1:
            self._add_all(persons, codes, steps)
            return
        self._pool = self._pool or ThreadPoolExecutor(1)
        self._wait()
        self._pending = self._pool.submit(self._add_all, persons, codes, steps)

    def _wait(self) -> None:
        """Until the last batch is in its parts."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def _add_all(self, persons: np.ndarray, codes: np.ndarray, steps: np.ndarray) -> None:
        for start in range(0, persons.size, self._capacity):
            chosen = slice(start, start + self._capacity)
            self._add(persons[chosen], codes[chosen], np.ascontiguousarray(steps[:, chosen]))

    def _add(self, persons: np.ndarray, codes: np.ndarray, steps: np.ndarray) -> None:
        if self._filled + persons.size > self._capacity:
            self._spill()
        shift = np.uint64(64 - self._bits)
        counts = np.zeros(1 << self._bits, np.int64)
        count_parts(persons, codes, self._key, shift, counts)
        ends = np.cumsum(counts) + self._filled
        places = ends - counts
        self._starts.append(places.copy())
        self._ends.append(ends)
        scatter_rows(persons, codes, steps, self._key, shift, places, self._records())
        self._filled = int(ends[-1])

    def _records(self) -> np.ndarray:
        """All records in memory; the memory of an earlier release is used again."""
        if self._arena is None:
            self._arena = _take_arena(self._capacity * self._words)
            if self._arena.size < self._capacity * self._words:
                self._arena = np.empty(self._capacity * self._words, np.uint64)
        return self._arena[: self._capacity * self._words].reshape(self._capacity, self._words)

    def _spill(self) -> None:
        """Write what is in memory to the file, in the order of the parts."""
        self._file = self._file or SpillFile()
        if self._filled:
            start = self._file.append(np.ascontiguousarray(self._records()[: self._filled]))
            width = 8 * self._words
            for firsts, lasts in zip(self._starts, self._ends, strict=True):
                self._spilled.append((start, firsts * width, lasts * width))
        self._starts, self._ends, self._filled = [], [], 0
        if self._capacity * self._words * 8 > SPILL_BUFFER:
            self._capacity, self._arena = max(1, min(self._memory, SPILL_BUFFER) // (8 * self._words)), None

    def bounded(
        self, limits: Limits, use: Callable[[int, np.ndarray, int], None], tags: np.ndarray = ITSELF,
        seeds: np.ndarray = ITSELF,
    ) -> None:  # fmt: skip
        """Call ``use(thread, kept, count)`` for each part, on several threads; each one has its own number.

        An entry of ``kept`` is a code, the persons and rows that count, then each column's places; or, where rows are
        kept apart, a code, a step and the number of the person's group within the part. ``tags`` are words by code
        that do not depend on the order of the data, and ``seeds`` words by person; empty if they are their own.
        """

        def bound(thread: int, part: Part, size: int, room: BoundBuffers) -> None:
            bucket_bits = _bucket_bits(size, BUCKET_ROWS)
            common = *part, self._bits, bucket_bits, tags, seeds, self._key, self._priority_key
            own = room.starts(bucket_bits), room.buffer, room.spare, room.counts, room.short, room.order, room.kept
            if limits.mode == EACH:
                count = bounding.keep_rows(*common, limits.groups, *own)
            else:
                groups = limits.rows if limits.mode == "rows" else limits.groups
                count = bounding.bound_part(*common, groups, limits.rows, MODES[limits.mode], self._widths, *own)
            use(thread, room.kept, int(count))

        self._each_part(bound, BoundBuffers, self._words + 1, 3 + int(self._widths.sum()))

    def add_to(self, sums: Sequence[np.ndarray], limits: Limits, tags: np.ndarray, seeds: np.ndarray) -> None:
        """Add what counts of each person to the sums of its thread: a random few groups, of one column at most."""

        def add(thread: int, part: Part, size: int, room: SumBuffers) -> None:
            bucket_bits = _bucket_bits(size, SUM_BUCKET_ROWS)
            sum_part(
                *part, self._bits, bucket_bits, tags, seeds, self._key, self._priority_key, limits.groups, limits.rows,
                self._widths, room.starts(bucket_bits), room.buffer, room.short, room.ordered, room.ranked, room.wide,
                room.spare, room.counts, room.entries, sums[thread],
            )  # fmt: skip

        self._each_part(add, SumBuffers)

    def _each_part(self, work: Callable[[int, Part, int, Any], None], kind: type[Buffers], *shape: int) -> None:
        """Call ``work`` for each part, on several threads, with the thread's number, and buffers of this kind."""
        self._wait()
        if self._file is not None:
            self._spill()
        sizes = self._sizes()
        largest = int(sizes.max(initial=0))
        threads = min(get_threads(), max(1, int(sizes.sum()) // (4 * PART_ROWS)))
        todo = iter(np.flatnonzero(sizes).tolist())
        guard = threading.Lock()
        self._firsts = np.ascontiguousarray(np.array(self._starts).T)
        self._lasts = np.ascontiguousarray(np.array(self._ends).T)

        def run(thread: int) -> None:
            with borrowed(kind, largest, *shape) as room:
                while True:
                    with guard:
                        part = next(todo, None)
                    if part is None:
                        return
                    size = int(sizes[part])
                    work(thread, self._part(part, size, room), size, room)

        if threads == 1:
            run(0)
            return
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(run, thread) for thread in range(threads)]:
                done.result()

    def _sizes(self) -> np.ndarray:
        sizes = np.zeros(1 << self._bits, np.int64)
        for firsts, lasts in zip(self._starts, self._ends, strict=True):
            sizes += lasts - firsts
        for _, firsts, lasts in self._spilled:
            sizes += (lasts - firsts) // (8 * self._words)
        return sizes

    def _part(self, part: int, size: int, room: Buffers) -> Part:
        """The records of a part, and where its slices begin and end."""
        if self._file is None:
            return self._records(), self._firsts[part], self._lasts[part]
        records = room.spare.reshape(-1)[: size * self._words].reshape(size, self._words)
        return self._read(part, records), np.zeros(1, np.int64), np.array([size])

    def _read(self, part: int, out: np.ndarray) -> np.ndarray:
        """The records of one part, slice by slice, from the file."""
        assert self._file is not None
        at = 0
        for start, firsts, lasts in self._spilled:
            rows = int(lasts[part] - firsts[part]) // (8 * self._words)
            if rows:
                self._file.read(start + int(firsts[part]), out[at : at + rows])
                at += rows
        return out

    def close(self) -> None:
        """Give memory and disk back; records are personal data, so memory that is kept for reuse stays private."""
        if self._pool is not None:
            self._pool.shutdown()
        if self._file is not None:
            self._file.close()
        if self._arena is not None and self._arena.size * 8 <= MEMORY:
            with _lock:
                _idle_arenas[:] = [self._arena]
        self._arena = None
