"""``fastdp estimate``: what a sanitized file tells about everyone."""

from __future__ import annotations

import json

import click


@click.command("estimate")
@click.argument("source", metavar="FILE", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "-p", "--plan", "plan_path", required=True, type=click.Path(exists=True, dir_okay=False), help="Its plan."
)
@click.option("-c", "--column", "columns", multiple=True, help="Only this column; may be given several times.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(source: str, plan_path: str, columns: tuple[str, ...], *, as_json: bool) -> None:
    """Estimate shares and means from the sanitized FILE, with 95 % confidence intervals.

    Reads the reports of categories, truth values, and numbers within bounds once; the estimates are unbiased, so shares
    may lie below 0 or above 1.

    \b
    Examples:
      fastdp estimate private.parquet -p plan.toml
      fastdp estimate private.parquet -p plan.toml -c disease --json
    """
    from fastdp.tables.estimate import estimate_columns
    from fastdp.tables.plan import Plan

    found = estimate_columns(source, Plan.load(plan_path), columns)
    if as_json:
        click.echo(json.dumps([estimate.to_dict() for estimate in found], indent=2, ensure_ascii=False))
        return
    for estimate in found:
        click.echo(f"{estimate.column}: {estimate.kind} from {estimate.reports:,} reports")
        width = max(len(str(share.value)) for share in estimate.shares)
        for share in estimate.shares:
            line = f"  {share.value!s:<{width}}  {share.estimate:10.4g}  [{share.low:.4g}, {share.high:.4g}]"
            bar = "█" * round(40 * min(max(share.estimate, 0.0), 1.0)) if estimate.kind == "shares" else ""
            click.echo(f"{line:<{width + 40}}{bar}".rstrip())
