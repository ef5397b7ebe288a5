"""The pictures of bench_results/: each is made from stored runs alone, and left out where they do not hold it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from benchmarks.measuring.machine import signature
from benchmarks.measuring.timing import ratio
from benchmarks.pages.svg import COLOURS, Line, bar, line_chart, picture, power, powers, segment, text
from benchmarks.pages.tables import OWN, YARDSTICK, curve_lines, number, times_of

FOLLOWED = (
    *("laplace-float64", "geometric-int64-1.4", "gaussian-float64", "krr-uint8-100", "oue-1000", "olh-1000"),
    *("planar-laplace", "keystream"),
)
"""Jobs whose history is drawn: one of each family, all in millions per second."""
ROW, LABEL, SCALE, ROOM = 13, 230, 420, 130


def ratio_plot(result: dict[str, Any]) -> str | None:
    """A bar per job and rival: how many times as fast fastdp is. Left of the line at 1 it is slower."""
    groups: list[tuple[str, list[tuple[str, float]]]] = []
    for job in result["jobs"]:
        times = times_of(job)
        if OWN not in times:
            continue
        rivals = [name for name in times if name not in {OWN, YARDSTICK}]
        if rivals:
            groups.append((job["name"], [(name, ratio(times[OWN], times[name]).value) for name in rivals]))
    if not groups:
        return None
    seen = [value for _, rows in groups for _, value in rows]
    low = 10.0 ** math.floor(math.log10(min(1.0, *seen)))
    high = 10.0 ** math.ceil(math.log10(max(10.0, *seen)))
    names = list(dict.fromkeys(name for _, rows in groups for name, _ in rows))

    def across(value: float) -> float:
        return LABEL + SCALE * math.log10(value / low) / math.log10(high / low)

    height = 60 + sum(ROW * len(rows) + 6 for _, rows in groups)
    title = "How many times as fast as each rival fastdp is, per value; CPU time"
    parts = [text(10, 20, title, size=13, colour="#222222")]
    for value in powers((low, high)):
        x = across(value)
        parts += [segment(x, 40, x, height - 10), text(x, 35, power(value), anchor="middle")]
    y = 46.0
    for job, rows in groups:
        parts.append(text(LABEL - 8, y + ROW / 2 + 4, job, anchor="end", colour="#222222"))
        for name, value in rows:
            left, right = sorted((across(1.0), across(value)))
            parts.append(bar(left, y, right - left, ROW - 2, COLOURS[names.index(name) % len(COLOURS)]))
            parts.append(text(max(right, across(1.0)) + 5, y + ROW - 4, f"{number(value)} {name}", size=9))
            y += ROW
        y += 6
    parts.append(segment(across(1.0), 40, across(1.0), height - 10, "#222222"))
    return picture(LABEL + SCALE + ROOM, height, parts)


def throughput_plot(result: dict[str, Any]) -> str | None:
    """Values per second against how many there are in a call."""
    lines = []
    for curve in result.get("scaling") or ():
        if curve["axis"] == "n":
            job = curve["name"].removesuffix(", by values")
            for name, points in curve_lines(curve).items():
                label = job if name == OWN else f"{job}, {name}".replace(f", {OWN}, ", ", ")
                lines.append(Line(label, sorted(points.items()), dashed=name != OWN))
    if not lines:
        return None
    return line_chart("Throughput against the size of a call", "values in a call", "values per second", lines)


def ibu_plot(result: dict[str, Any]) -> str | None:
    """Seconds of an iteration against the size of the channel."""
    lines = []
    for curve in result.get("scaling") or ():
        if curve["axis"] == "channel":
            kind = curve["name"].removeprefix("ibu-").removesuffix(", by channel")
            for name, points in curve_lines(curve).items():
                label = kind if name == OWN else f"{kind}, {name}"
                lines.append(Line(label, sorted((x, 1 / speed) for x, speed in points.items()), dashed=name != OWN))
    if not lines:
        return None
    return line_chart("An iteration of IBU, by kind of channel", "values of the channel", "CPU seconds", lines)


def history_plot(result: dict[str, Any], runs: Sequence[dict[str, Any]]) -> str | None:
    """Speeds of all complete runs on the machine of the newest, in the order they were made."""
    here = signature(result["machine"])
    kept = [run for run in runs if run["complete"] and signature(run["machine"]) == here]
    if len(kept) < 2:
        return None
    lines = []
    for name in FOLLOWED:
        points = []
        for place, run in enumerate(kept):
            for job in run["jobs"]:
                times = times_of(job)
                if job["name"] == name and OWN in times:
                    points.append((float(place), times[OWN].speed() / 1e6))
        if points:
            lines.append(Line(name, points))
    if not lines:
        return None
    commits = [run["commit"] for run in kept]
    return line_chart("Speed over commits, on one machine", "commit", "millions per second", lines, commits)


def all_plots(result: dict[str, Any], runs: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Every picture that the runs hold, by name."""
    made = {
        "ratios": ratio_plot(result),
        "throughput": throughput_plot(result),
        "ibu": ibu_plot(result),
        "history": history_plot(result, runs),
    }
    return {name: drawn for name, drawn in made.items() if drawn is not None}
