"""The label of a value at a level: an interval, a prefix, a unit of the calendar, or a row of a tree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

ANY = "*"
"""The label of all values."""


def key_of(value: object) -> str:
    """How a value of a column is looked up: by its text."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def interval_labels(values: Sequence[Any], widths: Sequence[float], start: float, level: int) -> list[str | None]:
    """The interval of each number; those of wider levels are whole numbers of the narrowest, so that they nest."""
    numbers = [None if value is None else float(value) for value in values]
    base, width = widths[0], widths[level - 1]
    times = round(width / base)
    whole = all(number.is_integer() for number in (float(base), float(start), *numbers) if number is not None)

    def name(number: float) -> str:
        low = start + math.floor((number - start) / base) // times * width
        return f"{int(low)}-{int(low + width) - 1}" if whole else f"[{low:g}, {low + width:g})"

    return [None if number is None else name(number) for number in numbers]


def prefix_label(value: object, length: int) -> str:
    text = str(value)
    return text[:length] + ANY * max(len(text) - length, 0)


def date_label(value: object, unit: str) -> str:
    day = value if isinstance(value, date | datetime) else date.fromisoformat(str(value)[:10])
    if unit == "day":
        return f"{day:%Y-%m-%d}"
    if unit == "month":
        return f"{day.year:04d}-{day.month:02d}"
    if unit == "quarter":
        return f"{day.year:04d}-Q{(day.month + 2) // 3}"
    if unit == "year":
        return f"{day.year:04d}"
    return f"{day.year // 10}0s" if unit == "decade" else f"{day.year // 100}00s"


def tree_label(value: object, place: int, table: Mapping[str, tuple[str, ...]]) -> str:
    return table[key_of(value)][place]
