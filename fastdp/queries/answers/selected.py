"""Intervals of the counts of selected keys, which cover also given that the key was selected.

A count that is only shown if it exceeds a threshold is biased upward. The interval holds the counts for which what was
seen is in neither tail of what could have been seen at that count.
"""

from __future__ import annotations

import math

import numpy as np

from fastdp.mechanisms.central.key_selection import KeySelection


def selected_intervals(selection: KeySelection, noisy: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest count that each noisy count is compatible with, of keys that were kept.

    Pre: every noisy count exceeds the threshold.
    """
    k, rate, tail = selection.threshold, selection.rate, (1 - level) / 2
    seen, where = np.unique(np.minimum(noisy, 4 * k + 2), return_inverse=True)
    ends = [_interval(int(value), k, rate, tail) for value in seen]
    moved = noisy - seen[where]
    low, high = (np.array([end[side] for end in ends], np.int64)[where] + moved for side in (0, 1))
    return low, high


def _interval(seen: int, k: int, rate: float, tail: float) -> tuple[int, int]:
    """The ends by bisection: both tails are monotone in the count."""
    lowest, highest = max(1, seen - k), seen + k

    def above(count: int) -> bool:
        """Whether seeing so much or more is likely enough."""
        return _mass(seen - count, k, k, rate) > tail * _mass(k + 1 - count, k, k, rate)

    def below(count: int) -> bool:
        """Whether seeing so little or less is likely enough."""
        return _mass(k + 1 - count, seen - count, k, rate) > tail * _mass(k + 1 - count, k, k, rate)

    return _first(above, lowest, highest), -_first(lambda count: below(-count), -highest, -lowest)


def _first(holds, low: int, high: int) -> int:  # type: ignore[no-untyped-def]
    """The first integer from which on a monotone condition holds; ``high`` if none."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _mass(first: int, last: int, k: int, rate: float) -> float:
    """The sum of e**-(rate |z|) over z from first to last, within ±k."""
    first, last = max(first, -k), min(last, k)
    if first > last:
        return 0.0
    if first >= 0:
        return (math.exp(-rate * first) - math.exp(-rate * (last + 1))) / -math.expm1(-rate)
    if last < 0:
        return _mass(-last, -first, k, rate)
    return _mass(0, last, k, rate) + _mass(1, -first, k, rate)
