"""Memory for results, reused once nobody holds it.

A large array from the system costs a page fault and a zeroing per page: 0.75 ns per float64, a quarter of a whole call.
So the last few result buffers are remembered, and the next result of the same size takes one that no array refers to
any more. What is kept held earlier results only, never raw values, and is overwritten from end to end.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import numpy as np

SMALLEST, LARGEST = 1 << 20, 64 << 20
"""Bytes of a buffer that is worth remembering, and of one that may lie idle between calls."""
MOST_IDLE = 32 << 20
"""Bytes of idle buffers that may be left after a call has taken one."""
MOST_KEPT = 8
"""Buffers that are remembered, in use or not; those in use cost nothing."""

_lock = threading.Lock()
_kept: list[np.ndarray] = []
_counts_references = getattr(sys, "_is_gil_enabled", lambda: True)()


def _forget() -> None:
    """After a fork another thread of the parent may have held the lock, or been changing the list."""
    global _lock
    _lock = threading.Lock()
    _kept.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _is_idle(index: int) -> bool:
    """Whether only the list holds the buffer: every view of an array refers to the array that owns the memory."""
    return sys.getrefcount(_kept[index]) == 2


def _drop_idle(most: int) -> None:
    """Forget idle buffers, the oldest first, until at most ``most`` bytes of them are left."""
    idle = [index for index in range(len(_kept)) if _is_idle(index)]
    excess = sum(_kept[index].size for index in idle) - most
    for index in [*idle]:
        if excess <= 0:
            break
        excess -= _kept[index].size
        _kept[index] = np.empty(0, np.uint8)
    _kept[:] = [kept for kept in _kept if kept.size]


def fresh(size: int, dtype: np.dtype[Any]) -> np.ndarray:
    """An array of arbitrary content, shared with nobody; whoever asks must write all of it."""
    needed = size * dtype.itemsize
    if not SMALLEST <= needed <= LARGEST or not _counts_references:
        return np.empty(size, dtype)
    if not _lock.acquire(blocking=False):  # another thread, or a signal handler in the middle of this
        return np.empty(size, dtype)
    try:
        for index in range(len(_kept)):
            if _kept[index].size == needed and _is_idle(index):
                return _kept[index].view(dtype)
        _drop_idle(max(0, MOST_IDLE - needed))
        _kept.append(np.empty(needed, np.uint8))
        del _kept[:-MOST_KEPT]
        return _kept[-1].view(dtype)
    finally:
        _lock.release()
