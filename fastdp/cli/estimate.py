"""``fastdp estimate``: what a sanitized file tells about everyone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fastdp.cli.files import csv_options

if TYPE_CHECKING:
    from fastdp.plans.plan import Plan
    from fastdp.tables.estimating.results import TableEstimate


@click.command("estimate")
@click.argument("source", metavar="FILE", type=click.Path(exists=True, allow_dash=True))
@click.option(
    "-p", "--plan", "plan_path", type=click.Path(exists=True, dir_okay=False), help="Its plan; default: its receipt's."
)
@click.option("-c", "--column", "columns", multiple=True, help="Only this column; may be given several times.")
@click.option("--bins", type=click.IntRange(2, 4096), help="Also the distribution of numbers, over so many ranges.")
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="The level of each interval.",
)
@click.option("--unbiased", is_flag=True, help="Estimate each share by itself; it may lie below 0 or above 1.")
@click.option("--chart", is_flag=True, help="Draw bars, as wide as the window.")
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="Shares shown of each column.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all shares.")
@click.option("-o", "--output", type=click.Path(), help="Write all shares to a .parquet, .arrow or .csv file.")
@click.option("--force", is_flag=True, help="Replace an existing output file.")
@click.option("-n", "--dry-run", is_flag=True, help="Check plan and file, print what would be estimated, read no rows.")
@click.option(
    "--from",
    "input_format",
    type=click.Choice(["parquet", "arrow", "csv"]),
    help="The format of FILE, where its content and name do not tell.",
)
@csv_options
@click.option("-v", "--verbose", is_flag=True, help="Say how each estimate was made.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but the estimates and errors.")
def command(
    source: str,
    plan_path: str | None,
    columns: tuple[str, ...],
    *,
    bins: int | None,
    confidence: float,
    unbiased: bool,
    chart: bool,
    top: int,
    as_json: bool,
    output: str | None,
    force: bool,
    dry_run: bool,
    input_format: str | None,
    csv: dict[str, str | None],
    verbose: bool,
    quiet: bool,
) -> None:
    """Estimate shares, means and distributions from the sanitized FILE, with confidence intervals.

    FILE is Parquet, Arrow or CSV, a folder of Parquet files, or "-" for standard input. It is read once, whatever its
    size. Shares are of categories and truth values; of numbers the mean is estimated, and with --bins the
    distribution, where bounds are declared. Without a plan the one in the file's receipt is used.

    \b
    Examples:
      fastdp estimate private.parquet
      fastdp estimate private.parquet -p plan.toml -c disease --chart
      fastdp estimate private.parquet --bins 20 --confidence 0.99 --json
      fastdp estimate private.parquet -o estimates.parquet
      fastdp estimate private.parquet --dry-run
    """
    if quiet and verbose:
        raise click.UsageError("-q and -v contradict each other")
    if as_json and (chart or output):
        raise click.UsageError("--json prints everything on standard output; leave out --chart and -o")
    from fastdp.cli.files import check_outputs, check_table_name, table_writer, write_together
    from fastdp.cli.terminal.screen import progress
    from fastdp.plans.plan import Plan
    from fastdp.tables.estimate import estimate_table

    if output is not None:
        check_table_name("-o", Path(output))
        check_outputs("estimate", [Path(output)], {"input": source, "plan": plan_path}, force=force)
    plan = None if plan_path is None else Plan.load(plan_path)
    if dry_run:
        _explain(
            source, plan, columns, as_json=as_json, bins=bins, unbiased=unbiased, input_format=input_format, csv=csv
        )
        return
    with progress(quiet=quiet) as update:
        found = estimate_table(
            source,
            plan,
            columns,
            level=confidence,
            bins=bins,
            unbiased=unbiased,
            input_format=input_format,
            csv=csv,
            progress=update,
        )
    if not quiet:
        _note(found, verbose=verbose)
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    elif output is not None:
        path = Path(output)
        write_together("estimate", {path: table_writer(path, found.to_arrow())}, force=force)
        if not quiet:
            click.echo(f"estimates of {len(found)} columns written to {output}", err=True)
    else:
        from fastdp.cli.terminal.charts import show

        show(found, top=top, chart=chart)


def _explain(source: str, plan: Plan | None, columns: tuple[str, ...], *, as_json: bool, **options: Any) -> None:
    """What would be estimated, and what would not and why."""
    from fastdp.tables.estimate import open_subjects
    from fastdp.validation import visible_text

    opened, subjects, skipped = open_subjects(source, plan, columns, **options)
    estimated = {subject.name: str(subject.part.given["mechanism"]) for subject in subjects}
    if as_json:
        shown = {"rows": opened.rows, "estimated": estimated, "skipped": skipped}
        click.echo(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    for name, mechanism in estimated.items():
        click.echo(f"{visible_text(name)}: estimated from {mechanism} reports")
    for name, reason in skipped.items():
        click.echo(f"{visible_text(name)}: {reason}")


def _note(found: TableEstimate, *, verbose: bool) -> None:
    """On standard error: columns without an estimate, and how the others were made."""
    from fastdp.validation import visible_text

    reasons: dict[str, list[str]] = {}
    for name, reason in found.skipped.items():
        reasons.setdefault(reason, []).append(visible_text(name))
    for reason, names in reasons.items():
        click.echo(f"{', '.join(names)}: {reason}", err=True)
    for estimate in found if verbose else ():
        click.echo(f"{visible_text(estimate.column)}: {estimate.kind} by {estimate.method}", err=True)
