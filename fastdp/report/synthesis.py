"""The page of a synthetic table: what it is not good for, what was modelled, and noisy beside fitted marginals."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from fastdp.queries.plans.explain import in_words
from fastdp.report.page import heading, make_page, paragraph, table
from fastdp.validation import visible_text

if TYPE_CHECKING:
    from fastdp.synthesis.result import Synthesis

MOST_MARGINALS, MOST_CELLS, MOST_ROWS = 40, 30, 200
WIDTH, LINE, LEFT = 640, 20, 200


def synthesis_page(made: Synthesis, *, level: float = 0.95, title: str = "Synthetic rows") -> str:
    """The whole page, self-contained; nothing but noisy answers and what was made of them."""
    parts = [paragraph(made.warning, "loud"), paragraph(f"Guarantee: {in_words(made.privacy)}.", "calm")]
    if made.receipt.unsafe:
        parts.append(paragraph("The noise came from a fixed seed: whoever knows it can remove the noise.", "loud"))
    parts += [heading("Dependencies"), paragraph("Modelled: " + _sets(made.modelled()) + ".")]
    missing = made.not_modelled()
    if missing:
        parts.append(paragraph(f"Not modelled, but through other columns: {_sets(missing[:MOST_MARGINALS])}."))
    parts += [heading("How far the marginals are off"), *_errors(made, level), heading("Noisy and fitted marginals")]
    found = sorted(made.noisy_marginals().items(), key=lambda item: len(item[0]))
    for columns, (noisy, fitted, deviation) in found[:MOST_MARGINALS]:
        name = visible_text(" × ".join(columns))
        parts.append(paragraph(f"{name}: noisy counts with 95 % of the noise as bars, the model's as dots"))
        parts.append(_chart([visible_text(cell) for cell in made.cells(columns)], noisy, fitted, 1.96 * deviation))
        if noisy.size > MOST_CELLS:
            parts.append(paragraph(f"and {noisy.size - MOST_CELLS:,} smaller cells"))
    if len(found) > MOST_MARGINALS:
        parts.append(paragraph(f"and {len(found) - MOST_MARGINALS:,} more marginals"))
    return make_page(title, *parts)


def _sets(sets: list[tuple[str, ...]] | list[tuple[str, str]]) -> str:
    return "; ".join(visible_text(" × ".join(one)) for one in sets)


def _errors(made: Synthesis, level: float) -> list[str]:
    rows = made.errors(level).to_pylist()
    cells = [
        [visible_text(row["marginal"]), *(_percent(row[key]) for key in ("expected", "error", "low", "high"))]
        for row in rows[:MOST_ROWS]
    ]
    names = ["marginal", "expected", "estimated", f"{100 * level:g} % from", "to"]
    about = "Half the L1 distance between the shares of the model and of the data: the share of rows in wrong cells."
    more = [paragraph(f"and {len(rows) - MOST_ROWS:,} more marginals")] if len(rows) > MOST_ROWS else []
    return [paragraph(about), f'<div style="overflow-x: auto">{table(names, cells)}</div>', *more]


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.3g} %"


def _chart(names: list[str], noisy: np.ndarray, fitted: np.ndarray, width: float) -> str:
    """A line per cell: the noisy count with its noise as a bar, the fitted one as a dot."""
    order = np.arange(noisy.size)
    if order.size > MOST_CELLS:
        order = np.sort(np.argsort(-fitted, kind="stable")[:MOST_CELLS])
    low, high = noisy - width, noisy + width
    least = min(0.0, float(low[order].min()))
    span = (max(0.0, float(high[order].max()), float(fitted[order].max())) - least) or 1.0

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - 10) * (float(value) - least) / span

    height = LINE * order.size + 10
    parts = [(f'<svg viewBox="0 0 {WIDTH} {height}" style="max-width: {WIDTH}px; width: 100%" role="img" '
             'aria-label="noisy and fitted counts">')]  # fmt: skip
    for line, i in enumerate(order):
        y = LINE * line + LINE / 2 + 4
        shown = names[i] if len(names[i]) <= 30 else names[i][:29] + "…"
        parts += [
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" font-size="12">{escape(shown)}</text>',
            (
                f'<line x1="{x(low[i]):.1f}" x2="{x(high[i]):.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="#c06020" '
                'stroke-width="5" opacity="0.35"/>'
            ),
            f'<line x1="{x(noisy[i]):.1f}" x2="{x(noisy[i]):.1f}" y1="{y - 5:.1f}" y2="{y + 5:.1f}" stroke="#c06020"/>',
            f'<circle cx="{x(fitted[i]):.1f}" cy="{y:.1f}" r="4" fill="#2060a0"/>',
        ]
    return "".join([*parts, "</svg>"])
