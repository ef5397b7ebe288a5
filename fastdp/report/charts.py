"""Lines over a logarithmic axis, as SVG inside a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 460, 260
LEFT, RIGHT, TOP, BOTTOM = 62, 26, 14, 44
COLOURS = ("#777777", "#c03020", "#2060a0", "#208040")


def line_chart(
    label: str,
    places: Sequence[float],
    names: Sequence[str],
    lines: Mapping[str, Sequence[float | None]],
    *,
    across: str,
    marked: int | None = None,
) -> str:
    """An SVG picture of lines through (place, value), from 0 up; places on a logarithmic axis, each with its name.

    ``marked`` is the number of the place that gets an upright line.
    """
    values = [value for line in lines.values() for value in line if value is not None]
    top = _round_up(max(values, default=1.0))
    low, high = math.log(min(places)), math.log(max(places))

    def x(place: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * ((math.log(place) - low) / (high - low) if high > low else 0.5)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label, quote=True)}">']
    for k in range(5):
        level = top * k / 4
        parts += [
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(level):.1f}" y2="{y(level):.1f}"/>',
            f'<text x="{LEFT - 6}" y="{y(level) + 4:.1f}" text-anchor="end">{level:.3g}</text>',
        ]
    for number, (place, name) in enumerate(zip(places, names, strict=True)):
        if number == marked:
            parts.append(f'<line class="mark" x1="{x(place):.1f}" x2="{x(place):.1f}" y1="{TOP}" y2="{y(0):.1f}"/>')
        parts.append(f'<text x="{x(place):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{escape(name)}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH) / 2:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(across)}</text>')
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        dots = [(x(place), y(value)) for place, value in zip(places, line, strict=True) if value is not None]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in dots)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in dots]
        place = TOP + 14 * number + 6
        parts += [
            f'<rect x="{WIDTH - 150}" y="{place - 4}" width="10" height="4" fill="{colour}"/>',
            f'<text x="{WIDTH - 134}" y="{place + 3}">{escape(name)}</text>',
        ]
    return "".join([*parts, "</svg>"])


def _round_up(value: float) -> float:
    """The next of 1, 2, 4, 5 or 8 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 5, 8, 10) if step * power >= value * (1 - 1e-12))
