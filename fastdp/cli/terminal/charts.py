"""Estimates as text: a table of numbers, or bars as wide as the window."""

from __future__ import annotations

import math
import re
import shutil
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from fastdp.cli.terminal.screen import draw_bar, draws_blocks, has_colour, in_digits, in_digits_together
from fastdp.validation import visible_text

if TYPE_CHECKING:
    from fastdp.tables.estimating.results import ColumnEstimate, Line, TableEstimate

NARROWEST, WIDEST = 10, 60
"""Characters of the longest bar."""
LONGEST_NAME, LONGEST_RANGE = 32, 44
SMALLEST_SHARE = 1e-4
"""A share below it is shown as none."""
_SECONDS = re.compile(r"(T\d\d:\d\d):\d\d(\.\d+)?")
"""What of a moment is too fine to be read in a table; JSON and files have it."""
UNDETERMINED = "not determined"
NO_INTERVAL = "no interval"


def show(found: TableEstimate, *, top: int, chart: bool) -> None:
    """The estimates on standard output, the largest ``top`` shares of each column."""
    for number, estimate in enumerate(found):
        if number:
            click.echo()
        _show(estimate, top, chart=chart)


def choose_lines(estimate: ColumnEstimate, top: int) -> tuple[list[Line], int]:
    """The lines that are shown and the number of the others: ranges all, in order; of many shares the largest."""
    lines = list(estimate.lines)
    if estimate.kind != "shares" or len(lines) <= top:
        return lines, 0
    return sorted(lines, key=lambda line: -line.estimate)[:top], len(lines) - top


def _show(estimate: ColumnEstimate, top: int, *, chart: bool) -> None:
    lines, left = choose_lines(estimate, top)
    colour = has_colour(sys.stdout)
    title = f"{visible_text(estimate.column)}: {estimate.kind} from {estimate.reports:,} reports ({estimate.mechanism})"
    click.echo(click.style(title, bold=True) if colour else title)
    show_number = _digits_of(estimate)
    longest = LONGEST_RANGE if estimate.kind == "distribution" and not chart else LONGEST_NAME
    names = [_shorten(_SECONDS.sub(r"\1", visible_text(estimate.name_of(line))), longest) for line in lines]
    numbers = [show_number(line.estimate) if line.determined else "" for line in lines]
    intervals = [_interval(line, show_number) for line in lines]
    heading = ("value", "estimate", f"{100 * estimate.level:g} % interval")
    widths = [max(map(len, (head, *part))) for head, part in zip(heading, (names, numbers, intervals), strict=True)]
    has_bars = chart and estimate.kind in {"shares", "distribution"}
    bars = _bars(lines, sum(widths) + 8) if has_bars else [""] * len(lines)
    click.echo(f"  {heading[0]:<{widths[0]}}  {heading[1]:>{widths[1]}}  {heading[2]}")
    for name, number, interval, bar in zip(names, numbers, intervals, bars, strict=True):
        line = f"  {name:<{widths[0]}}  {number:>{widths[1]}}  {interval:<{widths[2]}}"
        shown = click.style(bar, fg="cyan") if colour and bar else bar
        click.echo(f"{line}  {shown}" if bar else line.rstrip())
    if left:
        rest = sum(line.estimate for line in estimate.lines) - sum(line.estimate for line in lines)
        click.echo(f"  and {left:,} more values with {in_digits(rest)} together (--top, --json or -o for all)")


def _digits_of(estimate: ColumnEstimate) -> Callable[[float], str]:
    """How the numbers of an estimate are written: moments as such, others in digits."""
    if estimate.kind in {"mean", "quartiles"} and estimate.ticks is not None:
        return lambda number: _SECONDS.sub(r"\1", estimate.show(number) or "unknown")
    if estimate.kind not in {"mean", "quartiles"}:
        return _share
    numbers = [number for line in estimate.lines for number in (line.estimate, line.low, line.high)]
    return in_digits_together(number for number in numbers if math.isfinite(number))


def _share(part: float) -> str:
    """A share, without exponents."""
    return in_digits(part if abs(part) >= SMALLEST_SHARE else 0.0)


def _interval(line: Line, show_number: Callable[[float], str]) -> str:
    if not line.determined:
        return UNDETERMINED
    return NO_INTERVAL if math.isnan(line.low) else f"[{show_number(line.low)}, {show_number(line.high)}]"


def _bars(lines: list[Line], taken: int) -> list[str]:
    """One bar per line: the estimate, and paler up to the end of its interval; the longest fills the window."""
    width = min(max(shutil.get_terminal_size().columns - taken, NARROWEST), WIDEST)
    ends = [max(line.estimate, 0.0 if math.isnan(line.high) else line.high) * line.determined for line in lines]
    longest = max(ends)
    if not longest > 0:
        return [""] * len(lines)
    blocks = draws_blocks(sys.stdout)
    return [
        draw_bar(line.estimate / longest, end / longest, width, blocks=blocks) if line.determined else ""
        for line, end in zip(lines, ends, strict=True)
    ]


def _shorten(name: str, longest: int) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"
