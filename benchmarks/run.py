"""``python -m benchmarks.run``: check everything, then time everything, and keep every round."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks import calls, machine
from benchmarks.libraries import LIBRARIES
from benchmarks.registry import JOBS, TOPICS, CheckError, Entry, Job, entries
from benchmarks.timing import Task, interleave, spread

RESULTS = machine.ROOT / "bench_results"
ROUNDS = 21
QUICK_ROUNDS = 7


def check_all(chosen: list[Entry], *, quick: bool, progress: Progress) -> tuple[dict[str, float | None], list[str]]:
    """The p-value of each entry that passed, and what is wrong with those that did not."""
    passed, failed = {}, []
    task = progress.add_task("checking", total=len(chosen))
    for entry in chosen:
        progress.update(task, description=f"checking {entry}")
        size = entry.size(quick=quick)
        try:
            passed[str(entry)] = entry.check(entry.setup(size), size)
        except CheckError as error:
            failed.append(str(error))
        except Exception as error:
            if entry.library.name == "fastdp":
                raise
            failed.append(f"{entry}: it does not work here, {type(error).__name__}")
        progress.advance(task)
    return passed, failed


def time_job(job: Job, passed: dict[str, float | None], *, quick: bool, progress: Progress) -> dict[str, Any]:
    """One job with all its rounds; memcpy of the same input among them."""
    chosen = [entry for entry in entries(job=job.name) if str(entry) in passed]
    rounds = QUICK_ROUNDS if quick else ROUNDS
    bar = progress.add_task(f"timing {job.name}", total=rounds)
    tasks = [
        Task(entry.library.name, size * entry.way.part, entry.setup(size))
        for entry, size in ((entry, entry.size(quick=quick)) for entry in chosen)
    ]
    times = interleave(tasks, rounds, tick=lambda: progress.advance(bar))
    return {
        "name": job.name,
        "topic": job.topic,
        "unit": job.unit,
        "dtype": job.dtype,
        "description": job.description,
        "entries": [
            {"library": entry.library.name, "p_value": passed[str(entry)], **asdict(times[entry.library.name])}
            for entry in chosen
        ],
    }


def time_calls(*, quick: bool, progress: Progress) -> dict[str, Any]:
    """The figures of ``benchmarks.calls``, by group."""
    found: dict[str, Any] = {"small": [], "memory": [], "processes": [], "threads": None}
    work = list(calls.steps(quick=quick))
    task = progress.add_task("calls", total=len(work))
    for group, what, measure in work:
        progress.update(task, description=f"calls: {what}")
        if group in {"memory", "processes"}:
            found[group].append(measure())
        else:
            found[group] = measure()
        progress.advance(task)
    return found


def noise_of(jobs: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The spread over the whole run of one fixed piece of work: memcpy of the size that most jobs have."""
    copies = [
        (found["size"] * (1 if job["unit"] == "bytes" else 4 if job["dtype"] == "float32" else 8), found["cpu"])
        for job in jobs
        for found in job["entries"]
        if found["library"] == "memcpy"
    ]
    if not copies:
        return None
    size = Counter(count for count, _ in copies).most_common(1)[0][0]
    seconds = [second for count, cpu in copies if count == size for second in cpu]
    return {"reference": "memcpy", "bytes": size, "rounds": len(seconds), "spread": spread(seconds)}


def result_path(when: datetime, commit: str, topic: str | None, *, quick: bool) -> Path:
    """Where this run's numbers go; parts of a run and quick ones carry it in their name."""
    parts = [when.strftime("%Y%m%dT%H%M%SZ"), commit, topic, "quick" if quick else None]
    return RESULTS / ("-".join(part for part in parts if part) + ".json")


@click.command()
@click.option("--quick", is_flag=True, help="A tenth of the input and a third of the rounds: to see that it works.")
@click.option("--topic", type=click.Choice((*TOPICS, "calls")), help="Only this topic.")
def main(quick: bool, topic: str | None) -> None:
    """Check and time every job with every library, and write the raw numbers to bench_results/.

    \b
    Examples:
      python -m benchmarks.run
      python -m benchmarks.run --quick --topic keystream
    """
    when, load = datetime.now(UTC), os.getloadavg()[0]
    where = machine.commit()
    console = Console(stderr=True)
    chosen = [entry for entry in entries() if topic in {None, entry.job.topic}]
    usable = [entry for entry in chosen if entry.library.missing is None]
    names = {entry.job.name for entry in usable}
    bar = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*bar, TimeRemainingColumn(), console=console) as progress:
        passed, failed = check_all(usable, quick=quick, progress=progress)
        jobs = [time_job(job, passed, quick=quick, progress=progress) for job in JOBS if job.name in names]
        other = time_calls(quick=quick, progress=progress) if topic in {None, "calls"} else None
    result = {
        "format": 1,
        "when": when.isoformat(timespec="seconds"),
        **where,
        "complete": topic is None and not quick and not failed,
        "quick": quick,
        "topic": topic,
        "machine": machine.facts(),
        "load": [load, os.getloadavg()[0]],
        "versions": machine.versions(),
        "libraries": {name: library.note for name, library in LIBRARIES.items()},
        "skipped": {name: library.missing for name, library in LIBRARIES.items() if library.missing},
        "failed": failed,
        "noise": noise_of(jobs),
        "jobs": jobs,
        "calls": other,
    }
    RESULTS.mkdir(exist_ok=True)
    path = result_path(when, where["commit"], topic, quick=quick)
    path.write_text(json.dumps(result, indent=1) + "\n")
    for message in failed:
        console.print(f"not timed: {message}", highlight=False)
    console.print(f"wrote {path.relative_to(machine.ROOT)}", highlight=False)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
