"""``python -m benchmarks.pages.readme``: the rows of README's table, measured on this machine."""

from __future__ import annotations

import click
from rich.console import Console

from benchmarks.pages.tables import README_JOBS, readme_block
from benchmarks.run import measure, shown


@click.command()
@click.option("--full", is_flag=True, help="Inputs as large as those of stored runs.")
def main(full: bool) -> None:
    """Print README's table as this machine has it. Nothing is stored.

    \b
    Examples:
      python -m benchmarks.pages.readme
      python -m benchmarks.pages.readme --full
    """
    with shown(Console(stderr=True)) as progress:
        result = measure(None, quick=not full, progress=progress, only=README_JOBS)
    click.echo(readme_block(result))


if __name__ == "__main__":
    main()
