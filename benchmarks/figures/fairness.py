"""``python -m benchmarks.figures.fairness [PART ...]``: the speeds that docs/fairness.md states.

Parts are measured one by one, in minutes each, and put into bench_results/fairness.json with every round. A ratio is of
CPU time per row, the median over rounds in which all take turns.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import click

import fastdp as fd
from benchmarks.jobs.job import Job
from benchmarks.jobs.rooms.fairness import BOOTSTRAPS, DUCKDB, FAIRLEARN, FASTDP, JOBS, NUMPY, people_of
from benchmarks.measuring import machine
from benchmarks.measuring.timing import Task, interleave, median, ratio

RESULTS = machine.ROOT / "bench_results" / "fairness.json"
LARGE, SMALL = 100_000_000, 1_000_000
RATES = ("selection", "tpr", "fpr", "ppv", "accuracy")
SIZES = (10_000, SMALL, LARGE)
"""Rows behind a thousand bootstraps."""
KIND = {job.kind: job for job in JOBS}


def against(kind: str, rows: int, rounds: int, calls: int = 1, **rivals: dict[str, Any]) -> dict[str, Any]:
    """Fastdp and its rivals on the same rows, each checked before it is timed; fastdp in so many ``calls`` a round."""
    job: Job = KIND[kind]
    columns = people_of(rows)
    tasks = []
    for name, ways in {"fastdp": FASTDP, **rivals}.items():
        call = ways[kind].make(job, columns)
        judge = ways[kind].judge or job.judge
        assert judge is not None
        if not judge(job, call(), columns):
            raise click.ClickException(f"{name}: the output is not what it must be")
        many = calls if name == "fastdp" else 1
        tasks.append(Task(name, many * rows * ways[kind].part, functools.partial(_again, call, many)))
    times = interleave(tasks, rounds)
    return {
        "rows": rows,
        "calls": calls,
        "times": {name: asdict(one) for name, one in times.items()},
        "ratios": {name: ratio(times["fastdp"], times[name])._asdict() for name in times if name != "fastdp"},
    }


def _again(call: Callable[[], Any], many: int) -> None:
    for _ in range(many):
        call()


def bootstraps() -> dict[str, Any]:
    """The seconds of CPU time that a thousand bootstraps of five rates take, from the table on."""
    calls = []
    for rows in SIZES:
        a, _, _, y, r = people_of(rows)
        table = fd.fairness.table(y_true=y, y_pred=r, sensitive={"a": a})
        calls.append(Task(str(rows), 1, lambda table=table: [table.bootstrap(one, runs=BOOTSTRAPS) for one in RATES]))
        people_of.cache_clear()
    times = interleave(calls, 21)
    return {"times": {name: asdict(one) for name, one in times.items()},
            "seconds": {name: median(one.cpu)._asdict() for name, one in times.items()}}  # fmt: skip


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "table": lambda: against("fairness-table", LARGE, 15, numpy=NUMPY, duckdb=DUCKDB),
    "intersections": lambda: against("fairness-intersections", LARGE, 9, numpy=NUMPY, duckdb=DUCKDB),
    "fairlearn": lambda: against("fairness-table", SMALL, 3, 100, fairlearn=FAIRLEARN),
    "bootstraps": bootstraps,
    "fairlearn-bootstraps": lambda: against("fairness-bootstraps", SMALL, 3, 10, fairlearn=FAIRLEARN),
}
"""What is measured, and how long at a time."""


def line_on(name: str, found: dict[str, Any]) -> str:
    """What is printed of a part."""
    shown = found.get("ratios") or found["seconds"]
    unit = "times" if "ratios" in found else "s"
    values = (f"{key} {one['value']:.4g} [{one['low']:.4g}, {one['high']:.4g}] {unit}" for key, one in shown.items())
    return f"{name}: {'; '.join(values)}"


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(list(PARTS)))
def main(parts: tuple[str, ...]) -> None:
    """Measure PARTS, or all, and store them beside those that were measured before."""
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in parts or PARTS:
        before = os.getloadavg()[0]
        found = PARTS[name]()
        stored[name] = {
            "when": datetime.now(UTC).isoformat(timespec="seconds"), "load": [before, os.getloadavg()[0]],
            "machine": machine.facts(), "versions": machine.versions(), **machine.commit(), **found,
        }  # fmt: skip
        click.echo(line_on(name, found))
        RESULTS.write_text(json.dumps(stored, indent=1) + "\n")
        people_of.cache_clear()


if __name__ == "__main__":
    main()
