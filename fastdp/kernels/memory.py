"""Arrays aligned to a cache line.

A vector that crosses a cache line is read in two steps, and one that was just written is waited for: a fifth of the
time of subset selection, depending on where the allocator happened to put a few hundred bytes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

LINE = 64
"""Bytes of a cache line."""


def empty_aligned(shape: int | tuple[int, ...], kind: Any) -> np.ndarray:
    """An uninitialized array that starts at a cache line."""
    sides = (shape,) if isinstance(shape, int) else shape
    size = math.prod(sides) * np.dtype(kind).itemsize
    raw = np.empty(size + LINE, np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + size].view(kind).reshape(sides)


def zeros_aligned(shape: int | tuple[int, ...], kind: Any) -> np.ndarray:
    """An array of zeros that starts at a cache line."""
    array = empty_aligned(shape, kind)
    array.fill(0)
    return array
