"""Brackets of numbers, and where a falling curve meets a level."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple


class Bounds(NamedTuple):
    """A bracket around a number; only ``upper`` is a guarantee.

    >>> float(Bounds(1.0, 1.5))
    1.5
    """

    lower: float
    upper: float

    def __float__(self) -> float:
        return self.upper


def approach(
    curve: Callable[[float], float], delta: float, start: tuple[float, float], width: float
) -> tuple[float, float] | None:
    """What `solve` finds, by Newton's steps on the logarithm from a point and its slope; None where they lead astray.

    Once a step is short, both sides of where it leads are tried.
    """
    at, slope = start
    goal, before = math.log(delta), None
    for _ in range(8):
        here = curve(at) if at > 0 else 0.0
        if not 0 < here < 1:
            return None
        height = math.log(here)
        if before is not None and before[0] != at:
            slope = (before[1] - height) / (at - before[0])
        if not slope > 0:
            return None
        before, at = (at, height), at + (height - goal) / slope
        if abs(at - before[0]) <= max(1e-3, 4 * width) * at:
            side = width * at / 3
            low, high = at - side, at + side
            if curve(low) > delta >= curve(high):
                return low, high
    return None


def solve(curve: Callable[[float], float], delta: float, low: float, high: float, width: float) -> tuple[float, float]:
    """An interval around the epsilon where a falling curve meets delta: above it at the left end, not at the right.

    The left end is 0 if the curve is at most delta there. By bisection until delta is near, then along logarithms.
    """
    if not math.isfinite(high):
        return low, high
    at_low, at_high = curve(low), curve(high)
    if at_low <= delta:
        return (0.0, low) if low == 0 else (low, low)
    goal, weight = math.log(delta), 1.0
    for step in range(200):
        if high - low <= max(width * high, 1e-15 * high, 5e-324):
            break
        at = (low + high) / 2
        if at_high > 0 and step % 3 and math.log(at_low / at_high) < 60:
            fraction = (math.log(at_low) - goal) / math.log(at_low / at_high)
            nudge = width * high * weight / 4
            at = low + fraction * (high - low)
            at = min(max(at + (nudge if step % 3 == 1 else -nudge), low + nudge), high - nudge)
            at = at if low < at < high else (low + high) / 2
        here = curve(at)
        if here > delta:
            low, at_low = at, here
        else:
            high, at_high = at, here
    return low, high
