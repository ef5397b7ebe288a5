"""``python -m benchmarks.report``: tables from the raw numbers of a run; the same numbers give the same text."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks.timing import Median, Times, median, ratio

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench_results"
LATEST = RESULTS / "latest.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
OWN, YARDSTICK = "fastdp", "memcpy"
LIBRARY_RIVALS = ("opendp", "multi-freq-ldpy", "pure-ldp")


def number(value: float) -> str:
    """Three digits that matter, thousands apart.

    >>> [number(value) for value in (1234.5, 45.67, 3.14159, 0.01234)]
    ['1,234', '45.7', '3.14', '0.0123']
    """
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:#.3g}"


def with_interval(found: Median) -> str:
    """A median and its interval."""
    return f"{number(found.value)} ({number(found.low)}–{number(found.high)})"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> list[str]:
    """A Markdown table; the first ``words`` columns are text, the rest numbers."""
    lines = ["| " + " | ".join(headings) + " |"]
    lines.append("|" + " --- |" * words + " ---: |" * (len(headings) - words))
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows)]


def times_of(job: dict[str, Any]) -> dict[str, Times]:
    """The rounds of each library that did the job."""
    return {found["library"]: Times(found["size"], found["cpu"], found["wall"]) for found in job["entries"]}


def speed_table(result: dict[str, Any]) -> list[str]:
    """Each job: fastdp's speed, its share of memcpy, and its ratio to each rival."""
    jobs = [(job, times_of(job)) for job in result["jobs"]]
    rivals = [
        name for name in result["libraries"] if name not in {OWN, YARDSTICK} and any(name in times for _, times in jobs)
    ]
    rows = []
    for job, times in jobs:
        label = f"{job['name']} ({job['unit']})" if job["unit"] != "values" else job["name"]
        if OWN not in times:
            rows.append([label, job["description"], *["failed its check"] * 2, *["–"] * len(rivals)])
            continue
        share = f"{100 * ratio(times[OWN], times[YARDSTICK]).value:.1f} %" if YARDSTICK in times else "–"
        ratios = [with_interval(ratio(times[OWN], times[name])) if name in times else "–" for name in rivals]
        rows.append([label, job["description"], number(times[OWN].speed() / 1e6), share, *ratios])
    headings = ["job", "what", "fastdp, M/s", "of memcpy", *(f"× {name}" for name in rivals)]
    return table(headings, rows, words=2)


def rival_table(result: dict[str, Any]) -> list[str]:
    """The speed of every library at every job, in millions per second."""
    names = list(result["libraries"])
    jobs = [(job["name"], times_of(job)) for job in result["jobs"]]
    names = [name for name in names if any(name in times for _, times in jobs)]
    rows = [
        [job, *(number(times[name].speed() / 1e6) if name in times else "–" for name in names)] for job, times in jobs
    ]
    return table(["M/s", *names], rows)


def call_tables(calls: dict[str, Any]) -> list[str]:
    """Small calls, memory, processes and threads."""
    lines = ["### A warm call on 1,000 values", ""]
    small: dict[str, dict[str, list[float]]] = {}
    for row in calls["small"]:
        small.setdefault(row["job"], {})[row["library"]] = row["cpu"]
    libraries = list(dict.fromkeys(row["library"] for row in calls["small"]))
    rows = [
        [job, *(number(1e6 * statistics.median(found[name])) if name in found else "–" for name in libraries)]
        for job, found in small.items()
    ]
    lines += table(["job", *(f"{name}, µs of CPU" for name in libraries)], rows)
    lines += ["", "### Peak memory of a call, beyond its input and output", ""]
    rows = [
        [row["job"], row["library"], f"{row['size']:,}", number(row["extra"] / 2**20) + ("" if row["reset"] else " *")]
        for row in calls["memory"]
    ]
    lines += table(["job", "library", "values", "MiB"], rows, words=2)
    if not all(row["reset"] for row in calls["memory"]):
        lines += ["", "\\* The high-water mark could not be reset: a lower bound."]
    lines += ["", "### A new process, from start to end", ""]
    rows = [[f"`{row['name']}`", with_interval(median(row["cpu"]))] for row in calls["processes"]]
    lines += table(["what", "CPU seconds"], rows)
    if calls["threads"]:
        one, two = (Times(**calls["threads"][name]) for name in ("one", "two"))
        gain = with_interval(ratio(two, one, "wall"))
        lines += ["", f"Two threads against one on {calls['threads']['job']}, by the wall clock: {gain} times as fast."]
    return lines


def about(result: dict[str, Any]) -> list[str]:
    """Where the numbers come from, and how to read them."""
    machine, noise = result["machine"], result["noise"]
    caches = ", ".join(f"{level} {size}" for level, size in machine["caches"].items())
    vectors = [name for name in ("avx512f", "avx2", "neon", "sve") if name in machine["features"]]
    software = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    kind = "A quick run: too short to quote. " if result["quick"] else ""
    lines = [
        f"{kind}Commit {result['commit']}{', with local changes' if result['dirty'] else ''}, {result['when']}.",
        "",
        f"- Machine: {machine['cpu']}, {machine['cores']} cores ({caches}), {machine['os']}, {machine['libc']}.",
        f"- Compiled for {machine['target']}{', with ' + ', '.join(vectors) if vectors else ''}.",
        f"- Software: {software}.",
    ]
    if noise:
        lines.append(
            f"- Noise: a memcpy of {noise['bytes'] / 1e6:g} MB, {noise['rounds']} times over the run, has quartiles "
            f"{100 * noise['spread']:.1f} % of its median apart. Load when it started and ended: "
            f"{result['load'][0]:.2f}, {result['load'][1]:.2f}."
        )
    lines.append(
        "- One thread, CPU time. Every output passed a test of its exact law first. A ratio is fastdp's speed over the "
        "rival's, per value: the median of rounds in which all ran in turn, with its 95 % interval. Above 1 fastdp is "
        "faster."
    )
    lines += [f"- {name}: {note}." for name, note in result["libraries"].items() if name not in result["skipped"]]
    lines += [f"- {name} was left out: {reason}." for name, reason in result["skipped"].items()]
    return lines + [f"- Not timed: {message}." for message in result["failed"]]


def latest(result: dict[str, Any]) -> str:
    """The whole of latest.md."""
    lines = ["# Benchmarks", "", "Generated by `python -m benchmarks.report`; do not edit.", "", *about(result)]
    if result["jobs"]:
        lines += ["", "## Speed beside rivals", "", *speed_table(result)]
        lines += ["", "## Speed of each library", "", *rival_table(result)]
    if result["calls"]:
        lines += ["", "## Other figures", "", *call_tables(result["calls"])]
    return "\n".join(lines) + "\n"


def readme_block(result: dict[str, Any]) -> str:
    """The compact table for README.md, markers included."""
    rows = []
    for job in result["jobs"]:
        times = times_of(job)
        if OWN not in times or "numpy" not in times:
            continue
        libraries = [name for name in LIBRARY_RIVALS if name in times]
        safe = number(ratio(times[OWN], times[libraries[0]]).value) + f" {libraries[0]}" if libraries else "–"
        speeds = [number(times[name].speed() / 1e6) for name in (OWN, "numpy")]
        rows.append([job["name"], *speeds, number(ratio(times[OWN], times["numpy"]).value), safe])
    headings = ["job, millions per second", "fastdp", "numpy, unsafe", "× numpy", "× a library"]
    source = f"One thread of {result['machine']['cpu']}, commit {result['commit']}; all rivals and intervals: "
    return "\n".join([BEGIN, *table(headings, rows), "", source + "[latest.md](bench_results/latest.md).", END])


def readme_text(text: str, result: dict[str, Any]) -> str:
    """README.md with its block replaced, as it is if it has no markers."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        return text
    return text[: text.index(BEGIN)] + readme_block(result) + text[text.index(END) + len(END) :]


def newest() -> Path:
    """The newest run of everything; quick runs and parts of a run do not count."""
    for path in sorted(RESULTS.glob("[0-9]*.json"), reverse=True):
        if json.loads(path.read_text())["complete"]:
            return path
    raise click.ClickException("bench_results/ holds no complete run; make one with: python -m benchmarks.run")


@click.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=False)
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file is not what the numbers give.")
@click.option("--print", "show", is_flag=True, help="Write nothing; print the report of PATH, quick runs included.")
def main(path: Path | None, check: bool, show: bool) -> None:
    """Make bench_results/latest.md, and the table in README.md if it has markers, from the newest complete run.

    \b
    Examples:
      python -m benchmarks.report
      python -m benchmarks.report --check
      python -m benchmarks.report --print bench_results/20260101T000000Z-abc1234-quick.json
    """
    result = json.loads((path or newest()).read_text())
    if show:
        click.echo(latest(result), nl=False)
        return
    wanted = {LATEST: latest(result)}
    if README.exists():
        wanted[README] = readme_text(README.read_text(), result)
    stale = [file for file, text in wanted.items() if not file.exists() or file.read_text() != text]
    for file in stale:
        if check:
            click.echo(f"{file.relative_to(ROOT)} is not what the newest run gives", err=True)
        else:
            file.write_text(wanted[file])
            click.echo(f"wrote {file.relative_to(ROOT)}", err=True)
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()
