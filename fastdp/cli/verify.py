"""``fastdp verify``: whether a release, its receipt, its plan and its ledger agree."""

from __future__ import annotations

import json

import click

MARKS = {True: "agrees", False: "DIFFERS", None: "not known"}
COLOURS = {True: "green", False: "red", None: "yellow"}
DISAGREE = 1


@click.command("verify")
@click.argument("release", metavar="RELEASE", type=click.Path(exists=True))
@click.option("--receipt", type=click.Path(dir_okay=False), help="Its receipt; default: RELEASE.receipt.json.")
@click.option("-p", "--plan", type=click.Path(exists=True, dir_okay=False), help="The plan it is said to follow.")
@click.option("--ledger", type=click.Path(dir_okay=False), help="The ledger that paid for it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(release: str, *, receipt: str | None, plan: str | None, ledger: str | None, as_json: bool) -> None:
    """Compare RELEASE, a sanitized file or folder, with its receipt, its plan and its ledger.

    Exit status 1 if anything differs. A receipt proves nothing about who wrote it: whoever can change release and
    receipt can make them agree, unless a ledger has noted the receipt.

    \b
    Examples:
      fastdp verify private.parquet
      fastdp verify private.parquet -p plan.toml --ledger people.ledger
      fastdp verify private/ --receipt kept/private.receipt.json --json
    """
    from fastdp.tables.verify import verify

    found = verify(release, receipt=receipt, plan=plan, ledger=ledger)
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2))
    else:
        for check in found.checks:
            click.echo(
                f"{click.style(f'{MARKS[check.agrees]:<10}', fg=COLOURS[check.agrees])} {check.subject}: {check.words}"
            )
    if not found.agrees:
        raise click.exceptions.Exit(DISAGREE)
