"""Tables of words as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

LARGEST = 40
"""Rows that are shown."""


def to_html(title: str, rows: Sequence[Sequence[str]], head: Sequence[str] = (), *, total: int | None = None) -> str:
    """A captioned table; rows beyond 40 are counted, not shown. ``total`` is their number where few are given.

    >>> to_html("a < b", [["x", "1"]])
    '<table><caption>a &lt; b</caption><tr><td>x</td><td>1</td></tr></table>'
    """
    parts = [f"<table><caption>{escape(title)}</caption>"]
    if head:
        parts.append("<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr>")
    shown = rows[:LARGEST]
    parts += ["<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in shown]
    more = (len(rows) if total is None else total) - len(shown)
    if more:
        parts.append(f"<tr><td>... {more:,} more</td></tr>")
    return "".join([*parts, "</table>"])
