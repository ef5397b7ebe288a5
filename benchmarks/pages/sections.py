"""The sections of latest.md."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.measuring import limits
from benchmarks.measuring.timing import Times, median, ratio
from benchmarks.pages.tables import (
    OWN,
    curve_lines,
    number,
    rival_table,
    share_of_limit,
    speed_table,
    table,
    times_of,
    with_interval,
)

FURTHEST = 10
PICTURES = {
    "ratios": "Speed beside rivals",
    "throughput": "Throughput against the number of values",
    "ibu": "Time of an iteration against the size of the channel",
    "history": "Speed over commits",
}


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
    rows = [
        [
            f"`{row['name']}`",
            with_interval(median(row["cpu"])),
            with_interval(median(row["wall"])) if "wall" in row else "–",
        ]
        for row in calls["processes"]
    ]
    lines += table(["what", "CPU seconds", "wall seconds"], rows)
    return lines + (thread_table(calls["threads"]) if calls["threads"] else [])


def thread_table(found: dict[str, Any]) -> list[str]:
    """What a second thread gains, beside what it gains for pure work and pure copying in the same rounds."""
    rows = []
    for label, one, two in (
        (found["job"], "one", "two"),
        ("products of small matrices", "compute-one", "compute-two"),
        ("copies of 64 MB", "memory-one", "memory-two"),
    ):
        if one in found:
            rows.append([label, with_interval(ratio(Times(**found[two]), Times(**found[one]), "wall"))])
    lines = ["", "### Two threads against one, by the wall clock", ""]
    return lines + table(["what", "times as fast"], rows)


def limit_table(result: dict[str, Any]) -> list[str]:
    """What the machine can do."""
    words = {
        "copy": "memcpy, 64 MB",
        "copy-shared": "memcpy within the cache that cores share",
        "copy-cached": "memcpy within a core's cache",
        "read": "reading, 64 MB",
        "read-shared": "reading within the cache that cores share",
        "read-cached": "reading within a core's cache",
        "aes-256-ctr": "AES-256-CTR of OpenSSL",
        "chacha20": "ChaCha20 of OpenSSL",
        "own-keystream": "keystream of fastdp",
        "arithmetic": "multiplications and additions of a product of matrices",
    }
    rates = limits.rates(result["limits"])
    rows = [[words[name], number(rates[name] / 1e9)] for name in words if name in rates]
    return table(["limit", "GB/s, or billions of operations"], rows)


def furthest_table(result: dict[str, Any]) -> list[str]:
    """The jobs furthest from what the machine allows, the worst first."""
    rates = limits.rates(result["limits"])
    found = [(share_of_limit(job, rates), job["name"]) for job in result["jobs"]]
    worst = sorted((share[0], name, share[1]) for share, name in found if share is not None)[:FURTHEST]
    return table(["job", "limit", "share"], [[name, limit, f"{100 * share:.2g} %"] for share, name, limit in worst], 2)


def file_table(jobs: list[dict[str, Any]]) -> list[str]:
    """Jobs on files by both clocks, for they use every core."""
    rows = []
    for job in jobs:
        times = times_of(job)
        for name, found in times.items():
            cpu, wall = (number(found.speed(clock) / 1e6) for clock in ("cpu", "wall"))
            ratios = [with_interval(ratio(times[OWN], found, clock)) for clock in ("cpu", "wall") if OWN in times]
            rows.append([job["name"], name, cpu, wall, *(ratios if name != OWN else ["–", "–"])])
    headings = ["job", "library", "M rows/s of CPU", "M rows/s", "fastdp × it, CPU", "fastdp × it, wall"]
    return table(headings, rows, words=2)


def curve_table(curve: dict[str, Any]) -> list[str]:
    """A row per place on the curve, a column per line."""
    lines = curve_lines(curve)
    places = sorted({point["x"] for point in curve["points"]})
    rows = [[f"{x:,}", *(number(line[x] / 1e6) if x in line else "–" for line in lines.values())] for x in places]
    return [f"### {curve['name']}, M {curve['unit']}/s", "", *table([curve["axis"], *lines], rows, words=0), ""]


def noise_words(noise: dict[str, Any] | None) -> list[str]:
    """How noisy the machine was, in a sentence; in runs of the first format, by a memcpy alone."""
    if not noise:
        return []
    if "bytes" in noise:
        said = f"Noise: a memcpy of {noise['bytes'] / 1e6:g} MB, {noise['rounds']} times over the run, has quartiles "
        return [said + f"{100 * noise['spread']:.1f} % of its median apart."]
    most = noise["limits"]
    spread, drift = (
        " and ".join(
            f"{100 * seen:.1f} % for {kind} ({100 * most[level][kind]:g} % at most)"
            for kind, seen in noise[level].items()
        )
        for level in ("spread", "drift")
    )
    rounds = len(noise["reference"]["compute"]["cpu"])
    said = f"Noise: the ratio of a fixed reference job to itself, {rounds} times over the run, has quartiles apart by "
    said += f"{spread}; its time, which hits job and rival alike, by {drift}."
    if noise["gain"]:
        gains = " and ".join(f"{seen:.2f} for {kind}" for kind, seen in noise["gain"].items())
        said += f" Two threads of them at once were {gains} times as fast as one ({most['gain']:g} at least)."
    return [said]


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
    if "generator" in result:
        lines.append(f"- fastdp's keystream: {result['generator']}.")
    load = f"Load when it started and ended: {result['load'][0]:.2f}, {result['load'][1]:.2f}."
    lines += [f"- {text} {load}" for text in noise_words(noise)]
    lines.append(
        "- One thread, CPU time. Every output passed a test of its exact law first. A ratio is fastdp's speed over the "
        "rival's, per value: the median of rounds in which all ran in turn, with its 95 % interval. Above 1 fastdp is "
        "faster."
    )
    lines += [f"- {name}: {note}." for name, note in result["libraries"].items() if name not in result["skipped"]]
    lines += [f"- {name} was left out: {reason}." for name, reason in result["skipped"].items()]
    return lines + [f"- Not timed: {message}." for message in result["failed"]]


def latest(result: dict[str, Any], pictures: Sequence[str]) -> str:
    """The whole of latest.md."""
    lines = ["# Benchmarks", "", "Generated by `python -m benchmarks.report`; do not edit.", "", *about(result)]
    for name in pictures:
        lines += ["", f"![{PICTURES[name]}]({name}.svg)"]
    if result.get("limits"):
        lines += ["", "## What the machine can do", "", *limit_table(result)]
        lines += [
            "",
            "A job's limit is the slowest of these for the bytes that it must read, write and draw, and for its",
            "multiplications with the entries of a matrix; that of a job on files is pyarrow's plain copy. Other",
            "arithmetic counts for nothing, so jobs that compute much for few bytes lie far from it.",
            "[NOTES.md](NOTES.md) says why.",
        ]
        if result["jobs"]:
            lines += ["", "### Furthest from their limits", "", *furthest_table(result)]
    if result["jobs"]:
        lines += ["", "## Speed beside rivals", "", *speed_table(result)]
        lines += ["", "## Speed of each library", "", *rival_table(result)]
        files = [job for job in result["jobs"] if job["topic"] == "files"]
        if files:
            lines += ["", "## From disk to disk", "", *file_table(files)]
    if result.get("scaling"):
        lines += ["", "## Scaling", ""]
        for curve in result["scaling"]:
            lines += curve_table(curve)
        lines.pop()
    if result["calls"]:
        lines += ["", "## Other figures", "", *call_tables(result["calls"])]
    return "\n".join(lines) + "\n"
