"""Every job and every library that does it: one list for the checks and for the clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.jobs import draws, estimates, files, points
from benchmarks.jobs.job import CheckError, Job
from benchmarks.jobs.laws import p_value
from benchmarks.jobs.rooms import anonymity, audits, fairness, learning, releases
from benchmarks.rivals.libraries import LIBRARIES, Library
from benchmarks.rivals.ways import Call, Way

ALPHA = 1e-4
QUICK = 10
"""A quick run gives every job a tenth of its input."""
ROOMS = (draws, points, estimates, files, fairness, audits, learning, anonymity, releases)
JOBS = tuple(job for room in ROOMS for job in room.JOBS)
TOPICS = tuple(dict.fromkeys(job.topic for job in JOBS))


@dataclass(frozen=True)
class Entry:
    """One job done by one library. ``setup(size)`` gives the call that does the whole job once."""

    job: Job
    library: Library
    way: Way

    def __str__(self) -> str:
        return f"{self.job.name}-{self.library.name}"

    def size(self, *, quick: bool = False) -> int:
        """How many values this library is given."""
        size = min(self.job.size, self.way.largest or self.library.largest or self.job.size)
        return max(1, size // QUICK) if quick else size

    def setup(self, size: int) -> Call:
        return self.way.make(self.job, self.job.values(size))

    def check(self, call: Call, size: int) -> float | None:
        """The p-value of the call's output under its law, None for outputs that are compared one by one.

        Raises CheckError if it lies below ALPHA twice in a row: chance alone does that once in 10**8.
        """
        output = call()
        due = self.way.exact(self.job.values(size)) if self.way.exact else None
        if due is not None and not np.array_equal(due, output):
            raise CheckError(f"{self}: the output is not what it must be")
        law = self.way.law or self.job.kind
        if law == "none":
            return None
        judge = self.way.judge or self.job.judge
        for again in (False, True):
            drawn = call() if again else output
            if judge:
                p = judge(self.job, drawn, self.job.values(size))
            else:
                p = p_value(self.job.law(law), self.job.draws(drawn, size))
            if p >= ALPHA:
                return p
        raise CheckError(f"{self}: the output does not follow its law, p = {p:.2g}")


def _entries() -> list[Entry]:
    found = []
    for job in JOBS:
        for library in LIBRARIES.values():
            way = library.ways.get(job.name) or library.ways.get(job.kind)
            if way is not None:
                found.append(Entry(job, library, way))
    return found


ENTRIES = tuple(_entries())


def entries(*, topic: str | None = None, job: str | None = None) -> list[Entry]:
    """The entries of a topic, of a job, or all."""
    return [entry for entry in ENTRIES if topic in {None, entry.job.topic} and job in {None, entry.job.name}]


def entry(job: str, library: str) -> Entry:
    """The one entry of that job and library."""
    return next(found for found in entries(job=job) if found.library.name == library)
