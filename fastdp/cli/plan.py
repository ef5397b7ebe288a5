"""``fastdp plan``: a plan to start from, and a plan explained."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fastdp.anonymity.classes import Classes
    from fastdp.plans.plan import Plan
    from fastdp.tables.sanitizing.job import Job

SHOWN = 10
"""Numbers of people below this are withheld."""

FROM = click.option(
    "--from",
    "input_format",
    type=click.Choice(["parquet", "arrow", "csv"]),
    help="The format of FILE, where its content and name do not tell.",
)


@click.group("plan")
def command() -> None:
    """Write a plan, or explain one.

    \b
    Examples:
      fastdp plan init people.parquet > plan.toml
      fastdp plan check plan.toml
      fastdp plan check plan.toml people.parquet
    """


@command.command("init")
@click.argument("source", metavar="FILE", type=click.Path(exists=True, allow_dash=True))
@FROM
def init(source: str, *, input_format: str | None) -> None:
    """Print a commented plan for FILE, from its names and types only, never from its data.

    FILE is what `fastdp sanitize` reads: a Parquet, Arrow or CSV file, a folder of Parquet files, or "-".

    \b
    Examples:
      fastdp plan init people.parquet > plan.toml
      fastdp plan init people.csv > plan.toml
    """
    from fastdp.io.csv import CsvSource
    from fastdp.io.open import open_source
    from fastdp.plans.template import skeleton

    opened = open_source("plan", source, input_format=input_format)
    click.echo(skeleton(opened.schema, typed=not isinstance(opened, CsvSource)), nl=False)


@command.command("check")
@click.argument("plan_path", metavar="PLAN", type=click.Path(exists=True, dir_okay=False))
@click.argument("source", metavar="[FILE]", required=False, type=click.Path(exists=True, allow_dash=True))
@FROM
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(plan_path: str, source: str | None, *, input_format: str | None, as_json: bool) -> None:
    """Explain PLAN: per column or group the mechanism, its effective guarantee and the error to expect, and the total.

    With FILE, also check that its columns and types fit, and say how unique the columns make rows that are kept.

    \b
    Examples:
      fastdp plan check plan.toml
      fastdp plan check plan.toml people.parquet --json
    """
    from fastdp.plans.plan import Plan

    plan = Plan.load(plan_path)
    kept = None
    if source is not None:
        from fastdp.tables.sanitizing.job import Job

        job = Job(source, plan, input_format=input_format, owner="plan")
        kept = count_kept(job, source, input_format)
    if as_json:
        from fastdp.plans.explain import as_data

        said = as_data(plan) if kept is None else {**as_data(plan), "kept": _uniqueness(kept)}
        click.echo(json.dumps(said, indent=2, ensure_ascii=False))
        return
    show(plan)
    if kept is not None:
        from fastdp.validation import visible_text

        click.echo()
        for line in explain_kept(kept):
            click.echo(visible_text(line))


def count_kept(job: Job, source: str, input_format: str | None) -> Classes | None:
    """The classes of a file by the columns that a plan keeps as they are; None if it keeps none, or it is a pipe."""
    import pyarrow as pa

    from fastdp.anonymity.classes import classes
    from fastdp.columns.arrow import plain_type

    names = [
        entry.name
        for entry in job.plan.columns.values()
        if entry.action == "keep" and not pa.types.is_nested(plain_type(job.source.schema.field(entry.name).type))
    ]
    if not names or job.source.path is None or job.source.rows == 0:
        return None
    return classes(source, names, nulls="value", input_format=input_format)


def explain_kept(kept: Classes) -> list[str]:
    """What columns that are kept tell apart, in words."""
    from fastdp.anonymity.classes import people

    unique = people(kept.unique, SHOWN)
    share = f" ({kept.unique / kept.rows:.1%})" if unique[0].isdigit() else ""
    made = f"they make {unique} of {kept.rows:,} rows unique{share}, k = {kept.k:,}"
    lines = [f"kept as they are: {', '.join(kept.quasi)}; {made}"]
    if kept.unique:
        lines.append("whoever knows them of a person finds that person's row: drop, coarsen or randomize some of them")
    return lines


def _uniqueness(kept: Classes) -> dict[str, Any]:
    return {"columns": list(kept.quasi), "rows": kept.rows, "classes": kept.count, "k": kept.k, "unique": kept.unique}


def show(plan: Plan) -> None:
    """The plan as a table on standard output, then the total."""
    from fastdp.plans.explain import explain, explain_total
    from fastdp.validation import visible_text

    lines = [("column", "", "effective guarantee", "95 % of errors within")]
    lines += [(visible_text(line.column), line.action, line.guarantee, line.error) for line in explain(plan)]
    widths = [max(len(line[part]) for line in lines) for part in range(4)]
    for line in lines:
        click.echo("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    click.echo()
    for total in explain_total(plan):
        click.echo(visible_text(total))
