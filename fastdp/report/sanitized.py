"""The page of a sanitized file, for the people who get it: each column as estimated, its guarantee, what not to do.

Everything on it follows from the release and its receipt; there is no truth in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fastdp.plans.explain import explain, explain_total
from fastdp.report.page import heading, make_page, paragraph, table
from fastdp.report.release import chart
from fastdp.validation import visible_text

if TYPE_CHECKING:
    from fastdp.plans.plan import Plan
    from fastdp.tables.estimating.results import ColumnEstimate, TableEstimate

MOST_LINES = 40
"""Shares of a column that a page shows, the largest."""
CAUTIONS = (
    "Do not read a randomized value as that of a person: only estimates over many rows tell something.",
    "Do not filter, join or group by randomized columns and take the result at face value: use fastdp estimate.",
    "Columns that are kept, generalized or pseudonymized are not private: do not join them with other data.",
)


def sanitized_page(plan: Plan, found: TableEstimate, *, title: str = "A sanitized table") -> str:
    """The whole page, self-contained."""
    parts = [paragraph(visible_text(line), "calm") for line in explain_total(plan)]
    parts += [heading("What not to do"), *(paragraph(line) for line in CAUTIONS)]
    records = max((estimate.reports for estimate in found), default=None)
    lines = {line.column: line for line in explain(plan, records)}
    rows = [[visible_text(one.column), one.action, visible_text(one.guarantee), one.error] for one in lines.values()]
    parts += [
        heading("Columns"),
        '<div class="wide">',
        table(["column", "", "guarantee", "95 % of errors"], rows, texts=(0, 1, 2, 3)),
        "</div>",
    ]
    named = ""
    for estimate in found:
        if estimate.column != named:
            named = estimate.column
            parts += [heading(visible_text(named)), paragraph(f"Guarantee: {visible_text(lines[named].guarantee)}.")]
        parts += _column(estimate)
    return make_page(title, *parts)


def _column(estimate: ColumnEstimate) -> list[str]:
    lines = list(estimate.lines)
    left = len(lines) - MOST_LINES
    if left > 0:
        lines = sorted(lines, key=lambda line: -line.estimate)[:MOST_LINES]
    names = [visible_text(estimate.name_of(line)) for line in lines]
    values, low, high = (np.array([getattr(line, end) for line in lines]) for end in ("estimate", "low", "high"))
    known = np.isfinite(low) & np.isfinite(high)
    rows = [
        [
            name,
            _show(estimate, value),
            _show(estimate, one) if ok else "no interval",
            _show(estimate, two) if ok else "",
        ]
        for name, value, one, two, ok in zip(names, values, low, high, known, strict=True)
    ]
    made_of = f"{estimate.reports:,} reports ({estimate.mechanism})"
    summary = f"{estimate.kind.capitalize()} from {made_of}, intervals of {100 * estimate.level:g} %"
    bars = estimate.kind in {"shares", "distribution"} and bool(known.all())
    if estimate.kind == "distribution":  # ranges by their starts, which fit beside the chart
        names = [f"from {name.partition(' to ')[0]}" for name in names]
    picture = [chart(names, values, low, high, np.arange(len(lines)))] if bars else []
    more = [paragraph(f"and {left:,} more values")] if left > 0 else []
    listed = table([estimate.kind, "estimate", "from", "to"], rows)
    return [paragraph(summary), *picture, listed, *more]


def _show(estimate: ColumnEstimate, number: float) -> str:
    """A number as the column's values are written: moments as such."""
    moment = estimate.show(number) if estimate.kind in {"mean", "quartiles"} else None
    return moment or f"{float(f'{number:.4g}'):,.15g}"
