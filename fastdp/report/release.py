"""The page of a release: its answers with their intervals, and what it cost; nothing but what was released."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from fastdp.queries.answers.errors import UnknownErrors
from fastdp.queries.plans.explain import in_words
from fastdp.report.page import heading, make_page, paragraph, table
from fastdp.validation import visible_text

if TYPE_CHECKING:
    from fastdp.queries.answers.answer import Answer
    from fastdp.queries.plans.run import ReleaseAnswers

MOST_ROWS = 200
"""Groups that a page shows of each answer; of more, the largest."""
WIDTH, LINE, LEFT = 640, 20, 190
BAR = 'style="stroke: var(--bar)" stroke-width="5" opacity="0.35"'


def release_page(answers: ReleaseAnswers, *, level: float = 0.95, title: str = "A release") -> str:
    """The whole page, self-contained."""
    parts = [paragraph(f"Guarantee: {in_words(answers.privacy)}.", "calm")]
    if answers.receipt.unsafe:
        parts.append(paragraph("The noise came from a fixed seed: whoever knows it can remove the noise.", "loud"))
    for query, found in answers.items():
        parts.append(heading(visible_text(query)))
        for answer in found.values():
            parts += _answer(answer, level)
    return make_page(title, *parts)


def _answer(answer: Answer, level: float) -> list[str]:
    known = not isinstance(answer.errors, UnknownErrors)
    low, high = answer.errors.interval(level) if known else (answer.values, answer.values)
    names = [""] * answer.values.size
    if answer.keys is not None:
        names = [", ".join(visible_text(str(one)) for one in row.values()) for row in answer.keys.to_pylist()]
    order = np.arange(answer.values.size)
    if order.size > MOST_ROWS:
        order = np.sort(np.argsort(-answer.values, kind="stable")[:MOST_ROWS])
    rows = [
        [names[i] or answer.name, f"{answer.values[i]:,.6g}", f"{low[i]:,.6g}" if known else "",
         f"{high[i]:,.6g}" if known else ""]
        for i in order
    ]  # fmt: skip
    stated = paragraph(f"{visible_text(answer.name)} (costs {in_words(answer.privacy)})")
    left = answer.values.size - order.size
    more = [paragraph(f"and {left:,} more groups")] if left else []
    listed = table(["group", "value", f"{100 * level:g} % from", "to"], rows)
    return [stated, chart(names, answer.values, low, high, order), listed, *more]


def chart(names: list[str], values: np.ndarray, low: np.ndarray, high: np.ndarray, order: np.ndarray) -> str:
    """A line per group: the value as a dot, its interval as a bar."""
    if not order.size:
        return ""
    least, most = min(0.0, float(low[order].min())), max(0.0, float(high[order].max()))
    span = (most - least) or 1.0

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - 10) * (float(value) - least) / span

    parts = [f'<svg viewBox="0 0 {WIDTH} {LINE * order.size + 10}" width="{WIDTH}" role="img" aria-label="answers">']
    for line, i in enumerate(order):
        y = LINE * line + LINE / 2 + 4
        shown = names[i] if len(names[i]) <= 24 else names[i][:23] + "…"
        parts += [
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" font-size="12">{escape(shown)}</text>',
            f'<line x1="{x(low[i]):.1f}" x2="{x(high[i]):.1f}" y1="{y:.1f}" y2="{y:.1f}" {BAR}/>',
            f'<circle cx="{x(values[i]):.1f}" cy="{y:.1f}" r="4" style="fill: var(--bar)"/>',
        ]
    return "".join([*parts, "</svg>"])
