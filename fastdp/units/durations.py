"""Durations as people write them, in nanoseconds."""

from __future__ import annotations

import re
from fractions import Fraction

from fastdp.errors import ParameterError

SECOND = 10**9
DAY = 86_400 * SECOND
UNITS = {
    "nanosecond": 1, "ns": 1, "microsecond": 1000, "us": 1000, "millisecond": 10**6, "ms": 10**6,
    "second": SECOND, "sec": SECOND, "s": SECOND, "minute": 60 * SECOND, "min": 60 * SECOND,
    "hour": 3600 * SECOND, "h": 3600 * SECOND, "day": DAY, "d": DAY, "week": 7 * DAY,
}  # fmt: skip
"""Nanoseconds of the words for durations."""
_WORDS = re.compile(r"\s*(\d+(?:\.\d+)?)?\s*([a-z]+?)(s?)\s*")
_NAMES = (("day", DAY), ("hour", 3600 * SECOND), ("minute", 60 * SECOND), ("second", SECOND), ("millisecond", 10**6),
          ("microsecond", 1000), ("nanosecond", 1))  # fmt: skip


def parse_duration(owner: str, name: str, text: object) -> int:
    """A duration > 0 in nanoseconds.

    >>> parse_duration("Plan", "unit", "7 days") // DAY, parse_duration("Plan", "unit", "1.5 hours") // SECOND
    (7, 5400)
    """
    found = _WORDS.fullmatch(text) if isinstance(text, str) and len(text) < 40 else None
    size = None
    if found is not None:
        size = UNITS.get(found[2] + found[3]) or UNITS.get(found[2])
    if found is None or size is None:
        raise ParameterError(f"{owner}: {name} must be a duration such as 'day', '7 days' or '90 s'")
    length = Fraction(found[1] or "1") * size
    if length.denominator != 1 or length < 1:
        raise ParameterError(f"{owner}: {name} must be a whole number of nanoseconds, at least one")
    return int(length)


def largest_unit(size: float) -> tuple[str, int]:
    """The largest unit that is not longer than so many nanoseconds."""
    return next((one for one in _NAMES if abs(size) >= one[1]), _NAMES[-1])
