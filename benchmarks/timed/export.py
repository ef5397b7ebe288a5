"""``python -m benchmarks.timed.export``: what an ordinary export costs to sanitize, beside pyarrow's copy of it.

The table and the plan are those of tests/export: 20 columns, 5 million rows, dates, decimals, ids, lists and nulls.
Each run is a process of its own, warm by a small table first; the two alternate, CPU time is of the whole process, and
memory is its peak. The copy reads and writes the columns that are released, with the checksums that sanitized files
have. The raw numbers go to bench_results/export.json.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from benchmarks.measuring import machine

RESULTS = machine.ROOT / "bench_results" / "export.json"
ROWS, ROUNDS, WARM, BATCH = 5_000_000, 7, 20_000, 400_000
SOURCE, SMALL, PLAN = "export.parquet", "small.parquet", "plan.toml"
WAYS = ("pyarrow", "fastdp")


def prepare(folder: Path, rows: int) -> None:
    """The files of a run: the table, a small one of its first rows, the engineer's plan and the key of its ids."""
    import pyarrow.parquet as pq
    from click.testing import CliRunner

    from fastdp.cli import main
    from tests.export.table import make_export
    from tests.export.test_export import edit

    table = make_export(rows)
    pq.write_table(table, folder / SOURCE)
    pq.write_table(table.slice(0, WARM), folder / SMALL)
    proposal = CliRunner().invoke(main, ["plan", "init", str(folder / SMALL), "--profile"])
    CliRunner().invoke(main, ["plan", "key", str(folder / "ids.key")])
    text = edit(proposal.stdout).replace("fold_case = true", 'fold_case = true\nout_of_domain = "other"')
    (folder / PLAN).write_text(text)


def sanitize(folder: Path, source: str) -> None:
    import fastdp as fd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fd.sanitize(folder / source, fd.Plan.load(folder / PLAN), folder / "private.parquet", force=True)


def copy(folder: Path, source: str) -> None:
    """Batch by batch through pyarrow's reader and writer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    import fastdp as fd

    dropped = {part.name for part in fd.Plan.load(folder / PLAN).parts if part.action == "drop"}
    with pq.ParquetFile(folder / source, page_checksum_verification=True) as opened:
        schema = pa.schema([field for field in opened.schema_arrow if field.name not in dropped])
        with pq.ParquetWriter(folder / "copy.parquet", schema, write_page_checksum=True) as sink:
            for batch in opened.iter_batches(batch_size=BATCH, columns=schema.names):
                sink.write_batch(batch.select(schema.names))


def measure(way: str, folder: Path) -> dict[str, float]:
    """CPU seconds, seconds and peak memory of this process, for one run after a small one."""
    work = sanitize if way == "fastdp" else copy
    work(folder, SMALL)
    started, clock = time.process_time(), time.perf_counter()
    work(folder, SOURCE)
    used, passed = time.process_time() - started, time.perf_counter() - clock
    return {"cpu": used, "seconds": passed, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


@click.command()
@click.option("--rows", default=ROWS, show_default=True)
@click.option("--rounds", default=ROUNDS, show_default=True)
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), help="Where the files are kept for later.")
@click.option("--one", type=click.Choice(WAYS), help="Measure one run in this process, and print it.")
@click.option("--dry-run", is_flag=True, help="Store nothing.")
def main(rows: int, rounds: int, folder: Path | None, one: str | None, *, dry_run: bool) -> None:
    """Measure, print and store."""
    if one is not None:
        assert folder is not None
        click.echo(json.dumps(measure(one, folder)))
        return
    with tempfile.TemporaryDirectory(prefix="fastdp-export-") as made:
        place = Path(made) if folder is None else folder
        if not (place / PLAN).exists():
            prepare(place, rows)
        found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
        for _ in range(rounds):
            for way in WAYS:
                words = [sys.executable, "-m", "benchmarks.timed.export", "--one", way, "--folder", str(place)]
                done = subprocess.run(words, check=True, capture_output=True, text=True)
                found[way].append(json.loads(done.stdout.splitlines()[-1]))
    ratios = [ours["cpu"] / theirs["cpu"] for ours, theirs in zip(found["fastdp"], found["pyarrow"], strict=True)]
    peaks = [run["peak_mb"] for run in found["fastdp"]]
    stored: dict[str, Any] = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"), **machine.commit(), "machine": machine.facts(),
        "rows": rows, "columns": 20, "rounds": found, "cpu_ratio": {"median": statistics.median(ratios), "all": ratios},
        "peak_mb": {"median": statistics.median(peaks), "most": max(peaks)},
    }  # fmt: skip
    ratio, peak = stored["cpu_ratio"]["median"], stored["peak_mb"]["median"]
    click.echo(f"fastdp takes {ratio:.2f} times pyarrow's CPU; its memory peaks at {peak:.0f} MB")
    if not dry_run:
        RESULTS.write_text(json.dumps(stored, indent=2) + "\n")


if __name__ == "__main__":
    main()
