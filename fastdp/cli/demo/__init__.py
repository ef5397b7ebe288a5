"""``fastdp demo``: a table of people, planned, sanitized and estimated back in front of your eyes."""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fastdp.cli.demo.people import Truth
    from fastdp.plans.plan import Plan
    from fastdp.tables.estimating.results import TableEstimate

BUDGET, AGE_BUDGET = 10.0, 1.0
"""What the demo's ledger allows in all, and per unit of distance of the ages."""
PAID = "Paid from a ledger before a record was read; a second run like this would still fit, a third not."


def _rows(_context: click.Context, _parameter: click.Parameter, value: str) -> int:
    try:
        rows = int(float(value))
    except (ValueError, OverflowError):
        raise click.BadParameter("must be a number such as 1e6") from None
    if rows < 1:
        raise click.BadParameter("must be at least 1")
    return rows


@click.command("demo")
@click.option("--rows", default="1e7", show_default=True, callback=_rows, help="Records in the generated table.")
@click.option("--threads", type=click.IntRange(min=1), default=None, help="Threads to use; default: all cores.")
@click.option("--keep", type=click.Path(file_okay=False), help="Leave table, plan and release in this folder.")
@click.option("-n", "--dry-run", is_flag=True, help="Show the plan, make no table.")
@click.option("--json", "as_json", is_flag=True, help="Print truth, noisy and restored as JSON, and nothing else.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but the results.")
def command(rows: int, threads: int | None, keep: str | None, *, dry_run: bool, as_json: bool, quiet: bool) -> None:
    """Sanitize a generated table of ten million people, estimate it back, and answer questions about it.

    Writes the table to a Parquet file, shows a plan for it, sanitizes it to another Parquet file, and estimates from
    that file alone what is true of everyone: truth, noisy and restored side by side. Then answers three questions from
    the table itself. Both are paid from one ledger, and what is left of it is shown.

    \b
    Examples:
      fastdp demo
      fastdp demo --rows 1e6 --threads 1
      fastdp demo --rows 1e5 --json
      fastdp demo --keep demo        then: fastdp estimate demo/private.parquet --chart
    """
    from fastdp import set_threads
    from fastdp.accounting.ledger import Ledger
    from fastdp.cli.demo import people, questions
    from fastdp.cli.files import write_together
    from fastdp.cli.plan import show as show_plan
    from fastdp.cli.terminal.ledger import bars, describe
    from fastdp.cli.terminal.screen import progress
    from fastdp.plans.plan import Plan
    from fastdp.tables.estimate import estimate_table
    from fastdp.tables.sanitize import sanitize

    if threads:
        set_threads(threads)
    plan = Plan.loads(people.PLAN)
    if not as_json:
        click.echo(f"The plan for {rows:,} people, of whom nobody exists:\n")
        click.echo(people.PLAN)
        show_plan(plan)
    if dry_run:
        if as_json:
            click.echo(json.dumps({"rows": rows, "plan": plan.to_dict()}, indent=2))
        return
    with _folder(keep) as folder:
        table, release = folder / "people.parquet", folder / "private.parquet"
        _compile(plan, quiet=quiet)
        truth = people.Truth()
        with progress(quiet=quiet, doing="writing") as update:
            write_together(
                "demo",
                {
                    table: lambda file: people.write_people(file, rows, truth, update),
                    folder / "plan.toml": lambda file: file.write(people.PLAN.encode()),
                },
                force=False,
            )
        ledger = Ledger.create(folder / "people.ledger", epsilon=BUDGET, name="people", metric={"age": AGE_BUDGET})
        began = time.perf_counter()
        with progress(quiet=quiet, doing="sanitizing") as update:
            receipt = sanitize(table, plan, release, progress=update, ledger=ledger, name="demo")
        seconds = time.perf_counter() - began
        with progress(quiet=quiet, doing="estimating") as update:
            found = estimate_table(release, plan, progress=update)
        restored = time.perf_counter() - began - seconds
        with progress(quiet=quiet, doing="answering") as update:
            given, answering = questions.ask_timed(table, ledger, truth, update)
        seen, size = people.look_at(release), release.stat().st_size
        budget, left = describe(ledger), bars(ledger, "people.ledger")
    lines = _compare(found, truth, seen)
    if as_json:
        shown = {
            "rows": receipt.rows,
            "seconds": {"sanitize": seconds, "estimate": restored, "answer": answering},
            "columns": lines,
            "answers": given,
            "budget": budget,
        }
        click.echo(json.dumps(shown, indent=2))
        return
    _show(lines, truth.rows)
    rate = len(plan.randomized) * rows / seconds / 1e6
    click.echo(
        f"{receipt.rows:,} records sanitized in {seconds:.1f} s: {rate:,.1f} million values per second,"
        f" with reading and writing {size / 1e6:,.0f} MB of Parquet. Estimated back in {restored:.1f} s."
    )
    questions.show(given, answering)
    click.echo("\n".join(["", PAID, *left]))
    if keep is not None:
        click.echo(f"Left in {keep}: people.parquet, plan.toml, people.ledger, private.parquet with its receipt.")


@contextlib.contextmanager
def _folder(keep: str | None) -> Iterator[Path]:
    """A folder for the files: one that goes away, or one to keep, in which nothing is written over."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="fastdp-demo-") as name:
            yield Path(name)
        return
    from fastdp.errors import OutputExistsError

    folder = Path(keep)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("people.parquet", "plan.toml", "people.ledger", "private.parquet", "private.parquet.receipt.json"):
        if (folder / name).exists():
            raise OutputExistsError(f"demo: {str(folder / name)!r} exists; choose another folder")
    yield folder


def _compile(plan: Plan, *, quiet: bool) -> None:
    """Run everything once on a few people, so that compiling is in nobody's clock."""
    import pyarrow as pa
    from rich.console import Console

    from fastdp.cli.demo import people, questions
    from fastdp.tables.estimate import estimate_table
    from fastdp.tables.sanitize import sanitize

    console = Console(stderr=True, quiet=quiet)
    with console.status("compiling, only the first time") if console.is_terminal else contextlib.nullcontext():
        few = pa.Table.from_batches(people.batches(1000))
        estimate_table(sanitize(few, plan), plan)
        questions.ask(few)


def _compare(found: TableEstimate, truth: Truth, seen: Truth) -> list[dict[str, Any]]:
    """Truth, noisy and restored side by side, a line for each share and mean."""
    lines = []
    for estimate in found:
        name, is_mean = estimate.column, estimate.kind == "mean"
        for line in estimate.lines if estimate.kind in {"shares", "mean"} else ():
            if line.value is False:
                continue
            true, noisy = (part.mean(name) if is_mean else part.share(name, line.value) for part in (truth, seen))
            half = max(line.high - line.estimate, line.estimate - line.low)
            numbers = {"truth": true, "noisy": noisy, "restored": line.estimate, "within": half}
            lines.append({"column": name, "of": line.name.lower(), **numbers})
    return lines


def _show(lines: list[dict[str, Any]], rows: int) -> None:
    """The lines as a table."""
    from rich.console import Console
    from rich.table import Table

    from fastdp import get_threads

    shown = Table(box=None, pad_edge=False)
    for heading in ("column", "of", "truth", "noisy", "restored", "95 % within"):
        shown.add_column(heading, justify="left" if heading in {"column", "of"} else "right", no_wrap=True)
    for line in lines:
        cells = [_number(line[part], is_mean=line["of"] == "mean") for part in ("truth", "noisy", "restored", "within")]
        shown.add_row(line["column"], line["of"], *cells[:3], f"±{cells[3]}")
    click.echo(f"\n{rows:,} records, sanitized and estimated back on {get_threads()} threads\n")
    Console(highlight=False).print(shown)
    click.echo()


def _number(number: float, *, is_mean: bool) -> str:
    from fastdp.cli.terminal.screen import in_digits

    return in_digits(number) if is_mean else f"{100 * number:.2f} %"
