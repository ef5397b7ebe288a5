"""Pages of anonymity: class sizes with k marked, risk per record, the lattice with the node that was chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from fastdp.anonymity.findings import leaks, people
from fastdp.report.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from fastdp.report.page import heading, make_page, paragraph, table

if TYPE_CHECKING:
    from fastdp.anonymity.classes import Classes
    from fastdp.anonymity.lattice import Node
    from fastdp.anonymity.result import Anonymized
    from fastdp.anonymity.risk import Risk

EDGES = (1, 2, 3, 5, 10, 20, 50, 100, 1000, 10**4, 10**5, 10**6)
BAR, SMALL, CHOSEN, DOT, LINE = "#2060a0", "#c03020", "#c03020", "#9db8d2", "#2060a0"
MOST_DOTS = 1500
SHOW = 10


def classes_page(found: Classes, risk: Risk, *, show: int = SHOW, failed: Sequence[str] = ()) -> str:
    """The page of an audit."""
    stated = leaks(found, show)
    return make_page(
        "What the classes of a table give away",
        *[paragraph(f"Failed: {one}.", "loud") for one in failed],
        paragraph(
            f"{found.rows:,} rows in {found.count:,} classes by {', '.join(found.quasi)}. The smallest class has "
            f"{found.k:,} {'row' if found.k == 1 else 'rows'}. No record's value is on this page; numbers of fewer "
            f"than {show} people are withheld.",
        ),
        *_models(found, risk, show),
        heading("What it still leaks"),
        *[paragraph(one) for one in stated or ["Nothing was found that these models know of."]],
        *_charts(found, show),
    )


def anonymized_page(made: Anonymized, *, show: int = SHOW) -> str:
    """The page of an anonymized table."""
    certificate = made.certificate
    name, value = certificate.loss
    parts = [
        paragraph(
            f"{certificate.written:,} rows of {certificate.rows:,}; {people(made.suppressed, show)} suppressed, "
            f"{people(made.dummies, show)} dummy records added. Loss ({name}): {value:.6g}."
        )
    ]
    if certificate.levels:
        rows = [[column, str(level)] for column, level in certificate.levels.items()]
        parts += [heading("Levels"), table(["column", "level"], rows)]
    if made.nodes:
        parts += [
            heading("The lattice"),
            paragraph(
                f"Every dot is one of the {len(made.nodes):,} combinations of levels that qualify: rows suppressed "
                "across, loss upwards. The red one was chosen."
            ),
            f'<div class="charts">{lattice_chart(made.nodes, certificate.rows)}</div>',
        ]
    _, recount = _models(made.classes, made.classes.risk(), show)
    return make_page(
        "An anonymized table", *parts, heading("The recount of the output"), recount, *_charts(made.classes, show)
    )


def _models(found: Classes, risk: Risk, show: int) -> list[str]:
    rows = [
        ["k-anonymity", f"{found.k:,}", "rows in the smallest class"],
        ["unique rows", people(found.unique, show), "alone in their class"],
        ["risk of a prosecutor", f"{risk.prosecutor:.4g}", "the largest 1 / class size"],
        ["mean risk", f"{risk.mean:.4g}", "of a record"],
    ]
    if risk.journalist is not None and risk.presence is not None:
        low, high = risk.presence
        rows += [
            ["risk of a journalist", f"{risk.journalist:.4g}", "the largest 1 / class size in the population"],
            ["risk of a marketer", f"{risk.marketer:.4g}", "records found on average"],
            ["delta-presence", f"{low:.4g} to {high:.4g}", "share of a population's class in the table"],
        ]
    for name in found.sensitive:
        d = found.diversity(name)
        rows += [
            [f"l-diversity of {name}", f"{d.distinct_l:,}", "distinct values"],
            [f"entropy l-diversity of {name}", f"{d.entropy_l:.4g}", "e to the entropy"],
            [f"alpha of {name}", f"{d.alpha:.4g}", "largest share of one value"],
            [f"t-closeness of {name}", f"{d.t_equal:.4g}", "total variation to the table"],
            [f"beta-likeness of {name}", f"{d.beta:.4g}", "largest relative gain"],
            [f"delta-disclosure of {name}", f"{d.delta:.4g}", "largest log ratio"],
            [f"homogeneous rows of {name}", people(d.homogeneous, show), "in classes with one value"],
        ]
        if d.t_ordered is not None:
            rows.append([f"ordered t-closeness of {name}", f"{d.t_ordered:.4g}", "earth mover's distance by rank"])
    return [heading("Models"), table(["model", "worst class", "what it is"], rows)]


def bins(found: Classes) -> list[tuple[int, int | None, int]]:
    """People by the size of their class: (least size, next bin's least, people), empty bins at the ends left out."""
    sizes, counts = found.sizes
    rows = sizes * counts
    made: list[tuple[int, int | None, int]] = []
    for i, low in enumerate(EDGES):
        high = EDGES[i + 1] if i + 1 < len(EDGES) else None
        inside = (sizes >= low) & (sizes < high) if high is not None else sizes >= low
        made.append((low, high, int(rows[inside].sum())))
    while made and not made[-1][2]:
        made.pop()
    return made


def _charts(found: Classes, show: int) -> list[str]:
    about = (
        "On the left, the share of people by the size of their class, in red below 5; the dashed line is k. On the "
        "right, the share of records whose risk of re-identification is at least so much."
    )
    charts = size_chart(found, show) + risk_chart(found, show)
    return [heading("Class sizes and risk"), paragraph(about), f'<div class="charts">{charts}</div>']


def _frame(label: str, across: str) -> list[str]:
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label, quote=True)}">']
    for step in range(5):
        y = _height(step / 4)
        parts += [
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{step * 25}%</text>',
        ]
    parts.append(f'<text x="{(LEFT + WIDTH) / 2:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(across)}</text>')
    return parts


def _tick(x: float, text: str, size: int = 9) -> str:
    return f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle" font-size="{size}">{text}</text>'


def _height(share: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share


def size_chart(found: Classes, show: int) -> str:
    """People by the size of their class, as bars; a bar of fewer than ``show`` people is drawn as so many."""
    shown = bins(found)
    width = (WIDTH - LEFT - RIGHT) / len(shown)
    parts = _frame("people by class size", "size of the class")
    for i, (low, high, rows) in enumerate(shown):
        x, share = LEFT + i * width, min(1.0, max(rows, show if rows else 0) / found.rows)
        title = f"{people(rows, show)} people in classes of {_span(low, high)}"
        place = f'x="{x + 2:.1f}" y="{_height(share):.1f}" width="{width - 4:.1f}"'
        tall, colour = _height(0) - _height(share), SMALL if low < 5 else BAR
        parts.append(f'<rect {place} height="{tall:.1f}" fill="{colour}"><title>{title}</title></rect>')
        parts.append(_tick(x + width / 2, _span(low, high)))
        if low <= found.k and (high is None or found.k < high):
            parts.append(f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{_height(0):.1f}"/>')
            parts.append(f'<text x="{x + 4:.1f}" y="{TOP + 10}">k = {found.k:,}</text>')
    return "".join([*parts, "</svg>"])


def _span(low: int, high: int | None) -> str:
    if high is None or low >= 100:
        return f"{_short(low)}+"
    return _short(low) if high == low + 1 else f"{_short(low)}-{_short(high - 1)}"


def _short(number: int) -> str:
    return f"{number / 1e6:.3g}M" if number >= 10**6 else f"{number / 1e3:.3g}k" if number >= 1000 else str(number)


def risk_chart(found: Classes, show: int) -> str:
    """The share of records whose risk is at least 1 over the least size of each bin's successor."""
    parts = _frame("records by risk", "risk of re-identification, at least")
    shown, run, dots = bins(found), 0, []
    for i, (low, high, rows) in enumerate(shown):
        run += rows
        x = LEFT + (WIDTH - LEFT - RIGHT) * (i + 0.5) / len(shown)
        share = min(1.0, max(run, show if run else 0) / found.rows)
        dots.append((x, _height(share)))
        least = f"{1 / (high - 1):.2g}" if high is not None and high > low + 1 else f"{1 / low:.2g}" if high else "0"
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle" font-size="9">{least}</text>')
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
    parts.append(f'<polyline points="{path}" fill="none" stroke="{LINE}" stroke-width="2"/>')
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{LINE}"/>' for x, y in dots]
    return "".join([*parts, "</svg>"])


def lattice_chart(nodes: Sequence[Node], rows: int) -> str:
    """Nodes as dots, rows suppressed across and loss upwards, the first one marked."""
    most = max([1, *(node.suppressed for node in nodes)])
    least, top = min(node.loss for node in nodes), max(node.loss for node in nodes)
    log = least > 0 and top / least > 100

    def height(loss: float) -> float:
        if top <= least:
            return _height(0.5)
        part = math.log(loss / least) / math.log(top / least) if log else (loss - least) / (top - least)
        return _height(part)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="loss and suppression of every node">']
    for step in range(5):
        level = least * (top / least) ** (step / 4) if log else least + (top - least) * step / 4
        y = _height(step / 4)
        parts += [
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{level:.3g}</text>',
            _tick(_across(most * step / 4, most), f"{most * step / 4 / rows:.1%}", 11),
        ]
    stride = max(1, len(nodes) // MOST_DOTS)
    for node in nodes[1::stride]:
        parts.append(
            f'<circle cx="{_across(node.suppressed, most):.1f}" cy="{height(node.loss):.1f}" r="2.5" fill="{DOT}"/>'
        )
    best = nodes[0]
    parts += [
        f'<circle cx="{_across(best.suppressed, most):.1f}" cy="{height(best.loss):.1f}" r="5" fill="{CHOSEN}"/>',
        f'<text x="{(LEFT + WIDTH) / 2:.1f}" y="{HEIGHT - 8}" text-anchor="middle">rows suppressed</text>',
    ]
    return "".join([*parts, "</svg>"])


def _across(suppressed: float, most: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * suppressed / most
