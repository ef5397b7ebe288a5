"""Directed rounding: a cost is never reported below what it is."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction


def float_up(value: Fraction) -> float:
    """The smallest float64 that is at least ``value``.

    >>> float_up(Fraction(1, 3)) >= Fraction(1, 3)
    True
    """
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def digits_up(value: float, digits: int = 4) -> str:
    """A cost with so many decimals, never less than it is.

    >>> digits_up(0.702949768), digits_up(1.0), digits_up(15.61, 1)
    ('0.7030', '1.0000', '15.7')
    """
    if not math.isfinite(value):
        return str(value)
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_CEILING))


def up(value: float, ulps: int = 4) -> float:
    """``value`` moved up by a few units in the last place, to cover the rounding of a short float computation."""
    for _ in range(ulps):
        value = math.nextafter(value, math.inf)
    return value
