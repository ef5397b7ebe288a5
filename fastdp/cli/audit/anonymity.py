"""``fastdp audit anonymity``: the classes of a table, and what they still give away."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fastdp.anonymity.classes import Classes
    from fastdp.anonymity.risk import Risk

FLOORS = ("k", "l", "entropy_l")
CEILINGS = ("t", "alpha", "beta", "delta", "unique", "homogeneous", "risk")
FAILED = 1


@click.command("anonymity")
@click.argument("source", metavar="FILE", type=click.Path(exists=True, allow_dash=True))
@click.option("--quasi", required=True, multiple=True, help="Columns an adversary may know, separated by commas.")
@click.option("--sensitive", multiple=True, help="Columns that nobody should learn, separated by commas.")
@click.option("--population", type=click.Path(exists=True), help="A table of the population, with the same columns.")
@click.option(
    "--nulls",
    type=click.Choice(["error", "value", "drop"]),
    default="error",
    show_default=True,
    help="What a missing value is: an error, a value of its own, or a reason to leave the row out.",
)
@click.option("--fail-below", multiple=True, metavar="MODEL=NUMBER", help=f"Exit with 1 if less: {', '.join(FLOORS)}.")
@click.option(
    "--fail-above", multiple=True, metavar="MODEL=NUMBER", help=f"Exit with 1 if more: {', '.join(CEILINGS)}."
)
@click.option(
    "--show", type=click.IntRange(min=1), default=10, show_default=True, help="Withhold smaller numbers of people."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write an HTML page, which must not exist.")
@click.option("--force", is_flag=True, help="Replace an existing page.")
@click.option("--from", "input_format", type=click.Choice(["parquet", "arrow", "csv"]), help="The format of FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    source: str,
    *,
    quasi: tuple[str, ...],
    sensitive: tuple[str, ...],
    population: str | None,
    nulls: str,
    fail_below: tuple[str, ...],
    fail_above: tuple[str, ...],
    show: int,
    output: str | None,
    force: bool,
    input_format: str | None,
    as_json: bool,
) -> int:
    """Count the classes of FILE by its quasi-identifiers: k, l, t, and the risk of being found.

    FILE is a Parquet, Arrow or CSV file, a folder of Parquet files, or "-". It is streamed. No value of a record is
    printed. The exit code is 1 if a stated threshold fails.

    \b
    Examples:
      fastdp audit anonymity people.parquet --quasi zip,age,sex --sensitive diagnosis
      fastdp audit anonymity people.parquet --quasi zip,age,sex --fail-below k=5
      fastdp audit anonymity people.parquet --quasi zip,age,sex --population voters.parquet -o page.html
    """
    from fastdp.anonymity.classes import classes
    from fastdp.anonymity.findings import describe, leaks
    from fastdp.cli.files import check_outputs, page_writer, write_together
    from fastdp.validation import visible_text

    below, above = _limits(fail_below, FLOORS, "--fail-below"), _limits(fail_above, CEILINGS, "--fail-above")
    secrets = _names(sensitive)
    if not secrets and {*below, *above} - {"k", "unique", "risk"}:
        raise click.UsageError("l, t, alpha, beta, delta and homogeneous are about --sensitive columns; name them")
    if output is not None:
        check_outputs("audit", [Path(output)], {"input": source, "population": population}, force=force)
    found = classes(source, _names(quasi), secrets, nulls=nulls, input_format=input_format)
    risk = found.risk(population)
    failed = [*_failures(found, risk, below, above)]
    if output is not None:
        from fastdp.report.anonymity import classes_page

        page = classes_page(found, risk, show=show, failed=failed)
        write_together("audit", {Path(output): page_writer(page)}, force=force)
    if as_json:
        click.echo(json.dumps({**found.figures(), "risk": risk.to_dict(), "failed": failed}, indent=2))
    else:
        for line in describe(found, show, risk):
            click.echo(visible_text(line))
        click.echo()
        for sentence in leaks(found, show):
            click.echo(visible_text(f"still leaks: {sentence}"))
        for sentence in failed:
            click.echo(f"failed: {sentence}")
    return FAILED if failed else 0


def _names(given: tuple[str, ...]) -> list[str]:
    return [name.strip() for text in given for name in text.split(",") if name.strip()]


def _limits(given: tuple[str, ...], known: tuple[str, ...], option: str) -> dict[str, float]:
    """Models and their thresholds."""
    limits = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            limits[name] = float(value)
        except ValueError:
            limits[name] = math.nan
        if name not in known or math.isnan(limits[name]):
            raise click.BadParameter(f"give {option} one of {', '.join(known)} and a number, such as {known[0]}=5")
    return limits


def _failures(found: Classes, risk: Risk, below: dict[str, float], above: dict[str, float]) -> list[str]:
    """Every threshold that fails, in words."""
    figures: dict[str, Any] = {
        "k": lambda: found.k, "l": found.l, "entropy_l": lambda: found.l("entropy"), "t": found.t,
        "alpha": lambda: found.alpha, "beta": lambda: found.beta, "delta": lambda: found.delta,
        "unique": lambda: found.unique, "homogeneous": lambda: found.homogeneous, "risk": lambda: risk.prosecutor,
    }  # fmt: skip
    failed = [f"{name} is below {limit:g}" for name, limit in below.items() if figures[name]() < limit]
    return failed + [f"{name} is above {limit:g}" for name, limit in above.items() if figures[name]() > limit]
