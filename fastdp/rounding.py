"""Directed rounding: a cost is never reported below what it is."""

from __future__ import annotations

import math
from fractions import Fraction


def float_up(value: Fraction) -> float:
    """The smallest float64 that is at least ``value``.

    >>> float_up(Fraction(1, 3)) >= Fraction(1, 3)
    True
    """
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def up(value: float, ulps: int = 4) -> float:
    """``value`` moved up by a few units in the last place, to cover the rounding of a short float computation."""
    for _ in range(ulps):
        value = math.nextafter(value, math.inf)
    return value
