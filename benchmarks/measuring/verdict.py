"""What became faster or slower since a stored run on the same machine, beyond the noise of both."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measuring.machine import signature
from benchmarks.measuring.timing import Times, median

LEAST_NOISE = 0.05
"""No change below this counts, however quiet the machine seems: layout in memory alone does as much."""
OWN = "fastdp"


@dataclass(frozen=True)
class Change:
    """A job's speed now over its speed then, with an interval, and what noise alone could do to it."""

    job: str
    size: float
    since: str
    value: float
    low: float
    high: float
    least: float
    most: float

    @property
    def verdict(self) -> str:
        """Slower or faster if the whole interval lies beyond the noise, else the same."""
        if self.high < self.least:
            return "slower"
        return "faster" if self.low > self.most else "same"


def own_times(result: dict[str, Any]) -> dict[tuple[str, float], Times]:
    """Fastdp's own rounds, by job and size of input: those of the run, and those at the size of a quick one."""
    found = {}
    for job in result["jobs"]:
        rows = [row for row in job["entries"] if row["library"] == OWN]
        if job.get("quick"):
            rows.append(job["quick"])
        for row in rows:
            found[job["name"], row["size"]] = Times(row["size"], row["cpu"], row["wall"])
    return found


def drift_of(result: dict[str, Any]) -> float:
    """The largest drift of a reference job; runs of the first format have one job alone."""
    noise = result["noise"] or {}
    return max(noise["drift"].values()) if result["format"] >= 2 else float(noise.get("spread", LEAST_NOISE))


def drifts(now: dict[str, Any], then: dict[str, Any]) -> list[float]:
    """How many times as fast each reference job is now: what the machine itself gained or lost."""
    known = [run["noise"]["reference"] if run["format"] >= 2 else {} for run in (now, then)]
    return [Times(**known[0][kind]).speed() / Times(**known[1][kind]).speed() for kind in known[0] if kind in known[1]]


def compare(now: dict[str, Any], then: dict[str, Any]) -> list[Change]:
    """The change of every job that both runs did on inputs of the same size.

    Rounds of different runs have no partners, so the interval goes from the worst of one to the best of the other. A
    change within the drift of the reference jobs, on top of what these gained or lost themselves, is noise.
    """
    noise = max(LEAST_NOISE, drift_of(now), drift_of(then))
    moved = [1.0, *drifts(now, then)]
    before = own_times(then)
    found = []
    for (job, size), times in own_times(now).items():
        if (job, size) not in before:
            continue
        new, old = median(times.cpu), median(before[job, size].cpu)
        found.append(
            Change(
                job, size, then["commit"], old.value / new.value, old.low / new.high, old.high / new.low,
                min(moved) * (1 - noise), max(moved) * (1 + noise),
            )
        )  # fmt: skip
    return found


def stored(folder: Path) -> list[dict[str, Any]]:
    """Every stored run, the newest first."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("[0-9]*.json"), reverse=True)]


def against_stored(now: dict[str, Any], runs: Iterable[dict[str, Any]]) -> list[Change]:
    """The change of every job against the newest run of this machine that has it at this size."""
    here = signature(now["machine"])
    found: dict[tuple[str, float], Change] = {}
    for run in runs:
        if signature(run["machine"]) == here and not run.get("refused"):
            for change in compare(now, run):
                found.setdefault((change.job, change.size), change)
    return [found[key] for key in own_times(now) if key in found]


def regressed(changes: Iterable[Change]) -> bool:
    """Whether any job is slower beyond the noise."""
    return any(change.verdict == "slower" for change in changes)
