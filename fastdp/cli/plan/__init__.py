"""``fastdp plan``: a plan to start from, and a plan explained."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from fastdp.cli.files import csv_options

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

    A plan says what becomes of every column: kept, dropped, made coarser, given pseudonyms, or randomized.

    \b
    Examples:
      fastdp plan init people.parquet > plan.toml            a plan to start from
      fastdp plan init people.parquet --profile > plan.toml  with proposals
      fastdp plan check plan.toml people.parquet             all problems at once
      fastdp plan key ids.key                                for pseudonyms
      fastdp plan schema > plan.schema.json                  for editors
    """


@command.command("init", short_help="Print a commented plan for FILE.")
@click.argument("source", metavar="FILE", type=click.Path(exists=True, allow_dash=True))
@FROM
@csv_options
@click.option("--profile", is_flag=True, help="Read the data for your eyes, and propose mechanisms by public rules.")
@click.option("--write-domains", is_flag=True, help="With --profile: write labels that were read into the plan.")
def init(
    source: str, *, input_format: str | None, csv: dict[str, str | None], profile: bool, write_domains: bool
) -> None:
    """Print a commented plan for FILE, from its names and types only, never from its data.

    With --profile the data are read, and what was seen is said on standard error, for the owner's eyes alone. Bounds
    come from public rules. Nothing of the data is in the plan, unless --write-domains puts labels there.

    FILE is what `fastdp sanitize` reads: a Parquet, Arrow or CSV file, a folder of Parquet files, or "-".

    \b
    Examples:
      fastdp plan init people.parquet > plan.toml
      fastdp plan init people.csv > plan.toml
      fastdp plan init people.parquet --profile > plan.toml
    """
    if write_domains and not profile:
        raise click.UsageError("--write-domains belongs to --profile, which reads them")
    from fastdp.io.csv import CsvSource
    from fastdp.io.open import open_source
    from fastdp.plans.documents.template import skeleton

    opened = open_source("plan", source, input_format=input_format, csv=csv)
    if profile:
        from fastdp.cli.plan.profile import print_profile

        print_profile(opened, write_domains=write_domains)
        return
    click.echo(skeleton(opened.schema, typed=not isinstance(opened, CsvSource)), nl=False)


@command.command("check", short_help="Explain PLAN, and list all problems of FILE under it.")
@click.argument("plan_path", metavar="PLAN", type=click.Path(exists=True, dir_okay=False))
@click.argument("source", metavar="[FILE]", required=False, type=click.Path(exists=True, allow_dash=True))
@FROM
@csv_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--show-values", is_flag=True, help="Show up to ten offending values, on a terminal only.")
def check(
    plan_path: str,
    source: str | None,
    *,
    input_format: str | None,
    csv: dict[str, str | None],
    as_json: bool,
    show_values: bool,
) -> None:
    """Explain PLAN: per column or group the mechanism, its effective guarantee and the error to expect, and the total.

    With FILE, also read it once and list every problem, with the line of the plan and the line to add, and say how
    unique the columns make rows that are kept. Counts are for the owner of the data.

    \b
    Examples:
      fastdp plan check plan.toml
      fastdp plan check plan.toml people.parquet --json
    """
    from fastdp.plans.plan import Plan
    from fastdp.validation import visible_text

    if source != "-":
        from fastdp.cli.plan.problems import list_problems

        list_problems(plan_path, source, input_format, csv, show_values=show_values)
    plan = Plan.load(plan_path)
    kept = records = None
    job: Job | None = None
    widened: list[str] = []
    if source is not None and any(part.action != "drop" for part in plan.parts):
        from fastdp.tables.sanitizing.job import Job

        job = Job(source, plan, input_format=input_format, owner="plan", csv=csv)
        records = job.source.rows
        kept = count_kept(job, source, input_format)
        widened = explain_types(job)
    if as_json:
        from fastdp.plans.explain import as_data

        stated = as_data(plan) if kept is None else {**as_data(plan), "kept": _uniqueness(kept)}
        if job is not None:
            stated["types"] = {field.name: str(field.type) for field in job.schema}
        click.echo(json.dumps(stated, indent=2, ensure_ascii=False))
        return
    show(plan, records)
    for line in widened:
        click.echo(visible_text(line))
    for warning in warn_of(plan):
        click.echo(f"warning: {warning}", err=True)
    if kept is not None:
        click.echo()
        for line in explain_kept(kept):
            click.echo(visible_text(line))


def count_kept(job: Job, source: str, input_format: str | None) -> Classes | None:
    """The classes of a file by the columns that a plan keeps as they are; None if it keeps none, or it is a pipe."""
    import pyarrow as pa

    from fastdp.anonymity.classes import classes
    from fastdp.columns.arrow import plain_type
    from fastdp.io.csv import CsvSource
    from fastdp.tables.sanitizing.struct_fields import FlatSource

    names = [
        entry.name
        for entry in job.plan.columns.values()
        if entry.action == "keep" and not pa.types.is_nested(plain_type(job.source.schema.field(entry.name).type))
    ]
    if not names or job.source.path is None or job.source.rows == 0:
        return None
    table: Any = source
    if isinstance(job.source, CsvSource | FlatSource):  # in a dialect, or with the fields of structs as columns
        schema = pa.schema([job.source.schema.field(name) for name in names])
        table = pa.RecordBatchReader.from_batches(schema, job.source.batches(names, None, []))
    return classes(table, names, nulls="value", input_format=input_format)


def explain_kept(kept: Classes) -> list[str]:
    """What columns that are kept tell apart, in words."""
    from fastdp.anonymity.findings import people

    unique = people(kept.unique, SHOWN)
    share = f" ({kept.unique / kept.rows:.1%})" if unique[0].isdigit() else ""
    made = f"they make {unique} of {kept.rows:,} rows unique{share}, k = {kept.k:,}"
    lines = [f"kept as they are: {', '.join(kept.quasi)}; {made}"]
    if kept.unique:
        lines.append("whoever knows them of a person finds that person's row: drop, coarsen or randomize some of them")
    return lines


def explain_types(job: Job) -> list[str]:
    """Columns that are released in another type than they came in, such as a wider one that holds the noise."""
    before = {field.name: field.type for field in job.source.schema}
    changed = [
        f"{field.name} {before[field.name]} as {field.type}" for field in job.schema if field.type != before[field.name]
    ]
    return [f"released in other types: {', '.join(changed)}", ""] if changed else []


def _uniqueness(kept: Classes) -> dict[str, Any]:
    return {"columns": list(kept.quasi), "rows": kept.rows, "classes": kept.count, "k": kept.k, "unique": kept.unique}


def show(plan: Plan, records: int | None = None) -> None:
    """The plan as a table on standard output, then the total."""
    from fastdp.cli.terminal.tables import show_table
    from fastdp.plans.explain import explain, explain_total
    from fastdp.validation import visible_text

    lines = [(visible_text(line.column), line.action, line.guarantee, line.error) for line in explain(plan, records)]
    show_table(("column", "", "effective guarantee", "95 % of errors within"), lines)
    click.echo()
    for total in explain_total(plan):
        click.echo(visible_text(total))


LARGE = 10.0
"""An epsilon of one record beyond which a plan is warned of."""


def warn_of(plan: Plan) -> list[str]:
    """What a plan does that its author may not have meant."""
    from fastdp.plans.documents.kinds import DIRECT, kind_by_name
    from fastdp.validation import visible_text

    kept = [part.name for part in plan.parts if part.action == "keep" and kind_by_name(part.name) in DIRECT]
    if all(part.action == "drop" for part in plan.parts):
        return ["every column is dropped: nothing would be written"]
    warnings = [f"column {visible_text(repr(name))} is kept, and its name tells of a person" for name in kept]
    total = plan.privacy.record
    if total is not None and total.epsilon is not None and total.epsilon > LARGE:
        warnings.append(f"one record costs epsilon {total.epsilon:.3g} in all, which hides little: lower some of them")
    return warnings


@command.command("key", short_help="Write a fresh key for pseudonyms to FILE.")
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False))
def key(path: str) -> None:
    """Write a fresh key for pseudonyms to FILE, which its owner alone may read (0600). It replaces no file.

    The same id has the same pseudonym in every file that is sanitized with this key: rows stay linkable, which is not
    differential privacy. Whoever has the key can tell which pseudonym an id has.

    \b
    Examples:
      fastdp plan key ids.key
    """
    from pathlib import Path

    from fastdp.plans.public.pseudonym import LINKABLE, write_key

    write_key(Path(path))
    click.echo(f"{path} written; guard it. Pseudonyms are {LINKABLE}", err=True)


@command.command("schema", short_help="Print the JSON Schema of plans, for editors.")
def schema() -> None:
    """Print the JSON Schema of plans, for editors that check TOML.

    \b
    Examples:
      fastdp plan schema > plan.schema.json
    """
    from fastdp.plans.documents.schema import plan_schema

    click.echo(json.dumps(plan_schema(), indent=2))
