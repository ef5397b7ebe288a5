"""What a release will cost and tell, before anything is read or spent: lines for people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fastdp import rounding
from fastdp.privacy import Privacy


def in_words(privacy: Privacy) -> str:
    """A guarantee in one line."""
    parts = []
    if privacy.epsilon is not None:
        parts.append(f"epsilon {rounding.significant_up(privacy.epsilon, 4)}")
    if privacy.rho is not None:
        parts.append(f"rho {rounding.significant_up(privacy.rho, 4)}")
    if privacy.delta:
        parts.append(f"delta {rounding.significant_up(privacy.delta, 3)}")
    return f"{', '.join(parts)} for one {privacy.unit} ({privacy.neighbours})"


def table(lines: Sequence[Mapping[str, Any]], level: float) -> list[str]:
    """The lines of `explain` as an aligned table."""
    rows = [("query", "answer", "std error", f"{100 * level:g} % within", "smallest group", "")]
    for line in lines:
        group = line.get("smallest_group")
        rows.append((
            str(line["query"]), str(line["answer"]), _number(line["std_error"]),
            "±" + _number(line["half_width"]) if _number(line["half_width"]) else "",
            "" if group is None else f"{group:,}", str(line.get("of", "")),
        ))  # fmt: skip
    widths = [max(len(row[place]) for row in rows) for place in range(6)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _number(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:,.4g}"
