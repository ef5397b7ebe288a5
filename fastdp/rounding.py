"""Directed rounding: a cost is never reported below what it is."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction


def float_up(value: Fraction) -> float:
    """The smallest float64 that is at least ``value``.

    >>> float_up(Fraction(1, 3)) >= Fraction(1, 3)
    True
    """
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def sum_up(values: Iterable[float | Fraction]) -> float:
    """The exact sum of ``values``, rounded up.

    >>> sum_up([0.1] * 10) >= sum([Fraction(0.1)] * 10)
    True
    """
    return float_up(sum([Fraction(value) for value in values], Fraction()))


def digits_up(value: float, digits: int = 4) -> str:
    """Format a cost with `digits` decimals, rounded up.

    >>> digits_up(0.702949768), digits_up(1.0), digits_up(15.61, 1)
    ('0.7030', '1.0000', '15.7')
    """
    if not math.isfinite(value):
        return str(value)
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_CEILING))


def significant_up(value: float, digits: int = 6) -> str:
    """Format a cost > 0 with so many significant digits, rounded up.

    >>> significant_up(0.99999999), significant_up(1.0000001), significant_up(1.5e-7), significant_up(123456.01)
    ('1', '1.00001', '1.5e-07', '123457')
    """
    exact = Decimal(value)
    return f"{float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), ROUND_CEILING)):.{digits}g}"


def up(value: float, ulps: int = 4) -> float:
    """``value`` moved up by a few units in the last place, to cover the rounding of a short float computation."""
    for _ in range(ulps):
        value = math.nextafter(value, math.inf)
    return value
