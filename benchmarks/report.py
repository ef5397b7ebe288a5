"""``python -m benchmarks.report``: everything in bench_results/ that is made from raw numbers, and README's table.

The same numbers give the same files, byte for byte.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from benchmarks.pages import plots, sections
from benchmarks.pages.tables import BEGIN, END, readme_block

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench_results"
LATEST = RESULTS / "latest.md"
README = ROOT / "README.md"


def readme_text(text: str, result: dict[str, Any]) -> str:
    """README.md with its block replaced, as it is if it has no markers."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        return text
    return text[: text.index(BEGIN)] + readme_block(result) + text[text.index(END) + len(END) :]


def runs() -> list[dict[str, Any]]:
    """Every stored run, the oldest first."""
    return [json.loads(path.read_text()) for path in sorted(RESULTS.glob("[0-9]*.json"))]


def newest(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The newest run of everything; quick runs and parts of a run do not count."""
    for run in reversed(found):
        if run["complete"]:
            return run
    raise click.ClickException("bench_results/ holds no complete run; make one with: python -m benchmarks.run")


def wanted(found: list[dict[str, Any]]) -> dict[Path, str]:
    """Every generated file and what it must hold."""
    result = newest(found)
    pictures = plots.all_plots(result, found)
    files = {RESULTS / f"{name}.svg": text for name, text in pictures.items()}
    files[LATEST] = sections.latest(result, list(pictures))
    if README.exists():
        files[README] = readme_text(README.read_text(), result)
    return files


@click.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=False)
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file is not what the numbers give.")
@click.option("--print", "show", is_flag=True, help="Write nothing; print the report of PATH, quick runs included.")
def main(path: Path | None, check: bool, show: bool) -> None:
    """Make latest.md and the plots of bench_results/, and the table in README.md if it has markers.

    \b
    Examples:
      python -m benchmarks.report
      python -m benchmarks.report --check
      python -m benchmarks.report --print bench_results/20260101T000000Z-abc1234-quick.json
    """
    found = runs()
    if path is not None or show:
        result = newest(found) if path is None else json.loads(path.read_text())
        click.echo(sections.latest(result, []), nl=False)
        return
    stale = [file for file, text in wanted(found).items() if not file.exists() or file.read_text() != text]
    for file in stale:
        if check:
            click.echo(f"{file.relative_to(ROOT)} is not what the stored runs give", err=True)
        else:
            file.write_text(wanted(found)[file])
            click.echo(f"wrote {file.relative_to(ROOT)}", err=True)
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()
