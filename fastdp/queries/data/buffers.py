"""Working memory of one part of the rows; fresh pages cost more than the work on them, so it is used again."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from fastdp.kernels.persons.ordering import FEW, RADIX
from fastdp.kernels.persons.sampling import ENTRIES, LANES
from fastdp.threads import get_threads


class Buffers:
    """What a part of ``rows`` records needs; ``spare`` has room for the records themselves too."""

    spare: np.ndarray

    def __init__(self, rows: int, *shape: int) -> None:
        self.rows, self.shape = rows, shape
        self.counts = np.empty((2, RADIX), np.int64)
        self._starts = np.empty(4, np.int64)

    def starts(self, bucket_bits: int) -> np.ndarray:
        """Where buckets begin and end."""
        wanted = (1 << bucket_bits) + 2
        if self._starts.size < wanted:
            self._starts = np.empty(wanted, np.int64)
        return self._starts[:wanted]


class BoundBuffers(Buffers):
    """For `kernels.persons.bounding`: records of ``words``, results of ``places``."""

    def __init__(self, rows: int, words: int, places: int) -> None:
        super().__init__(rows, words, places)
        self.buffer, self.spare = np.empty((rows, words), np.uint64), np.empty((rows, words), np.uint64)
        self.order, self.short = np.empty(max(rows, FEW), np.int64), np.empty(FEW, np.uint32)
        self.kept = np.empty((rows + 1, places), np.int64)


class SumBuffers(Buffers):
    """For `kernels.persons.sampling`."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.buffer, self.ordered = np.empty((rows, 2), np.uint64), np.empty((rows, 2), np.uint64)
        self.wide, self.spare = np.empty((rows, 3), np.uint64), np.empty((rows, 3), np.uint64)
        self.short, self.ranked = np.empty(rows + LANES, np.uint32), np.empty(rows + LANES, np.uint32)
        self.entries = np.empty((ENTRIES + rows + 1, 3), np.int64)


_idle: list[Buffers] = []
_lock = threading.Lock()


@contextlib.contextmanager
def borrowed(kind: type[Buffers], rows: int, *shape: int) -> Iterator[Any]:
    """Buffers for at least so many rows, from the last release where they fit.

    The next release has other parts of about the same size: there is room for a sixteenth more.
    """
    with _lock:
        fits = (one for one in _idle if type(one) is kind and one.rows >= rows and one.shape == shape)
        chosen = next(fits, None)
        if chosen is not None:
            _idle.remove(chosen)
    made = chosen or kind(rows + rows // 16, *shape)
    try:
        yield made
    finally:
        with _lock:
            _idle[:] = [made, *_idle][: 2 * get_threads()]
