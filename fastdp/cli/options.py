"""Options that several subcommands have."""

from __future__ import annotations

import click

FORMATS = click.Choice(["parquet", "arrow", "csv"])
INPUT_FORMAT = click.option(
    "--from", "input_format", type=FORMATS, help="The format of FILE, where its content and name do not tell."
)
RECEIPT = click.option(
    "--receipt", type=click.Path(dir_okay=False), help="Where the receipt goes; default: OUT.receipt.json."
)
LEDGER = click.option(
    "--ledger", type=click.Path(dir_okay=False), help="The ledger that pays for it; default: the plan's."
)
LEVEL = click.option("--level", default=0.95, show_default=True, help="The level of intervals.")
