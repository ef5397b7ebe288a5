"""``fastdp sanitize``: a file as its plan says."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click


@click.command("sanitize")
@click.argument("source", metavar="IN", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "-p", "--plan", "plan_path", required=True, type=click.Path(exists=True, dir_okay=False), help="The plan, in TOML."
)
@click.option("-o", "--output", type=click.Path(), help="The file to write; it must not exist.")
@click.option("--force", is_flag=True, help="Replace an existing output.")
@click.option("-n", "--dry-run", is_flag=True, help="Check plan and file, say what would be done, write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the receipt as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def command(
    source: str, plan_path: str, output: str | None, *, force: bool, dry_run: bool, as_json: bool, quiet: bool
) -> None:
    """Sanitize the Parquet or Arrow file IN, column by column, as its plan says.

    The output appears when it is complete, with a receipt beside it (OUT.receipt.json); on any error nothing is left.

    \b
    Examples:
      fastdp plan init people.parquet > plan.toml
      fastdp sanitize people.parquet -p plan.toml --dry-run
      fastdp sanitize people.parquet -p plan.toml -o private.parquet
    """
    if output is None and not dry_run:
        raise click.UsageError("say where to write: -o OUT (or try it with --dry-run)")
    from pathlib import Path

    from fastdp.tables.plan import Plan
    from fastdp.tables.receipt import Receipt
    from fastdp.tables.sanitize import Job, sanitize

    plan = Plan.load(plan_path)
    if dry_run:
        job = Job(source, plan)
        if output is not None:
            job.check_output(Path(output), force=force)
        if as_json:
            guarantee = Receipt(plan, job.source.rows or 0, unsafe=False).to_dict()["guarantee"]
            click.echo(json.dumps({"rows": job.source.rows, "guarantee": guarantee}, indent=2, ensure_ascii=False))
        else:
            from fastdp.cli.plan import show

            show(plan)
        return
    assert output is not None
    with _shown_warnings(quiet=quiet), _progress(quiet=quiet) as progress:
        receipt = sanitize(source, plan, output, force=force, progress=progress)
    if as_json:
        click.echo(receipt.to_json(), nl=False)
    if not quiet:
        from fastdp.tables.explain import explain_total

        click.echo(f"{receipt.rows:,} records written to {output}", err=True)
        for line in explain_total(plan):
            click.echo(line, err=True)


@contextmanager
def _shown_warnings(*, quiet: bool) -> Iterator[None]:
    """Warnings as one line each, without the place in the code."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if not quiet and warning.category is UserWarning:
            click.echo(f"warning: {warning.message}", err=True)


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[int, int | None], None] | None]:
    """Rows, rate and time left, on a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Any:
            return f"{(task.speed or 0) / 1e6:.1f} M/s"

    bar = (TextColumn("{task.description} records"), BarColumn(), Rate(), TimeRemainingColumn())
    with Progress(*bar, console=console, transient=True) as shown:
        task = shown.add_task("0", total=None)

        def update(done: int, total: int | None) -> None:
            said = f"{done:,}" if total is None else f"{done:,} of {total:,}"
            shown.update(task, completed=done, total=total, description=said)

        yield update
