"""``fastdp budget``: the ledger of a data set's budget."""

from __future__ import annotations

import json
import math
from typing import Any

import click

from fastdp.cli.terminal.ledger import bars, describe, describe_entry, unsettled

LEDGER = click.argument("path", metavar="LEDGER", type=click.Path(dir_okay=False))
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
CURVE_DELTAS = (1e-5, 1e-6, 1e-9)
FEW = 8
"""Entries that are named one by one."""


@click.group("budget")
def command() -> None:
    """Keep the budget of a data set in a ledger.

    \b
    Examples:
      fastdp budget create people.ledger --epsilon 2 --name "people 2026"
      fastdp budget cost people.ledger plan.toml
      fastdp sanitize people.parquet -p plan.toml -o private.parquet --ledger people.ledger
      fastdp budget show people.ledger
    """


@command.command("create")
@LEDGER
@click.option("--epsilon", type=float, help="The limit of a pure budget.")
@click.option("--delta", type=float, default=0.0, help="The limit of delta beside it.")
@click.option("--rho", type=float, help="The limit of a budget in zero-concentrated differential privacy.")
@click.option(
    "--policy",
    type=click.Choice(["pure", "zcdp", "approx", "gaussian"]),
    help="What is added up; default: epsilon (pure), with --rho rho (zcdp).",
)
@click.option("--unit", default="record", show_default=True, help="Whom the budget protects: record, person, ...")
@click.option("--name", help="The data set; default: the ledger's name.")
@click.option(
    "--metric", "metric", multiple=True, metavar="COLUMN=EPSILON", help="An account for a column private by distance."
)
@JSON
def create(
    path: str,
    *,
    epsilon: float | None,
    delta: float,
    rho: float | None,
    policy: str | None,
    unit: str,
    name: str | None,
    metric: tuple[str, ...],
    as_json: bool,
) -> None:
    """Make a new LEDGER; a file that exists is never replaced.

    \b
    Examples:
      fastdp budget create people.ledger --epsilon 2 --unit person
      fastdp budget create people.ledger --rho 0.1
      fastdp budget create people.ledger --epsilon 2 --delta 1e-6 --policy approx
      fastdp budget create people.ledger --epsilon 2 --metric age=1
    """
    from pathlib import Path

    from fastdp.accounting.ledger import Ledger

    made = Ledger.create(
        path, epsilon=epsilon, rho=rho, delta=delta, unit=unit, name=Path(path).stem if name is None else name,
        policy=policy or ("pure" if rho is None else "zcdp"), metric=dict(map(_account, metric)),
    )  # fmt: skip
    click.echo(json.dumps(describe(made), indent=2) if as_json else f"{path}: {made.stated} per {made.unit}")


def _account(text: str) -> tuple[str, float]:
    """A column and its limit."""
    name, _, value = text.rpartition("=")
    try:
        return name, float(value)
    except ValueError:
        raise click.BadParameter("give a column and its epsilon, such as --metric age=1") from None


@command.command("show")
@LEDGER
@JSON
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write an HTML page, which must not exist.")
@click.option("--force", is_flag=True, help="Replace an existing page.")
def show(path: str, *, as_json: bool, output: str | None, force: bool) -> None:
    """Show limit, spendings and what is left of LEDGER.

    \b
    Examples:
      fastdp budget show people.ledger
      fastdp budget show people.ledger -o budget.html
    """
    from fastdp.accounting.ledger import Ledger
    from fastdp.accounting.ledger.hindsight import describe_hindsight
    from fastdp.mechanisms.base import Mechanism

    ledger = Ledger(path)
    if output is not None:
        from pathlib import Path

        from fastdp.cli.files import write_together
        from fastdp.report.ledger import ledger_page

        page = ledger_page(ledger).encode()
        write_together("budget", {Path(output): lambda file: file.write(page)}, force=force)
        click.echo(f"{output}: the budget of {ledger.name or path}", err=True)
        return
    if as_json:
        click.echo(json.dumps(describe(ledger), indent=2))
        return
    for line in bars(ledger, path):
        click.echo(line)
    if words := describe_hindsight(ledger, Mechanism.from_dict):
        click.echo(f"  {words}")
    for entry in ledger.entries():
        if entry.kind == "raise":
            click.secho(f"  the limit was raised at entry {entry.number}: {entry.body['because']}", fg="red")
    open_entries = unsettled(ledger)
    if open_entries:
        named = ", ".join(map(str, open_entries[:FEW]))
        more = f" and {len(open_entries) - FEW:,} more" if len(open_entries) > FEW else ""
        click.echo(f"  spent and not settled: entries {named}{more}")


@command.command("log")
@LEDGER
@JSON
def log(path: str, *, as_json: bool) -> None:
    """Print the entries of LEDGER, the oldest first.

    \b
    Example:
      fastdp budget log people.ledger
    """
    from fastdp.accounting.ledger import Ledger
    from fastdp.validation import visible_text

    ledger = Ledger(path)
    if as_json:
        click.echo(json.dumps([describe_entry(entry) for entry in ledger.entries()], indent=2))
        return
    for entry in ledger.entries():
        what = entry.body.get("name") or entry.body.get("because") or entry.body.get("of") or ""
        click.echo(
            f"{entry.number:>5}  {entry.body['time']}  {entry.kind:<6}  {entry.spent.words(ledger.policy)} in all  "
            f"{visible_text(str(what))}".rstrip()
        )


@command.command("export")
@LEDGER
def export(path: str) -> None:
    """Print every entry of LEDGER as a line of JSON, with exact numbers.

    \b
    Example:
      fastdp budget export people.ledger > entries.jsonl
    """
    from fastdp.accounting.ledger import Ledger

    for entry in Ledger(path).entries():
        click.echo(json.dumps(describe_entry(entry)))


@command.command("cost")
@LEDGER
@click.argument("plan_path", metavar="PLAN", type=click.Path(exists=True, dir_okay=False))
@click.option("--records", type=click.IntRange(min=1), help="Records of one unit of the budget, at the most.")
@JSON
def cost(path: str, plan_path: str, *, records: int | None, as_json: bool) -> None:
    """Say what a release by PLAN would cost, and whether LEDGER allows it; nothing is spent.

    \b
    Example:
      fastdp budget cost people.ledger plan.toml
    """
    from fastdp.accounting.ledger import Ledger
    from fastdp.plans.plan import Plan

    plan = Plan.load(plan_path)
    ledger = Ledger(path)
    added = ledger.cost(plan, records=records)
    left = ledger.remaining
    if as_json:
        parts = {"cost": added, "remaining": left}
        stated = {name: {"amount": one.amount, "delta": one.delta} for name, one in parts.items()}
        click.echo(json.dumps({**stated, "policy": ledger.policy}, indent=2))
    else:
        click.echo(f"{plan_path}: {added.words(ledger.policy)}; {left.words(ledger.policy)} remains")
    ledger.check(plan, records=records)


@command.command("curve")
@LEDGER
@click.option("--delta", "deltas", type=float, multiple=True, help="The deltas to state; default: 1e-5, 1e-6, 1e-9.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Draw the curve as a PNG or SVG picture.")
@click.option("--force", is_flag=True, help="Replace an existing picture.")
@JSON
def curve(path: str, *, deltas: tuple[float, ...], output: str | None, force: bool, as_json: bool) -> None:
    """State what all releases of LEDGER cost together, if all had been fixed beforehand.

    It is tighter than the sums that decide, and decides nothing itself: releases that were chosen after seeing earlier
    ones are guaranteed by the sums alone.

    \b
    Examples:
      fastdp budget curve people.ledger
      fastdp budget curve people.ledger --delta 1e-8 --json
      fastdp budget curve people.ledger -o curve.svg
    """
    from pathlib import Path

    from fastdp.accounting.ledger import Ledger
    from fastdp.mechanisms.base import Mechanism
    from fastdp.rounding import digits_up

    ledger = Ledger(path)
    found = ledger.curve(Mechanism.from_dict)
    if output is not None:
        from fastdp.cli.files import write_together

        kind = Path(output).suffix.removeprefix(".") or "png"
        figure = found.plot()
        write_together("budget", {Path(output): lambda file: figure.savefig(file, format=kind)}, force=force)
        click.echo(f"{output}: delta against epsilon", err=True)
        return
    rows = {delta: found.epsilon(delta=delta) for delta in deltas or CURVE_DELTAS}
    if as_json:
        points = [{"delta": delta, "lower": one.lower, "upper": one.upper} for delta, one in rows.items()]
        click.echo(json.dumps({"unit": ledger.unit, "neighbours": found.neighbours, "epsilon": points}, indent=2))
        return
    click.echo(f"{ledger.name or path}: if all releases had been fixed beforehand, per {ledger.unit}")
    for delta, one in rows.items():
        shown = digits_up(one.upper, 4) if math.isfinite(one.upper) else "none"
        click.echo(f"  epsilon {shown} at delta {delta:g}")


@command.command("verify")
@LEDGER
@click.option(
    "--receipt", "receipts", multiple=True, type=click.Path(exists=True, dir_okay=False), help="A release's receipt."
)
@JSON
def verify(path: str, *, receipts: tuple[str, ...], as_json: bool) -> None:
    """Check that no entry of LEDGER was changed, and that it holds what receipts say.

    \b
    Examples:
      fastdp budget verify people.ledger
      fastdp budget verify people.ledger --receipt private.parquet.receipt.json
    """
    from fastdp.accounting.ledger import Ledger

    ledger = Ledger(path)
    count = ledger.verify([_stamp(receipt) for receipt in receipts])
    stated = json.dumps({"entries": count, "receipts": len(receipts), "head": ledger.head}, indent=2)
    click.echo(stated if as_json else f"{path}: {count:,} entries, all as they were written")


def _stamp(path: str) -> dict[str, Any]:
    """What a receipt says of its ledger."""
    from pathlib import Path

    from fastdp.errors import InputCorruptError

    try:
        stamp = json.loads(Path(path).read_text(encoding="utf-8"))["ledger"]
        return {"id": str(stamp["id"]), "entry": int(stamp["entry"]), "head": str(stamp["head"])}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputCorruptError(f"budget: {path!r} is no receipt of a release that was paid from a ledger") from None


@command.command("raise")
@LEDGER
@click.option("--epsilon", type=float, help="The new limit of a pure budget.")
@click.option("--rho", type=float, help="The new limit of a budget in rho.")
@click.option("--delta", type=float, help="The new limit of delta.")
@click.option("--because", required=True, help="Why: it stays in the ledger for all to see.")
def raise_limit(path: str, *, epsilon: float | None, rho: float | None, delta: float | None, because: str) -> None:
    """Raise the limit of LEDGER; people in the data get less privacy than they were told.

    \b
    Example:
      fastdp budget raise people.ledger --epsilon 3 --because "the board agreed on 18 November"
    """
    from fastdp.accounting.ledger import Ledger

    ledger = Ledger(path)
    ledger.raise_limit(epsilon=epsilon, rho=rho, delta=delta, because=because)
    click.echo(f"{path}: the limit is now {ledger.stated} per {ledger.unit}")
