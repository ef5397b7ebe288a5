"""Every problem of a plan on one screen."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fastdp.cli.terminal.screen import has_colour
from fastdp.validation import visible_text


def list_problems(
    plan_path: str, source: str | None, input_format: str | None, csv: dict[str, str | None], *, show_values: bool
) -> None:
    """Print all problems and end the command, if there are any."""
    from fastdp.tables.problems import find_problems

    if show_values and not sys.stdout.isatty():
        raise click.UsageError("--show-values shows records' values, on a terminal only")
    found = find_problems(Path(plan_path), source, input_format, csv)
    if not found:
        return
    colour = has_colour(sys.stderr)
    for problem in found:
        place = f"{plan_path}:{problem.line}" if problem.line else plan_path
        counted = f"{problem.count:,} " if problem.count else ""
        wording = f"{counted}{problem.what}"
        name = visible_text(problem.column)
        head = click.style(place, bold=True) if colour else place
        click.echo(f"{head}: {click.style(name, fg='red') if colour else name}: {visible_text(wording)}", err=True)
        if problem.add:
            click.echo(f"    add: {problem.add}", err=True)
        if show_values and problem.values:
            click.echo(f"    values: {visible_text(', '.join(map(repr, problem.values)))}")
    click.echo(f"fastdp: {len(found)} problem{'s' if len(found) > 1 else ''} in {plan_path}", err=True)
    raise click.exceptions.Exit(max(problem.code for problem in found))
