"""``python -m benchmarks.pages.readme``: the rows of README's table, measured on this machine."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from benchmarks.jobs.registry import JOBS
from benchmarks.pages.tables import README_JOBS, readme_block
from benchmarks.run import measure, shown


def topics() -> list[str]:
    """The topics that hold README's jobs, in order."""
    return list(dict.fromkeys(job.topic for job in JOBS if job.name in README_JOBS))


@click.command()
@click.option("--full", is_flag=True, help="Inputs as large as those of stored runs.")
def main(full: bool) -> None:
    """Print README's table as this machine has it. Nothing is stored.

    \b
    Examples:
      python -m benchmarks.pages.readme
      python -m benchmarks.pages.readme --full
    """
    merged: dict[str, Any] = {}
    for topic in topics():
        with shown(Console(stderr=True)) as progress:
            result = measure(topic, quick=not full, progress=progress)
        merged = {**result, "jobs": [*merged.get("jobs", []), *result["jobs"]]}
    click.echo(readme_block(merged))


if __name__ == "__main__":
    main()
