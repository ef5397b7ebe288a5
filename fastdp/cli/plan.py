"""``fastdp plan``: a plan to start from, and a plan explained."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from fastdp.tables.plan import Plan


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
@click.argument("source", metavar="FILE", type=click.Path(exists=True, dir_okay=False))
def init(source: str) -> None:
    """Print a commented plan for FILE, from its names and types only; its data are not read.

    \b
    Example:
      fastdp plan init people.parquet > plan.toml
    """
    from fastdp.tables.skeleton import skeleton
    from fastdp.tables.sources import open_source

    click.echo(skeleton(open_source(source).schema), nl=False)


@command.command("check")
@click.argument("plan_path", metavar="PLAN", type=click.Path(exists=True, dir_okay=False))
@click.argument("source", metavar="[FILE]", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(plan_path: str, source: str | None, *, as_json: bool) -> None:
    """Explain PLAN: per column the mechanism, its effective guarantee and the error to expect, and the total.

    With FILE, also check that its columns and types fit.

    \b
    Examples:
      fastdp plan check plan.toml
      fastdp plan check plan.toml people.parquet --json
    """
    from fastdp.tables.plan import Plan

    plan = Plan.load(plan_path)
    if source is not None:
        from fastdp.tables.sanitize import Job

        Job(source, plan)
    if as_json:
        from fastdp.tables.receipt import Receipt

        click.echo(json.dumps(Receipt(plan, 0, unsafe=False).to_dict()["guarantee"], indent=2, ensure_ascii=False))
    else:
        show(plan)


def show(plan: Plan) -> None:
    """The plan as a table on standard output, then the total."""
    from fastdp.tables.explain import explain, explain_total

    lines = [("column", "", "effective guarantee", "95 % of errors within")]
    lines += [(line.column, line.action, line.guarantee, line.error) for line in explain(plan)]
    widths = [max(len(line[part]) for line in lines) for part in range(4)]
    for line in lines:
        click.echo("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    click.echo()
    for said in explain_total(plan):
        click.echo(said)
