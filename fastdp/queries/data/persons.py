"""Each person's rows together, and bounded: in memory, or through a temporary file where they are too many.

The result is a sum of integers, and which groups of a person are kept follows from the person and its keys alone:
it is the same for any order of the rows, any batches, threads, and with or without the file.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from fastdp.kernels.persons import bounding
from fastdp.kernels.persons.ordering import FEW, RADIX
from fastdp.kernels.persons.parts import count_parts, scatter_rows
from fastdp.queries.data.spill import SpillFile
from fastdp.random.rng import Rng
from fastdp.threads import get_threads

PART_ROWS = 1 << 14
"""Rows of a part, about: its records and their copy stay in the second-level cache."""
MOST_BITS = 13
BUCKET_ROWS = 10
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


class _Buffers:
    """Working memory of one part; fresh pages cost more than the work on them, so it is used again."""

    def __init__(self, rows: int, words: int, places: int) -> None:
        self.rows, self.words, self.places = rows, words, places
        self.buffer = np.empty((rows, words), np.uint64)
        self.spare = np.empty((rows, words), np.uint64)
        self.order = np.empty(max(rows, FEW), np.int64)
        self.kept = np.empty((rows + 1, places), np.int64)
        self.counts = np.empty((2, RADIX), np.int64)
        self.short = np.empty(FEW, np.uint64)

    def fits(self, rows: int, words: int, places: int) -> bool:
        return self.rows >= rows and (self.words, self.places) == (words, places)


_idle_arenas: list[np.ndarray] = []
_idle_buffers: list[_Buffers] = []
_lock = threading.Lock()


@contextlib.contextmanager
def _buffers(rows: int, words: int, places: int) -> Iterator[_Buffers]:
    """Buffers of at least these sizes, from the last release where they fit."""
    with _lock:
        chosen = next((one for one in _idle_buffers if one.fits(rows, words, places)), None)
        if chosen is not None:
            _idle_buffers.remove(chosen)
    made = chosen or _Buffers(rows, words, places)
    try:
        yield made
    finally:
        with _lock:
            _idle_buffers[:] = [made, *_idle_buffers][: 2 * get_threads()]


def _take_arena(words: int) -> np.ndarray:
    with _lock:
        return _idle_arenas.pop() if _idle_arenas else np.empty(words, np.uint64)


class PersonRows:
    """Collects rows, batch by batch, and gives each part of them with all rows of its persons, bounded."""

    def __init__(self, rng: Rng, widths: np.ndarray, *, expected_rows: int | None = None, memory: int = MEMORY) -> None:
        slots = rng.reserve(1)
        secret = np.frombuffer(slots.key.tobytes()[:16], np.uint64)
        self._key, self._priority_key = secret[0] ^ slots.start, secret[1]
        self._widths = widths
        self._words = 3 + widths.size // 2
        rows = expected_rows if expected_rows is not None else 1 << 24
        self._bits = min(max(1, math.ceil(math.log2(max(1, rows / PART_ROWS)))), MOST_BITS)
        self._memory = memory
        fits = rows * self._words * 8 <= memory
        self._capacity = max(1, (memory if fits else min(memory, SPILL_BUFFER)) // (8 * self._words))
        self._arena: np.ndarray | None = None
        self._filled = 0
        self._starts: list[np.ndarray] = []
        self._ends: list[np.ndarray] = []
        self._pool: ThreadPoolExecutor | None = None
        self._pending: Future[None] | None = None
        self._file: SpillFile | None = None
        self._spilled: list[tuple[int, np.ndarray, np.ndarray]] = []

    def add(
        self, persons: np.ndarray, seeds: np.ndarray, codes: np.ndarray, tags: np.ndarray | None, steps: np.ndarray
    ) -> None:
        """One batch of rows: persons as uint64, codes of keys (negative: dropped), and int32 steps per column.

        ``tags`` are words by code that do not depend on the order of the data; None if codes themselves do not. With
        several threads the batch is sorted into parts while the caller reads the next one.
        """
        tags = np.empty(0, np.uint64) if tags is None else tags
        if get_threads() == 1:
            self._add_all(persons, seeds, codes, tags, steps)
            return
        self._pool = self._pool or ThreadPoolExecutor(1)
        self._wait()
        self._pending = self._pool.submit(self._add_all, persons, seeds, codes, tags, steps)

    def _wait(self) -> None:
        """Until the last batch is in its parts."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def _add_all(
        self, persons: np.ndarray, seeds: np.ndarray, codes: np.ndarray, tags: np.ndarray, steps: np.ndarray
    ) -> None:
        for start in range(0, persons.size, self._capacity):
            chosen = slice(start, start + self._capacity)
            self._add(persons[chosen], seeds[chosen], codes[chosen], tags, np.ascontiguousarray(steps[:, chosen]))

    def _add(
        self, persons: np.ndarray, seeds: np.ndarray, codes: np.ndarray, tags: np.ndarray, steps: np.ndarray
    ) -> None:
        if self._filled + persons.size > self._capacity:
            self._spill()
        shift = np.uint64(64 - self._bits)
        counts = np.zeros(1 << self._bits, np.int64)
        count_parts(persons, codes, self._key, shift, counts)
        ends = np.cumsum(counts) + self._filled
        places = ends - counts
        self._starts.append(places.copy())
        self._ends.append(ends)
        arguments = persons, seeds, codes, tags, steps, self._key, self._priority_key, shift, places
        scatter_rows(*arguments, self._records())
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

    def bounded(self, limits: Limits, use: Callable[[int, np.ndarray, int], None]) -> None:
        """Call ``use(thread, kept, count)`` for each part, on several threads; each one has its own number.

        An entry of ``kept`` is a code, the persons and rows that count, then each column's places; or, where rows are
        kept apart, a code, a step and the number of the person's group within the part.
        """
        self._wait()
        if self._file is not None:
            self._spill()
        sizes = self._sizes()
        largest = int(sizes.max(initial=0))
        threads = min(get_threads(), max(1, int(sizes.sum()) // (4 * PART_ROWS)))
        todo = iter(range(sizes.size))
        guard = threading.Lock()

        def work(thread: int) -> None:
            with _buffers(largest, self._words, 3 + int(self._widths.sum())) as room:
                while True:
                    with guard:
                        part = next(todo, None)
                    if part is None:
                        return
                    if sizes[part]:
                        use(thread, room.kept, self._bound(part, int(sizes[part]), limits, room))

        if threads == 1:
            work(0)
            return
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(work, thread) for thread in range(threads)]:
                done.result()

    def _sizes(self) -> np.ndarray:
        sizes = np.zeros(1 << self._bits, np.int64)
        for firsts, lasts in zip(self._starts, self._ends, strict=True):
            sizes += lasts - firsts
        for _, firsts, lasts in self._spilled:
            sizes += (lasts - firsts) // (8 * self._words)
        return sizes

    def _bound(self, part: int, size: int, limits: Limits, room: _Buffers) -> int:
        if self._file is None:
            records = self._records()
            firsts = np.array([firsts[part] for firsts in self._starts], np.int64)
            lasts = np.array([lasts[part] for lasts in self._ends], np.int64)
        else:
            records = self._read(part, room.spare[:size])
            firsts, lasts = np.zeros(1, np.int64), np.array([size])
        bucket_bits = min(max(1, round(math.log2(max(1, size / BUCKET_ROWS)))), 24)
        starts = np.empty((1 << bucket_bits) + 1, np.int64)
        if limits.mode == EACH:
            return int(
                bounding.keep_rows(
                    records, firsts, lasts, self._bits, bucket_bits, limits.groups, starts, room.buffer, room.spare,
                    room.counts, room.short, room.order, room.kept,
                )
            )  # fmt: skip
        groups, rows = (limits.rows, limits.rows) if limits.mode == "rows" else (limits.groups, limits.rows)
        return int(
            bounding.bound_part(
                records, firsts, lasts, self._bits, bucket_bits, groups, rows, MODES[limits.mode], self._widths,
                starts, room.buffer, room.spare, room.counts, room.short, room.order, room.kept,
            )
        )  # fmt: skip

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
