"""What ``fastdp bench`` does: measure, show a table, and judge against stored runs of this machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.jobs.registry import TOPICS as JOB_TOPICS
from benchmarks.measuring import limits, machine, verdict
from benchmarks.measuring.timing import ratio
from benchmarks.measuring.verdict import Change
from benchmarks.measuring.yardsticks import objections
from benchmarks.pages.tables import OWN, curve_lines, number, rate, share_of_limit, times_of, with_interval
from benchmarks.run import ALL_TOPICS, RESULTS, chosen_entries, measure, shown
from fastdp.errors import InputCorruptError, ParameterError

TOPICS = ALL_TOPICS
LINE = 110
"""Letters in a line where nobody looks at a window."""
RIVALS = ("numpy", "pyarrow", "plain-em")
"""The rival shown in a table that has room for one: the first that did the job."""


def bench(topic: str | None, *, quick: bool, compare: Path | None, as_json: bool, quiet: bool) -> int:
    """Measure and show; 1 if a job became slower beyond the noise, else 0."""
    chosen = None if compare is None else read_run(compare)
    console = Console(stderr=True, quiet=quiet)
    with shown(console) as progress:
        result = measure(topic, quick=quick, progress=progress)
    changes = judge(result, chosen)
    slower = verdict.regressed(changes)
    if as_json:
        judged = [asdict(change) | {"verdict": change.verdict} for change in changes]
        click.echo(json.dumps({"result": result, "changes": judged, "regressed": slower}, indent=1))
        return int(slower)
    out = Console(width=None if sys.stdout.isatty() else LINE)
    if result["jobs"]:
        out.print(job_table(result, changes))
    if topic in {None, "limits"}:
        out.print(limit_table(result))
    for curve in result["scaling"] or ():
        out.print(curve_table(curve))
    if result["calls"]:
        out.print(call_table(result["calls"]))
    for line in words(result, changes):
        out.print(line, highlight=False, soft_wrap=True)
    return int(slower)


def planned(topic: str | None, *, quick: bool, as_json: bool) -> None:
    """Print each job that a bench would measure, and the libraries that do it."""
    jobs: dict[str, list[str]] = {}
    if topic is None or topic in JOB_TOPICS:
        for entry in chosen_entries(topic, quick=quick):
            jobs.setdefault(entry.job.name, []).append(entry.library.name)
    others = [name for name in ALL_TOPICS if name not in JOB_TOPICS and topic in {None, name}]
    if as_json:
        click.echo(json.dumps({"jobs": jobs, "others": others}, indent=1))
        return
    for name, libraries in jobs.items():
        click.echo(f"{name}: {', '.join(libraries)}")
    if others:
        click.echo(f"and: {', '.join(others)}")


def read_run(path: Path) -> dict[str, Any]:
    """A stored run of this machine."""
    try:
        run: dict[str, Any] = json.loads(path.read_text())
        where = machine.signature(run["machine"])
    except (ValueError, KeyError, TypeError):
        raise InputCorruptError(f"bench: {path.name!r} is not a run that benchmarks.run stored") from None
    if where != machine.signature(machine.facts()):
        raise ParameterError(
            f"bench: {path.name!r} was measured on another machine, {run['machine']['cpu']} compiled for "
            f"{run['machine']['target']}; a verdict needs a run of this one"
        )
    return run


def judge(result: dict[str, Any], chosen: dict[str, Any] | None) -> list[Change]:
    """The changes against one run, or against the newest of this machine for each job."""
    return verdict.against_stored(result, [chosen] if chosen is not None else verdict.stored(RESULTS))


def plain_table(title: str, *headings: str) -> Table:
    """A table without a frame, its first column to the left and all others to the right."""
    table = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
    for number_of, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number_of else "left", no_wrap=True)
    return table


def job_table(result: dict[str, Any], changes: Sequence[Change]) -> Table:
    """A row per job: speed, share of its limit, ratio to a rival, and change since the stored run, if there is one."""
    headings = ["job", "per second", "of its limit", "times a rival", *(["since stored"] if changes else [])]
    table = plain_table("Speed, CPU time", *headings)
    known, found = limits.rates(result["limits"]), {(change.job, change.size): change for change in changes}
    for job in result["jobs"]:
        times = times_of(job)
        if OWN not in times:
            table.add_row(job["name"], "failed its check")
            continue
        own = times[OWN]
        share = share_of_limit(job, known)
        rival = next((name for name in RIVALS if name in times), None)
        change = found.get((job["name"], own.size))
        table.add_row(
            job["name"], rate(own.speed()), f"{100 * share[0]:.1f} % {share[1]}" if share else "–",
            f"{with_interval(ratio(own, times[rival]))} {rival}" if rival else "–",
            *([_shown(change) if change else "–"] if changes else []),
        )  # fmt: skip
    return table


def _shown(change: Change) -> str:
    style = {"slower": "red", "faster": "green", "same": "dim"}[change.verdict]
    return f"[{style}]{number(change.value)} {change.verdict}[/]"


def limit_table(result: dict[str, Any]) -> Table:
    table = plain_table("What the machine can do", "limit", "billions of bytes or operations a second")
    for name, speed in limits.rates(result["limits"]).items():
        table.add_row(name, number(speed / 1e9))
    return table


def curve_table(curve: dict[str, Any]) -> Table:
    """A row per place, a column per library and number of threads."""
    lines = curve_lines(curve)
    table = plain_table(f"{curve['name']}, {curve['unit']} per second", curve["axis"], *lines)
    for x in sorted({point["x"] for point in curve["points"]}):
        table.add_row(f"{x:,}", *(rate(line[x]) if x in line else "–" for line in lines.values()))
    return table


def call_table(calls: dict[str, Any]) -> Table:
    table = plain_table("A new process, from start to end", "what", "CPU seconds")
    for row in calls["processes"]:
        table.add_row(row["name"], number(sorted(row["cpu"])[len(row["cpu"]) // 2]))
    return table


def words(result: dict[str, Any], changes: Sequence[Change]) -> list[str]:
    """The noise, and the verdict, in sentences."""
    noise = result["noise"]
    spread, drift = (
        ", ".join(f"{kind} {100 * seen:.1f} %" for kind, seen in noise[level].items()) for level in ("spread", "drift")
    )
    gain = ", ".join(f"{kind} {seen:.2f}" for kind, seen in noise["gain"].items())
    said = [
        f"Noise in a ratio: {spread}. Drift of the machine: {drift}." + (f" Two threads gain: {gain}." if gain else "")
    ]
    reasons = objections(noise)
    if reasons:
        said.append(f"The machine is busy, so take these figures lightly: {'; '.join(reasons)}.")
    said += [f"Not timed: {message}." for message in result["failed"]]
    if not result["jobs"]:
        return said
    if not changes:
        return [*said, "No verdict: no stored run of this machine has these jobs. Make one: python -m benchmarks.run"]
    slower = [change for change in changes if change.verdict == "slower"]
    faster = sum(change.verdict == "faster" for change in changes)
    for change in slower:
        said.append(
            f"{change.job} runs at {number(change.value)} ({number(change.low)}–{number(change.high)}) of its speed at "
            f"{change.since}; noise explains down to {number(change.least)}."
        )
    return [*said, f"Verdict: of {len(changes)} jobs {len(slower)} slower and {faster} faster, beyond the noise."]
