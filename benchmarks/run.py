"""``python -m benchmarks.run``: check everything, then time everything, and keep every round."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks.jobs.job import CheckError
from benchmarks.jobs.registry import JOBS, TOPICS, Entry, Job, entries
from benchmarks.measuring import calls, limits, machine, scaling
from benchmarks.measuring.timing import Task, interleave
from benchmarks.measuring.yardsticks import Watch, objections, refusal
from benchmarks.rivals.libraries import LIBRARIES
from fastdp.random.generator import process_generator

RESULTS = machine.ROOT / "bench_results"
ROUNDS = 21
QUICK_ROUNDS = 7
OWN, SMALL_OWN = "fastdp", "fastdp, quick size"
ALL_TOPICS = (*TOPICS, "limits", "scaling", "calls")
"""Topics of jobs, and those that have no jobs."""


class NoisyError(RuntimeError):
    """The machine was too noisy for the run to be stored."""


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
            if entry.library.name == OWN:
                raise
            failed.append(f"{entry}: it does not work here, {type(error).__name__}")
        progress.advance(task)
    return passed, failed


def time_job(job: Job, passed: dict[str, float | None], *, quick: bool, progress: Progress) -> dict[str, Any]:
    """One job with all its rounds; memcpy of the same input among them, and fastdp on the input of a quick run too."""
    chosen = [entry for entry in entries(job=job.name) if str(entry) in passed]
    rounds = QUICK_ROUNDS if quick else job.rounds
    bar = progress.add_task(f"timing {job.name}", total=rounds)
    tasks, moved, operations = [], None, None
    for entry in chosen:
        size = entry.size(quick=quick)
        tasks.append(Task(entry.library.name, size * entry.way.part, entry.setup(size), pooled=entry.library.pooled))
        if entry.library.name == OWN:
            moved = job.moved(tasks[-1].call(), size)
            operations = job.operations(job, size) if job.operations else None
            if not quick and not job.heavy and entry.size(quick=True) < size:
                tasks.append(Task(SMALL_OWN, entry.size(quick=True), entry.setup(entry.size(quick=True))))
    times = interleave(tasks, rounds, threads=job.threads, tick=lambda: progress.advance(bar))
    progress.update(bar, visible=False)
    return {
        "name": job.name,
        "topic": job.topic,
        "unit": job.unit,
        "dtype": job.dtype,
        "description": job.description,
        "random": job.random,
        "operations": operations,
        "moved": None if moved is None else [float(count) for count in moved],
        "limit": job.limit,
        "entries": [
            {"library": entry.library.name, "p_value": passed[str(entry)], **asdict(times[entry.library.name])}
            for entry in chosen
        ],
        "quick": asdict(times[SMALL_OWN]) if SMALL_OWN in times else None,
    }


def chosen_entries(topic: str | None, *, quick: bool, only: Container[str] | None = None) -> list[Entry]:
    """What is installed and has a place in a run, of all jobs or only of these."""
    return [
        entry
        for entry in entries(topic=topic)
        if entry.library.missing is None
        and (only is None or entry.job.name in only)
        and not (quick and (entry.job.heavy or not entry.library.is_quick))
    ]


def time_jobs(chosen: list[Entry], *, quick: bool, progress: Progress, watch: Watch) -> dict[str, Any]:
    """The jobs of these entries: what was timed, and what was not."""
    passed, failed = check_all(chosen, quick=quick, progress=progress)
    names = {entry.job.name for entry in chosen}
    found = []
    for job in JOBS:
        if job.name in names:
            found.append(time_job(job, passed, quick=quick, progress=progress))
            watch.look(1)
    return {"jobs": found, "failed": failed}


def time_calls(*, quick: bool, progress: Progress, watch: Watch) -> dict[str, Any]:
    """The figures of ``benchmarks.measuring.calls``, by group."""
    found: dict[str, Any] = {"small": [], "memory": [], "processes": [], "threads": None}
    work = list(calls.steps(quick=quick))
    task = progress.add_task("calls", total=len(work))
    for group, what, measure_it in work:
        progress.update(task, description=f"calls: {what}")
        row = measure_it()
        if group not in {"memory", "processes"}:
            found[group] = row
        elif row is not None:
            found[group].append(row)
        watch.look(1)
        progress.advance(task)
    return found


def time_scaling(*, quick: bool, progress: Progress, watch: Watch) -> list[dict[str, Any]]:
    """Every curve of ``benchmarks.measuring.scaling``."""
    chosen = scaling.curves(quick=quick)
    task = progress.add_task("scaling", total=sum(len({point.x for point in curve.points}) for curve in chosen))
    found = []
    for curve in chosen:
        progress.update(task, description=f"scaling {curve.name}")
        found.append(scaling.measure(curve, quick=quick, tick=lambda: progress.advance(task)))
        watch.look(1)
    return found


def measure(
    topic: str | None, *, quick: bool, progress: Progress, only: Container[str] | None = None
) -> dict[str, Any]:
    """A whole run: the machine, its noise and its limits, every job or only these, and where they come from.

    A quick run without a topic leaves out the curves, memory and new processes; so does one of some jobs.
    """
    when, load = datetime.now(UTC), os.getloadavg()[0]
    where = machine.commit()
    watch = Watch()
    watch.look(5)
    bar = progress.add_task("limits of the machine", total=None)
    found_limits = limits.measure(QUICK_ROUNDS if quick else ROUNDS)
    progress.update(bar, visible=False)
    done: dict[str, Any] = {"jobs": [], "failed": []}
    if topic is None or topic in TOPICS:
        chosen = chosen_entries(topic, quick=quick, only=only)
        done = time_jobs(chosen, quick=quick, progress=progress, watch=watch)
    curves = other = None
    whole = topic is None and only is None and not quick
    if topic == "scaling" or whole:
        curves = time_scaling(quick=quick, progress=progress, watch=watch)
    if topic == "calls" or whole:
        other = time_calls(quick=quick, progress=progress, watch=watch)
    watch.look(5)
    return {
        "format": 2,
        "when": when.isoformat(timespec="seconds"),
        **where,
        "complete": whole and not done["failed"],
        "quick": quick,
        "topic": topic,
        "machine": machine.facts(),
        "generator": process_generator(),
        "load": [load, os.getloadavg()[0]],
        "versions": machine.versions(),
        "libraries": {name: library.note for name, library in LIBRARIES.items()},
        "skipped": {name: library.missing for name, library in LIBRARIES.items() if library.missing},
        **done,
        "noise": watch.facts(),
        "limits": found_limits,
        "scaling": curves,
        "calls": other,
    }


def result_path(when: datetime, commit: str, topic: str | None, *, quick: bool) -> Path:
    """Where this run's numbers go; parts of a run and quick ones carry it in their name."""
    parts = [when.strftime("%Y%m%dT%H%M%SZ"), commit, topic, "quick" if quick else None]
    return RESULTS / ("-".join(part for part in parts if part) + ".json")


def store(result: dict[str, Any], path: Path | None = None) -> Path:
    """Write a run to bench_results/, or raise NoisyError; to a file elsewhere whatever the noise, with the reasons."""
    reasons = objections(result["noise"])
    if path is None:
        if reasons:
            raise NoisyError(refusal(reasons))
        when = datetime.fromisoformat(result["when"])
        path = result_path(when, result["commit"], result["topic"], quick=result["quick"])
    elif path.resolve().is_relative_to(RESULTS.resolve()):
        raise click.UsageError("--output is for files outside bench_results/; without it the run is stored there")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**result, "refused": reasons}, indent=1) + "\n")
    return path


@contextmanager
def shown(console: Console) -> Iterator[Progress]:
    """A bar per piece of work, on the console given."""
    bar = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*bar, TimeRemainingColumn(), console=console) as progress:
        yield progress


@click.command()
@click.option("--quick", is_flag=True, help="A tenth of the input, a third of the rounds, few rivals: to see it work.")
@click.option("--topic", type=click.Choice(ALL_TOPICS), help="Only this topic.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the numbers to this file instead, outside bench_results/, however noisy the machine is.",
)
def main(quick: bool, topic: str | None, output: Path | None) -> None:
    """Check and time every job with every library, and write the raw numbers to bench_results/.

    A run is not stored if the machine was noisier than benchmarks.measuring.yardsticks allows.

    \b
    Examples:
      python -m benchmarks.run
      python -m benchmarks.run --quick --topic keystream --output look.json
    """
    console = Console(stderr=True)
    with shown(console) as progress:
        result = measure(topic, quick=quick, progress=progress)
    for message in result["failed"]:
        console.print(f"not timed: {message}", highlight=False)
    try:
        path = store(result, output)
    except NoisyError as error:
        raise click.ClickException(str(error)) from None
    console.print(f"wrote {path.name}", highlight=False)
    sys.exit(1 if result["failed"] else 0)


if __name__ == "__main__":
    main()
