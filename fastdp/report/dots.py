"""Rates as dots with their intervals, and curves in the unit square, as SVG inside a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

WIDTH, LEFT, RIGHT, ROW = 460, 150, 16, 20
SIDE, MARGIN = 300, 42
COLOURS = ("#2060a0", "#c03020", "#208040", "#8040a0", "#b07000", "#007878", "#666666", "#c04080")


def colour(number: int) -> str:
    """The colour of a group, the same in every picture of a page."""
    return COLOURS[number % len(COLOURS)]


def dot_chart(
    label: str, names: Sequence[str], values: Sequence[float], low: Sequence[float], high: Sequence[float]
) -> str:
    """A dot and its interval for each name, on an axis from 0 to 1; only the interval, in grey, where there is none."""
    height = ROW * len(names) + 44
    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label, quote=True)}">']
    parts.append(f'<text x="4" y="13" font-weight="bold">{escape(label)}</text>')

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * float(value)

    for k in range(5):
        parts.append(f'<line class="grid" x1="{x(k / 4):.1f}" x2="{x(k / 4):.1f}" y1="20" y2="{height - 22}"/>')
        parts.append(f'<text x="{x(k / 4):.1f}" y="{height - 8}" text-anchor="middle">{k / 4:g}</text>')
    for row, (name, value, down, up) in enumerate(zip(names, values, low, high, strict=True)):
        y, known = 20 + ROW * (row + 0.5), not np.isnan(value)
        paint = colour(row) if known else "#bbbbbb"
        stated = f"{name}: " + (f"{value:.3f} [{down:.3f}, {up:.3f}]" if known else "cannot be told")
        parts += [
            f"<g><title>{escape(stated)}</title>",
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(shorten(name))}</text>',
            f'<line x1="{x(down):.1f}" x2="{x(up):.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="{paint}" stroke-width="3"/>',
        ]
        if known:
            parts.append(f'<circle class="dot" cx="{x(value):.1f}" cy="{y:.1f}" r="5" fill="{paint}"/>')
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


def shorten(name: str, most: int = 22) -> str:
    """A name that fits beside a chart."""
    return name if len(name) <= most else name[: most - 1] + "…"


def unit_chart(
    label: str,
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    across: str,
    up: str,
    points: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    bars: Mapping[str, tuple[Sequence[float], Sequence[float], Sequence[float]]] | None = None,
    ends: tuple[float, float] = (0.0, 1.0),
) -> str:
    """Lines of groups over ``ends`` and from 0 to 1, with intervals as ``bars`` (x, low, high), and marked ``points``.

    NaN breaks a line.
    """
    size, height = SIDE + 2 * MARGIN + 110, SIDE + 2 * MARGIN
    low, high = ends

    def at(a: float, b: float) -> tuple[float, float]:
        return MARGIN + SIDE * ((a - low) / (high - low) if high > low else 0.5), MARGIN + SIDE * (1 - b)

    parts = [f'<svg viewBox="0 0 {size} {height}" role="img" aria-label="{escape(label, quote=True)}">']
    parts.append(f'<text x="{MARGIN}" y="16" font-weight="bold">{escape(label)}</text>')
    for k in range(5):
        (x0, y0), (x1, y1) = at(low, k / 4), at(high, k / 4)
        (u0, v0), (u1, v1) = at(low + (high - low) * k / 4, 0), at(low + (high - low) * k / 4, 1)
        parts += [
            f'<line class="grid" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>',
            f'<line class="grid" x1="{u0:.1f}" y1="{v0:.1f}" x2="{u1:.1f}" y2="{v1:.1f}"/>',
            f'<text x="{x0 - 5:.1f}" y="{y0 + 4:.1f}" text-anchor="end">{k / 4:g}</text>',
            f'<text x="{u0:.1f}" y="{v0 + 15:.1f}" text-anchor="middle">{low + (high - low) * k / 4:.4g}</text>',
        ]
    parts.append(f'<text x="{MARGIN + SIDE / 2}" y="{height - 6}" text-anchor="middle">{escape(across)}</text>')
    parts.append(
        f'<text transform="translate(11,{MARGIN + SIDE / 2}) rotate(-90)" text-anchor="middle">{escape(up)}</text>'
    )
    for number, (name, (xs, ys)) in enumerate(lines.items()):
        paint = colour(number)
        for a, b, c in zip(*(bars or {}).get(name, ((), (), ())), strict=True):
            (x0, y0), (_, y1) = at(a, b), at(a, c)
            parts.append(
                f'<line x1="{x0:.1f}" x2="{x0:.1f}" y1="{y0:.1f}" y2="{y1:.1f}" stroke="{paint}" opacity=".5"/>'
            )
        for run in _runs(xs, ys):
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(a, b) for a, b in run))
            parts.append(f'<polyline points="{path}" fill="none" stroke="{paint}" stroke-width="2"/>')
        for a, b in (points or {}).get(name, ()):
            x, y = at(a, b)
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{paint}" stroke="#222"/>')
        y = MARGIN + 16 * number
        parts.append(f'<rect x="{MARGIN + SIDE + 10}" y="{y}" width="10" height="4" fill="{paint}"/>')
        parts.append(f'<text x="{MARGIN + SIDE + 24}" y="{y + 6}">{escape(shorten(name, 16))}</text>')
    return "".join([*parts, "</svg>"])


def _runs(xs: Sequence[float], ys: Sequence[float]) -> list[list[tuple[float, float]]]:
    """The pieces of a line between gaps."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for x, y in zip(xs, ys, strict=True):
        if np.isnan(x) or np.isnan(y):
            pieces.append([])
        else:
            pieces[-1].append((float(x), float(y)))
    return [piece for piece in pieces if piece]
