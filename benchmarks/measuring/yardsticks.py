"""Fixed pieces of work that never change with fastdp: how noisy the machine is, and how idle its second core.

Products of small matrices stay in a core's own cache and keep its arithmetic busy; a copy of large arrays waits for
memory. Both release the GIL, so that two threads can run them at once, each on its own data.

Each runs twice in a round, in turn, as a job and its rival do. The ratio of the two would be 1 on a quiet machine: how
far it spreads is the noise in every ratio of the run. A shared machine also becomes slower and faster by the minute;
that drift hits a job and its rival alike, so it spoils no ratio, but absolute speeds carry it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from benchmarks.measuring.timing import Task, Times, interleave, ratio, ratios, spread

SIDE = 192
PRODUCTS = 30
COPIED = 8_000_000
"""Numbers in a copy: 64 MB in and 64 MB out, twice the largest cache of the machines in bench_results."""
KINDS = ("compute", "memory")
AGAIN = "-again"
MOST_SPREAD = {"compute": 0.05, "memory": 0.2}
"""The stated noise levels, from quartile to quartile: a run is not stored if reference jobs spread more."""
MOST_DRIFT = {"compute": 0.15, "memory": 0.4}
"""The same for the reference jobs' times over the whole run: beyond it, its absolute speeds say too little."""
MOST_WAITING = 0.05
"""The part of the wall's time, beyond the CPU's own, above which something else held the core."""
LEAST_GAIN = 1.7
"""How many times as fast two threads of pure work must be, for the second core to count as idle."""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compute() -> Callable[[], Any]:
    """A call of pure arithmetic, with its own data."""
    left, right = np.random.default_rng(1).random((2, SIDE, SIDE))
    out = np.empty_like(left)

    def call() -> None:
        for _ in range(PRODUCTS):
            np.matmul(left, right, out=out)

    return call


def memory(size: int = COPIED) -> Callable[[], Any]:
    """A call that copies one array into another."""
    source, target = np.ones(size), np.zeros(size)
    return lambda: np.copyto(target, source)


WORK = {"compute": compute, "memory": memory}
SIZES = {"compute": 2.0 * PRODUCTS * SIDE**3, "memory": 8.0 * COPIED}
"""Operations, and bytes."""


class Pair:
    """Two pieces of the same work at once, one on this thread and one on another."""

    def __init__(self, kind: str) -> None:
        self._mine, self._theirs = WORK[kind](), WORK[kind]()
        self._pool = ThreadPoolExecutor(1)

    def __call__(self) -> None:
        other = self._pool.submit(self._theirs)
        self._mine()
        other.result()


def two_thread_tasks() -> list[Task]:
    """Each kind of work on one thread, and twice as much of it on two."""
    tasks = []
    for kind in KINDS:
        tasks.append(Task(f"{kind}-one", SIZES[kind], WORK[kind]()))
        tasks.append(Task(f"{kind}-two", 2 * SIZES[kind], Pair(kind)))
    return tasks


@dataclass
class Watch:
    """The reference jobs, looked at again and again during a run."""

    times: dict[str, Times] = field(default_factory=dict)
    pairs: dict[str, Times] = field(default_factory=dict)

    def __post_init__(self) -> None:
        work = {kind: WORK[kind]() for kind in KINDS}
        self._alone = [Task(kind + twin, SIZES[kind], work[kind]) for twin in ("", AGAIN) for kind in KINDS]
        self._both = two_thread_tasks() if cores() > 1 else []
        self.times = {task.name: Times(task.size) for task in self._alone}
        self.pairs = {task.name: Times(task.size) for task in self._both}

    def look(self, rounds: int = 3) -> None:
        """A few rounds more, of about a tenth of a second in all."""
        _extend(self.times, interleave(self._alone, rounds))
        if self._both:
            _extend(self.pairs, interleave(self._both, rounds, threads=2))

    def facts(self) -> dict[str, Any]:
        """Every round, and what follows from them."""
        found: dict[str, Any] = {
            "reference": {kind: asdict(times) for kind, times in self.times.items()},
            "two": {name: asdict(times) for name, times in self.pairs.items()},
        }
        return found | summary(found)


def _extend(known: dict[str, Times], more: dict[str, Times]) -> None:
    for name, times in more.items():
        known[name].cpu.extend(times.cpu)
        known[name].wall.extend(times.wall)


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """Noise in a ratio and drift by kind of work, time spent waiting, and how much two threads gain over one."""
    reference = {kind: Times(**times) for kind, times in found["reference"].items()}
    two = {name: Times(**times) for name, times in found["two"].items()}
    pure = reference["compute"]
    waiting = sorted(wall / cpu - 1 for cpu, wall in zip(pure.cpu, pure.wall, strict=True))
    gain = {kind: ratio(two[f"{kind}-two"], two[f"{kind}-one"], "wall").value for kind in KINDS if f"{kind}-two" in two}
    return {
        "spread": {kind: spread(ratios(reference[kind], reference[kind + AGAIN])) for kind in KINDS},
        "drift": {kind: spread(reference[kind].cpu) for kind in KINDS},
        "waiting": waiting[len(waiting) * 3 // 4],
        "gain": gain,
        "limits": {"spread": MOST_SPREAD, "drift": MOST_DRIFT, "waiting": MOST_WAITING, "gain": LEAST_GAIN},
    }


def objections(noise: dict[str, Any]) -> list[str]:
    """Why a run this noisy must not be stored; none if it may be."""
    found = [
        f"the {kind} reference {what} by {100 * noise[level][kind]:.1f} %, above {100 * most[kind]:g} %"
        for level, what, most in (
            ("spread", "against itself spreads", MOST_SPREAD),
            ("drift", "over the run drifts", MOST_DRIFT),
        )
        for kind in KINDS
        if noise[level][kind] > most[kind]
    ]
    if noise["waiting"] > MOST_WAITING:
        found.append(f"a quarter of pure work waited {100 * noise['waiting']:.1f} % longer than its CPU time")
    gain = noise["gain"].get("compute")
    if gain is not None and gain < LEAST_GAIN:
        found.append(f"two threads of pure work gain {gain:.2f}, below {LEAST_GAIN:g}: the second core is not idle")
    return found


def refusal(reasons: Sequence[str]) -> str:
    """What a person is told."""
    return "not stored, the machine is too noisy: " + "; ".join(reasons) + ". Run it again when it is idle"
