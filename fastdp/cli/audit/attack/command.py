"""What the commands of ``fastdp audit attack`` share: the group, their options, and how results are shown."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fastdp.cli.audit.words import read_count, read_mechanism

if TYPE_CHECKING:
    from fastdp.attacks import Attack

FAILED = 1
FILE = click.argument("file", required=False, type=click.Path(exists=True, allow_dash=True))
EPSILON = click.option(
    "--epsilon", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True,
    help="The budget of the release that defends.",
)  # fmt: skip
SIZE = click.option(
    "--size", default="1e6", show_default=True, callback=read_count, help="People, where no FILE is given."
)
COLUMN = click.option("--column", help="The column of zeros and ones in FILE.")
EQUALS = click.option("--equals", metavar="VALUE", help="The bit is whether the column has this value.")
RELEASE = click.option(
    "--release", metavar="RELEASE", help="Your own: a mechanism as the call that makes it, or module:callable."
)


@click.group("attack")
def command() -> None:
    """Run an attack of the literature on a release, beside its closed form.

    Each attack is run on an exact release, and on one that fastdp's budget defends; with --release also on your own.
    With --fail-above the exit code is 1 if the last of them succeeds more often.

    \b
    Examples:
      fastdp audit attack reconstruction --size 1e6
      fastdp audit attack linkage patients.parquet voters.parquet --on zip,birthday,sex
      fastdp audit attack dictionary trips.csv --column licence --pattern 9A99
    """


def attack(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """A subcommand that returns attacks by the name of the release, and perhaps a sweep over noise, and prints them."""

    def wrap(function: Callable[..., Any]) -> click.Command:
        @click.option("--fail-above", type=float, help="Exit with 1 if the last release is attacked more successfully.")
        @click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write an HTML page.")
        @click.option("--force", is_flag=True, help="Replace an existing page.")
        @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
        @functools.wraps(function)
        def run(fail_above: float | None, output: str | None, *, force: bool, as_json: bool, **given: Any) -> None:
            from fastdp.cli.files import check_outputs

            if output:
                check_outputs("audit", [Path(output)], {}, force=force)
            found = function(**given)
            attacks, sweep = found if isinstance(found, tuple) else (found, None)
            _show(attacks, as_json=as_json)
            if output:
                from fastdp.cli.files import page_writer, write_together
                from fastdp.report.attack import attack_page

                write_together("audit", {Path(output): page_writer(attack_page(attacks, sweep))}, force=force)
                click.echo(f"{output}: {next(iter(attacks.values())).name}", err=True)
            if fail_above is not None and list(attacks.values())[-1].success > fail_above:
                sys.exit(FAILED)

        made: click.Command = command.command(name)(run)
        return made

    return wrap


def _show(attacks: Mapping[str, Attack], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({name: found.to_dict() for name, found in attacks.items()}, indent=2))
        return
    first = next(iter(attacks.values()))
    click.echo(f"{first.name}: the share of {first.measure}, of {first.trials:,}")
    width = max(len(name) for name in attacks)
    for name, found in attacks.items():
        theory = "" if found.expected is None else f"  theory {found.expected:.4f} ({found.formula.rstrip(',')})"
        click.echo(f"  {name:<{width}}  {found.success:.4f}{theory}")
    click.echo(f"  {'a guess':<{width}}  {first.baseline:.4f}")
    click.echo(f"  defence: {first.defended_by}")


def names_of(text: str | None) -> list[str] | None:
    """Names between commas."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def own_callable(release: str) -> Callable[..., Any]:
    """A callable of the user's; a mechanism is no release of a table."""
    found = read_mechanism(release)
    if not callable(found):
        raise click.UsageError("give --release as module:callable: this attack is on a table")
    return found
