"""Interleaved measuring: every round runs each task once, so that drift hits all alike.

The order rotates, and every other round runs backwards: no task always follows the same one.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Task:
    """A call that does ``size`` units of work; ``before`` runs outside the clock.

    One that is ``pooled`` works in threads of its own, whatever it is told: the clock then counts the whole process.
    """

    name: str
    size: float
    call: Callable[[], Any]
    before: Callable[[], Any] = lambda: None
    pooled: bool = False


@dataclass(frozen=True)
class Times:
    """Seconds of each round, in CPU time and on the wall."""

    size: float
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def speed(self, clock: str = "cpu") -> float:
        """Units per second, the median of the rounds."""
        return self.size / statistics.median(getattr(self, clock))


class Median(NamedTuple):
    """A median and its 95 % interval."""

    value: float
    low: float
    high: float


def interleave(
    tasks: Sequence[Task], rounds: int, *, threads: int = 1, tick: Callable[[], Any] = lambda: None
) -> dict[str, Times]:
    """Times of each task by name. Tasks must be compiled and checked; one more call of each warms the caches."""
    found = {task.name: Times(task.size) for task in tasks}
    for task in tasks:
        task.before()
        task.call()
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        for done in range(rounds):
            first = done % len(tasks)
            order = (*tasks[first:], *tasks[:first])
            for task in order[::-1] if done % 2 else order:
                clock = time.thread_time if threads == 1 and not task.pooled else time.process_time
                task.before()
                cpu, wall = clock(), time.perf_counter()
                result = task.call()
                spent_wall, spent_cpu = time.perf_counter() - wall, clock() - cpu
                del result
                found[task.name].cpu.append(spent_cpu)
                found[task.name].wall.append(spent_wall)
            gc.collect(0)
            tick()
    finally:
        if was_collecting:
            gc.enable()
    return found


def median(values: Sequence[float]) -> Median:
    """The median with an interval between order statistics that covers 95 %, whatever the distribution.

    The k-th smallest and k-th largest of n miss the median with probability 2 * P(Binomial(n, 1/2) < k). Fewer than six
    values have no such interval: theirs is from end to end.
    """
    ranked = sorted(values)
    n, k, missed = len(ranked), 0, 1
    while 2 * missed <= 0.05 * 2**n:
        k += 1
        missed += comb(n, k)
    k = max(k, 1)
    return Median(statistics.median(ranked), ranked[k - 1], ranked[n - k])


def ratio(own: Times, rival: Times, clock: str = "cpu") -> Median:
    """How many times as fast as the rival, per unit of work: the median over rounds, each with its own ratio."""
    return median(ratios(own, rival, clock))


def ratios(own: Times, rival: Times, clock: str = "cpu") -> list[float]:
    """How many times as fast as the rival in each round."""
    pairs = zip(getattr(own, clock), getattr(rival, clock), strict=True)
    return [(theirs / rival.size) / (ours / own.size) for ours, theirs in pairs]


def spread(values: Sequence[float]) -> float:
    """The distance between the quartiles, as a part of the median."""
    low, middle, high = statistics.quantiles(values, n=4)
    return (high - low) / middle
