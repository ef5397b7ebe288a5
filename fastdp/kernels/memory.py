"""Memory that starts with a line of the cache.

A vector that crosses from one line to the next is read in two steps, and one that was just written so is waited for: a
fifth of the time of subset selection, depending on where the system happened to put a few hundred bytes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

LINE = 64
"""Bytes of a line of the cache."""


def empty_aligned(shape: int | tuple[int, ...], kind: Any) -> np.ndarray:
    """An array of arbitrary content that starts with a line."""
    sides = (shape,) if isinstance(shape, int) else shape
    size = math.prod(sides) * np.dtype(kind).itemsize
    raw = np.empty(size + LINE, np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + size].view(kind).reshape(sides)


def zeros_aligned(shape: int | tuple[int, ...], kind: Any) -> np.ndarray:
    """An array of zeros that starts with a line."""
    array = empty_aligned(shape, kind)
    array.fill(0)
    return array
