"""Confidence bounds of quantiles, from those of the distribution function."""

from __future__ import annotations

import bisect
from collections.abc import Callable

import numpy as np

MARKS = 128
"""Places of a long line at which its distribution function is bounded."""
LARGEST = 1 << 16
"""Values of a line whose quantiles are bounded."""

Bound = Callable[[int], float]


def choose_marks(size: int) -> np.ndarray:
    """Where the distribution function is bounded: fixed beforehand, everywhere on a short line; 1 at the last value."""
    return np.unique(np.rint(np.linspace(0, size - 1, min(size, MARKS + 1))).astype(np.int64))[:-1]


def distribution_functionals(marks: np.ndarray, size: int) -> np.ndarray:
    """The functionals that give the distribution function at the marks."""
    return (np.arange(size) <= marks[:, None]).astype(np.float64)


def quantile_range(q: float, marks: np.ndarray, size: int, lower: Bound, upper: Bound) -> tuple[int, int]:
    """The first and last value that may be the quantile of ``q``, the smallest x with F(x) >= q.

    All values up to a mark are ruled out where the upper bound of F there is below q, and all values beyond a mark
    where the lower bound of F there is above q. The last such mark on either side is found by bisection. To rule out
    the quantile itself takes a bound that fails at a mark on its own side; those further off hardly ever do, so that
    the bounds need not hold together.
    """
    low = _bisect(len(marks), lambda row: upper(row) < q)
    high = _bisect(len(marks), lambda row: lower(row) <= q)
    start = 0 if low == 0 else int(marks[low - 1]) + 1
    end = size - 1 if high == len(marks) else int(marks[high])
    return min(start, end), max(start, end)


def _bisect(count: int, holds: Callable[[int], bool]) -> int:
    """How many rows, from the first on, a condition holds for, if it holds up to some row and not beyond."""
    return bisect.bisect_left(range(count), True, key=lambda row: not holds(row))
