"""``fastdp report``: a page about a sanitized file, for the people who get it."""

from __future__ import annotations

from pathlib import Path

import click

from fastdp.cli.files import csv_options


@click.command("report")
@click.argument("release", metavar="RELEASE", type=click.Path(exists=True))
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="The page to write.")
@click.option("-p", "--plan", "plan_path", type=click.Path(exists=True, dir_okay=False), help="Default: the receipt's.")
@click.option("--title", default="", help="The title of the page; default: the name of RELEASE.")
@csv_options
@click.option("--bins", type=click.IntRange(2, 4096), default=10, show_default=True, help="Ranges of distributions.")
@click.option("--force", is_flag=True, help="Replace an existing page.")
def command(
    release: str, *, output: str, plan_path: str | None, title: str, bins: int, force: bool, csv: dict[str, str | None]
) -> None:
    """Write a page about RELEASE, a sanitized file: estimates with intervals, guarantees, and what not to do with it.

    The page is self-contained and holds nothing that the release and its receipt do not tell.

    \b
    Examples:
      fastdp report private.parquet -o page.html
    """
    from fastdp.cli.files import check_outputs, page_writer, write_together
    from fastdp.plans.plan import Plan
    from fastdp.report.sanitized import sanitized_page
    from fastdp.tables.estimate import estimate_table
    from fastdp.tables.sanitizing.receipt_lookup import open_with_receipt

    path = Path(output)
    check_outputs("report", [path], {"the release": release, "the plan": plan_path}, force=force)
    plan = None if plan_path is None else Plan.load(plan_path)
    if plan is None:
        _, plan = open_with_receipt("report", release, None, (), None, csv=csv)
    if plan is None:
        raise click.UsageError("no receipt states the plan of this release; give it (-p PLAN)")
    page = sanitized_page(plan, estimate_table(release, plan, bins=bins, csv=csv), title=title or Path(release).name)
    write_together("report", {path: page_writer(page)}, force=force)
    click.echo(f"{output} written", err=True)
