"""Plain line and bar charts as SVG text, made of nothing but numbers: the same numbers, the same bytes.

No library draws here, because pictures are compared byte by byte and another version of one would draw others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#1b6ca8", "#d1495b", "#3d8b37", "#8e5ea2", "#c77d0a", "#4a4a4a", "#2a9d8f", "#b56576")
GREY, PALE = "#555555", "#dddddd"
FONT = "font-family='Helvetica, Arial, sans-serif'"
MOST_NAMES = 8
POINT = 6.2
"""How wide a letter of 11 pixels is taken to be: fonts differ, so that room is left."""


@dataclass(frozen=True)
class Line:
    """A named line through points; dashed where it is there to compare with."""

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False


@dataclass(frozen=True)
class Box:
    """Where a chart's axes lie, and the logarithmic ranges they show; with ``names``, places on x are 0, 1, 2, ..."""

    left: float
    top: float
    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]
    names: Sequence[str] = ()

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Pixels of a point."""
        across = _share(x, self.x, log=not self.names)
        up = _share(y, self.y, log=True)
        return self.left + across * self.width, self.top + (1 - up) * self.height


def _share(value: float, ends: tuple[float, float], *, log: bool) -> float:
    low, high = (math.log10(end) for end in ends) if log else ends
    place = math.log10(value) if log else value
    return (place - low) / (high - low) if high > low else 0.5


def decades(values: Iterable[float]) -> tuple[float, float]:
    """The powers of ten around all values.

    >>> decades([3.0, 250.0])
    (1.0, 1000.0)
    """
    found = list(values)
    low, high = math.floor(math.log10(min(found))), math.ceil(math.log10(max(found)))
    return 10.0**low, 10.0 ** max(high, low + 1)


def power(value: float) -> str:
    """A power of ten as people write it.

    >>> [power(value) for value in (0.001, 1.0, 100.0, 1e6)]
    ['0.001', '1', '100', '1e6']
    """
    exponent = round(math.log10(value))
    if -3 <= exponent <= 4:
        return f"{10.0**exponent:,.{max(0, -exponent)}f}"
    return f"1e{exponent}"


def text(x: float, y: float, said: str, *, anchor: str = "start", size: int = 11, colour: str = GREY) -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' {FONT} font-size='{size}' fill='{colour}' text-anchor='{anchor}'>"
        f"{escape(said)}</text>"
    )


def segment(x1: float, y1: float, x2: float, y2: float, colour: str = PALE) -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}' stroke-width='1'/>"


def bar(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f"<rect x='{x:.1f}' y='{y:.1f}' width='{max(width, 0.5):.1f}' height='{height:.1f}' fill='{colour}'/>"


def picture(width: float, height: float, parts: Iterable[str]) -> str:
    """A whole SVG file, on white."""
    size = f"width='{width:g}' height='{height:g}'"
    start = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' {size} role='img'>"
    return "\n".join([start, bar(0, 0, width, height, "#ffffff"), *parts, "</svg>"]) + "\n"


def powers(ends: tuple[float, float]) -> list[float]:
    """Every power of ten from one end to the other."""
    return [10.0**n for n in range(round(math.log10(ends[0])), round(math.log10(ends[1])) + 1)]


def axes(box: Box, title: str, x_label: str, y_label: str) -> list[str]:
    """The frame of a chart: a grid at every power of ten, and what is shown."""
    right, bottom = box.left + box.width, box.top + box.height
    parts = [text(box.left, box.top - 12, title, size=13, colour="#222222")]
    for value in powers(box.y):
        _, y = box.place(box.x[0], value)
        parts += [segment(box.left, y, right, y), text(box.left - 6, y + 4, power(value), anchor="end")]
    every = -(-len(box.names) // MOST_NAMES)
    ticks = [(float(i), name) for i, name in enumerate(box.names) if i % every == 0] if box.names else []
    for value, name in ticks or [(value, power(value)) for value in powers(box.x)]:
        x, _ = box.place(value, box.y[0])
        parts += [segment(x, box.top, x, bottom), text(x, bottom + 16, name, anchor="middle")]
    parts.append(text(box.left + box.width / 2, bottom + 34, x_label, anchor="middle"))
    middle = box.top + box.height / 2
    parts.append(
        f"<g transform='rotate(-90 {box.left - 48:.1f} {middle:.1f})'>"
        + text(box.left - 48, middle, y_label, anchor="middle")
        + "</g>"
    )
    return parts


def polyline(box: Box, line: Line, colour: str) -> list[str]:
    """A line with a dot at every point."""
    places = [box.place(x, y) for x, y in line.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dash = " stroke-dasharray='5 4'" if line.dashed else ""
    parts = [f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2'{dash}/>"]
    return parts + [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='{colour}'/>" for x, y in places]


def legend(left: float, top: float, lines: Sequence[Line]) -> list[str]:
    """A name beside a stroke of its colour, one below the other."""
    parts = []
    for number, line in enumerate(lines):
        y = top + 18 * number
        dash = " stroke-dasharray='5 4'" if line.dashed else ""
        colour = COLOURS[number % len(COLOURS)]
        parts.append(
            f"<line x1='{left:.1f}' y1='{y:.1f}' x2='{left + 22:.1f}' y2='{y:.1f}' stroke='{colour}' "
            f"stroke-width='2'{dash}/>"
        )
        parts.append(text(left + 28, y + 4, line.name))
    return parts


def line_chart(title: str, x_label: str, y_label: str, lines: Sequence[Line], names: Sequence[str] = ()) -> str:
    """Lines on logarithmic axes, or over places that have names, and what each line is at the right."""
    room = 50 + POINT * max(len(line.name) for line in lines)
    xs = [x for line in lines for x, _ in line.points]
    ends = (0.0, max(1.0, len(names) - 1.0)) if names else decades(xs)
    box = Box(70, 40, 480, 300, ends, decades(y for line in lines for _, y in line.points), names)
    parts = axes(box, title, x_label, y_label)
    for number, line in enumerate(lines):
        parts += polyline(box, line, COLOURS[number % len(COLOURS)])
    parts += legend(box.left + box.width + 16, box.top + 8, lines)
    return picture(box.left + box.width + 16 + room, max(box.top + box.height + 50, 60 + 18 * len(lines)), parts)
