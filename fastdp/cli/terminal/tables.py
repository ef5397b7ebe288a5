"""Tables of text that fit the window, or 80 columns where there is none."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

import click

from fastdp.cli.terminal.screen import has_colour

NARROW = 80
"""Columns of a table that goes to a file or a pipe, and of a window that is narrower."""


def window_width() -> int:
    """Columns of the window."""
    return max(NARROW, shutil.get_terminal_size((NARROW, 24)).columns) if sys.stdout.isatty() else NARROW


def show_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on standard output, whose cells are wrapped where it would be too wide."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, name in enumerate(head):
        made.add_column(Text(name), overflow="fold", no_wrap=place == 1)
    for row in rows:
        made.add_row(*map(Text, row))
    colour = has_colour(sys.stdout)
    console = Console(
        width=window_width(), highlight=False, force_terminal=colour, color_system="standard" if colour else None
    )
    with console.capture() as captured:
        console.print(made)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())
