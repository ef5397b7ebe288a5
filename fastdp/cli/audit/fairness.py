"""``fastdp audit fairness``: the decisions about groups, from a file to a verdict."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fastdp.fairness.sanitized.tables import SanitizedTable
    from fastdp.fairness.tables import FairnessTable

    Found = FairnessTable | SanitizedTable

FAILED = 1
"""The exit code of a threshold that is not met."""


@click.command("fairness")
@click.argument("source", metavar="FILE", type=click.Path(exists=True, allow_dash=True))
@click.option("--label", required=True, help="The column of true labels.")
@click.option("--prediction", required=True, help="The column of decisions.")
@click.option("--sensitive", required=True, metavar="NAME,...", help="The columns that groups are made of.")
@click.option("--given", help="Compare decisions within the values of this column too.")
@click.option("--score", help="The column of scores that decisions were made from.")
@click.option("--weights", help="The column of row weights.")
@click.option("--positive", help="The class that counts as positive; default: 1 or true.")
@click.option(
    "--favourable", type=click.Choice(["1", "0"]), default="1", show_default=True,
    help="The decision that people want, positive or negative, for the four-fifths rule.",
)  # fmt: skip
@click.option("--gain", type=click.FloatRange(0), default=1.0, show_default=True, help="What a true positive brings.")
@click.option("--cost", type=click.FloatRange(0), default=1.0, show_default=True, help="What a false positive costs.")
@click.option(
    "--tolerance", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True,
    help="The gap up to which a criterion holds.",
)  # fmt: skip
@click.option(
    "--confidence", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95, show_default=True,
    help="The level of each interval.",
)  # fmt: skip
@click.option(
    "--fail-below", multiple=True, metavar="NAME=RATIO",
    help="Exit 1 if a ratio is below: of four_fifths, or of a rate such as tpr.",
)  # fmt: skip
@click.option(
    "--fail-above", multiple=True, metavar="NAME=GAP", help="Exit 1 if the gap of a rate, such as fpr, is above."
)
@click.option(
    "--show", type=click.IntRange(min=1), default=10, show_default=True,
    help="The fewest rows of a group that is shown: rates of fewer would tell about single people.",
)  # fmt: skip
@click.option(
    "-p",
    "--plan",
    "plan_path",
    type=click.Path(exists=True, dir_okay=False),
    help="The plan FILE was sanitized with; default: its receipt's.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="The report, an HTML page.")
@click.option("--force", is_flag=True, help="Replace an existing report.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--from", "input_format", type=click.Choice(["parquet", "arrow", "csv"]),
    help="The format of FILE, where its content and name do not tell.",
)  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but JSON and failed thresholds.")
def command(source: str, *, output: Path | None, plan_path: str | None, **given: Any) -> None:
    """Compare the decisions in FILE between groups: every criterion, with intervals that cover.

    FILE is Parquet, Arrow or CSV, a folder of Parquet files, or "-" for standard input. It is read once, whatever its
    size. Columns that its receipt says were sanitized by k-RR or randomized response are won back.

    \b
    Examples:
      fastdp audit fairness scored.parquet --label y --prediction r --sensitive race,sex -o page.html
      fastdp audit fairness scored.parquet --label y --prediction r --sensitive race --score s --cost 4.6 -o page.html
      fastdp audit fairness scored.csv --label y --prediction r --sensitive sex --fail-below four_fifths=0.8 --json
    """
    from fastdp.cli.files import check_outputs, page_writer, write_together
    from fastdp.cli.terminal.screen import progress
    from fastdp.fairness.read import read
    from fastdp.plans.plan import Plan

    limits = _limits("--fail-below", given["fail_below"]) | _limits("--fail-above", given["fail_above"])
    if output is not None:
        check_outputs("audit", [output], {"input": source, "plan": plan_path}, force=given["force"])
    sensitive = [name for name in given["sensitive"].split(",") if name]
    with progress(quiet=given["quiet"]) as update:
        found = read(
            source, y_true=given["label"], y_pred=given["prediction"], sensitive=sensitive, given=given["given"],
            score=given["score"], weights=given["weights"], positive=given["positive"],
            plan=None if plan_path is None else Plan.load(plan_path), input_format=given["input_format"],
            progress=update,
        )  # fmt: skip
    found, withheld = found.large(given["show"])
    if not found.groups:
        raise click.UsageError("every group has fewer rows than --show; no rate can be shown")
    if output is not None:
        from fastdp.report.fairness import fairness_page

        page = fairness_page(
            found, f"Fairness of {given['prediction']} between groups of {', '.join(sensitive)}",
            favourable=int(given["favourable"]), tolerance=given["tolerance"], level=given["confidence"],
            economics=(given["gain"], given["cost"]), withheld=withheld,
        )  # fmt: skip
        write_together("audit", {output: page_writer(page)}, force=given["force"])
    failures = _failures(found, limits, int(given["favourable"]), given["confidence"])
    if given["as_json"]:
        options = {
            "level": given["confidence"],
            "tolerance": given["tolerance"],
            "favourable": int(given["favourable"]),
        }
        stated = {**found.to_dict(**options), "withheld_groups": withheld, "failed": failures}
        click.echo(json.dumps(stated, indent=2, ensure_ascii=False, default=str))
    elif not given["quiet"]:
        _tell(found, given, withheld)
        if output is not None:
            click.echo(f"wrote {output}", err=True)
    for failure in failures:
        click.echo(f"fastdp: {failure}", err=True)
    if failures:
        raise click.exceptions.Exit(FAILED)


def _limits(option: str, given: tuple[str, ...]) -> dict[tuple[str, str], float]:
    """Thresholds by option and name."""
    from fastdp.fairness.rates import RATES
    from fastdp.validation import unknown

    names = (*RATES, "four_fifths") if option == "--fail-below" else tuple(RATES)
    found = {}
    for one in given:
        name, _, text = one.partition("=")
        if name not in names:
            raise click.UsageError(f"{option}: {unknown('name', name, names)}")
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value <= 1:
            raise click.UsageError(f"{option} must be NAME=NUMBER with a number from 0 to 1, such as {name}=0.8")
        found[option, name] = value
    return found


def _failures(found: Found, limits: dict[tuple[str, str], float], favourable: int, level: float) -> list[str]:
    """What is not met; a ratio or a gap that cannot be told is not."""
    failures = []
    for (option, name), limit in limits.items():
        if option == "--fail-above":
            contrast = found.gap(name, level=level)
            met = contrast.value <= limit
        else:
            contrast = (
                found.four_fifths(favourable=favourable, level=level)
                if name == "four_fifths"
                else found.ratio(name, level=level)
            )
            met = contrast.value >= limit
        if not met:
            value = "cannot be told" if math.isnan(contrast.value) else f"is {contrast.value:.4f}"
            side = "above" if option == "--fail-above" else "below"
            failures.append(f"the {contrast.kind} of {name} {value}; {option} allows none {side} {limit:g}")
    return failures


def _tell(found: Found, given: dict[str, Any], withheld: int) -> None:
    """The verdicts, a line each, and what reports taken at face value would hide."""
    from fastdp.fairness.sanitized.tables import SanitizedTable
    from fastdp.validation import visible_text

    criteria = found.criteria(
        tolerance=given["tolerance"], favourable=int(given["favourable"]), level=given["confidence"]
    )
    for criterion in criteria:
        click.echo(f"{criterion.name:<20}{criterion.verdict:<16}{'; '.join(map(str, criterion.contrasts))}")
    if isinstance(found, SanitizedTable):
        for rate in ("selection", "tpr", "fpr"):
            gap, naive = found.gap(rate), found.naive.gap(rate)
            shown = f"{naive.value:.4f} of the reports, {gap.value:.4f} of the truth"
            click.echo(f"{'face value':<36}gap of {rate}: {shown}")
    for group in dict.fromkeys(group for criterion in criteria for group in criterion.undefined):
        click.echo(f"cannot be told of every rate: {visible_text(', '.join(map(str, group)))}", err=True)
    if withheld:
        click.echo(f"{withheld:,} groups of fewer than {given['show']} rows are not shown", err=True)
