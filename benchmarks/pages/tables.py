"""Tables in Markdown from the raw numbers of a run; the same numbers give the same text."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring import limits
from benchmarks.measuring.timing import Median, Times, ratio

OWN, YARDSTICK = "fastdp", "memcpy"
LIBRARY_RIVALS = ("opendp", "multi-freq-ldpy", "pure-ldp")
README_JOBS = (
    "laplace-float64", "geometric-int64-1.4", "gaussian-float64", "discrete-gaussian-5", "krr-uint8-100", "rr-packed",
    "oue-count-1000", "subset-100", "olh-count-1000", "planar-laplace", "ibu-dense-1000", "ibu-grid-100",
)  # fmt: skip
"""The rows of README's table: a job of each kind, those that gain little included."""
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


def number(value: float) -> str:
    """Three digits that matter, thousands apart.

    >>> [number(value) for value in (1234.5, 99.99, 45.67, 3.14159, 0.01234)]
    ['1,234', '100', '45.7', '3.14', '0.0123']
    """
    if abs(value) >= 99.95:  # which would be rounded to four digits
        return f"{value:,.0f}"
    if abs(value) >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:#.3g}"


def rate(speed: float) -> str:
    """Units per second, with a letter for thousands, millions or milliards.

    >>> [rate(speed) for speed in (0.5, 870.0, 1860.0, 1.84e8, 2.3e10)]
    ['0.500', '870', '1.86 k', '184 M', '23.0 G']
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if speed >= size:
            return f"{number(speed / size)} {letter}"
    return number(speed)


def with_interval(found: Median) -> str:
    """A median and its interval."""
    return f"{number(found.value)} ({number(found.low)}–{number(found.high)})"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> list[str]:
    """A Markdown table; the first ``words`` columns are text, the rest numbers."""
    lines = ["| " + " | ".join(headings) + " |"]
    lines.append("|" + " --- |" * words + " ---: |" * (len(headings) - words))
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows)]


def put_between(page: Path, parts: dict[str, Sequence[str]]) -> None:
    """Put lines between the markers of each name in a page."""
    text = page.read_text()
    for name, lines in parts.items():
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        text = text[: text.index(begin) + len(begin)] + "\n" + "\n".join(lines) + "\n" + text[text.index(end) :]
    page.write_text(text)


def times_of(job: dict[str, Any]) -> dict[str, Times]:
    """The rounds of each library that did the job."""
    return {found["library"]: Times(found["size"], found["cpu"], found["wall"]) for found in job["entries"]}


def share_of_limit(job: dict[str, Any], rates: dict[str, float]) -> tuple[float, str] | None:
    """How near fastdp comes to what the machine allows, and what sets that limit; None where it was not measured."""
    times = times_of(job)
    if OWN not in times:
        return None
    if job.get("limit"):
        return (ratio(times[OWN], times[job["limit"]]).value, job["limit"]) if job["limit"] in times else None
    if not rates or not job.get("moved"):
        return None
    reads, writes, passes = job["moved"]
    random, operations = job["random"] * times[OWN].size, job.get("operations") or 0.0
    seconds, name = limits.least_seconds(rates, reads, writes, random, passes, operations)
    return seconds / statistics.median(times[OWN].cpu), name


def speed_table(result: dict[str, Any]) -> list[str]:
    """Each job: fastdp's speed, its share of its limit, and its ratio to each rival."""
    rates = limits.rates(result.get("limits") or [])
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
        limit = share_of_limit(job, rates)
        if limit is None and YARDSTICK in times:
            limit = ratio(times[OWN], times[YARDSTICK]).value, YARDSTICK
        share = f"{100 * limit[0]:.1f} % of {limit[1]}" if limit else "–"
        ratios = [with_interval(ratio(times[OWN], times[name])) if name in times else "–" for name in rivals]
        rows.append([label, job["description"], number(times[OWN].speed() / 1e6), share, *ratios])
    headings = ["job", "what", "fastdp, M/s", "of its limit", *(f"× {name}" for name in rivals)]
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


def curve_lines(curve: dict[str, Any]) -> dict[str, dict[int, float]]:
    """Units per second by place, for each library and number of threads; several threads by the wall clock."""
    lines: dict[str, dict[int, float]] = {}
    for point in curve["points"]:
        several = point["threads"] > 1
        name = f"{point['library']}, {point['threads']} threads" if several else point["library"]
        speed = Times(point["size"], point["cpu"], point["wall"]).speed("wall" if several else "cpu")
        lines.setdefault(name, {})[point["x"]] = speed
    return lines


def readme_block(result: dict[str, Any]) -> str:
    """The compact table for README.md, markers included: the chosen jobs, as far as they were measured."""
    rows = []
    for job in result["jobs"]:
        if job["name"] not in README_JOBS:
            continue
        times = times_of(job)
        if OWN not in times or "numpy" not in times:
            continue
        libraries = [name for name in LIBRARY_RIVALS if name in times]
        safe = number(ratio(times[OWN], times[libraries[0]]).value) + f" {libraries[0]}" if libraries else "–"
        speeds = [rate(times[name].speed()) for name in (OWN, "numpy")]
        rows.append([job["name"], *speeds, number(ratio(times[OWN], times["numpy"]).value), safe])
    headings = ["job, units per second", "fastdp", "numpy, unsafe", "× numpy", "× a library"]
    source = f"One thread of {result['machine']['cpu']}, commit {result['commit']}; all jobs, rivals and intervals: "
    return "\n".join([BEGIN, *table(headings, rows), "", source + "[latest.md](bench_results/latest.md).", END])
