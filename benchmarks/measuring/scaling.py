"""How speed grows with the number of values, the size of the domain, the threads and the size of the channel."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

import fastdp as fd
from benchmarks.jobs import estimation, job, reports
from benchmarks.jobs.job import Job
from benchmarks.jobs.registry import Entry, entry
from benchmarks.measuring.timing import Task, interleave
from benchmarks.measuring.yardsticks import cores

LARGEST = 10**8
LARGEST_QUICK = 10**6
ROUNDS, MOST_ROUNDS = 7, 101
SECONDS, MOST_SECONDS = 1.0, 20.0
"""What the rounds of a place may take together: as many as fit into a second, at least seven of them if they fit into
the longer time; a quick run has a tenth of both."""
DOMAINS = (2, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
CHANNELS = (10, 30, 100, 300, 1_000, 3_000, 10_000)


@dataclass(frozen=True)
class Point:
    """One place on a curve: the entry, how much it is given, and on how many threads."""

    x: int
    entry: Entry
    size: int
    threads: int = 1


@dataclass(frozen=True)
class Curve:
    """Points of several libraries or threads along one axis."""

    name: str
    axis: str
    unit: str
    points: tuple[Point, ...]


def _memory() -> float:
    """Bytes that are free, as far as the system tells."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):
        return 4e9


def _sizes(largest: int) -> list[int]:
    return [10**power for power in range(2, 9) if 10**power <= largest]


def by_values(name: str, largest: int, *, quick: bool) -> Curve:
    """From a hundred values up to what time and a third of the free memory allow, beside numpy and on two threads."""
    most = LARGEST_QUICK if quick else largest
    width = 6 * np.dtype(entry(name, "fastdp").job.dtype).itemsize  # input, output, and what numpy needs between
    sizes = [size for size in _sizes(most) if size * width < _memory() / 3]
    points = [Point(size, entry(name, library), size) for size in sizes for library in ("fastdp", "numpy")]
    if cores() > 1:
        points += [Point(size, entry(name, "fastdp"), size, 2) for size in sizes if size >= 10**5]
    return Curve(f"{name}, by values", "n", "values", tuple(points))


def _of_domain(of: str, kind: Any, words: str, k: int, size: int, **others: Any) -> Job:
    """The job ``of`` a protocol with k values."""
    job, mechanism = entry(of, "fastdp").job, functools.partial(kind, epsilon=1.0, domain=k)
    name, description = f"{of.split('-', maxsplit=1)[0]}-{k}", f"{words}, k = {k:,}, epsilon 1"
    return replace(job, name=name, domain=k, size=size, description=description, mechanism=mechanism, **others)


def _krr(k: int, size: int) -> Job:
    dtype = "uint8" if k <= 256 else "int32"
    return _of_domain("krr-int32-1000", fd.KRR, "k-ary randomized response", k, size, dtype=dtype)


def _hashing(k: int, size: int) -> Job:
    make = functools.partial(reports.codes_of, k)
    return _of_domain("olh-1000", fd.LocalHashing, "optimal local hashing", k, size, make=make)


def _unary(k: int, bits: int) -> Job:
    def make(size: int) -> Any:
        return reports.codes_of(k, max(1, size // k))

    return _of_domain("oue-1000", fd.UnaryEncoding, "optimized unary encoding", k, bits, make=make)


def by_domain(
    name: str, make: Callable[[int, int], Job], model: str, size: int, domains: tuple[int, ...] = DOMAINS
) -> Curve:
    """The same number of reports, or of bits, over domains of two to a million values."""
    points = tuple(
        Point(k, replace(entry(model, library), job=make(k, size)), size)
        for k in domains
        for library in ("fastdp", "numpy")
    )
    return Curve(f"{name}, by domain", "k", points[0].entry.job.unit, points)


def _channel(model: str, make: Callable[[int], estimation.Problem], side: int, times: int) -> Job:
    return replace(
        entry(model, "fastdp").job, name=f"{model}-{side}", size=times, mechanism=functools.partial(make, side)
    )


def by_channel(*, quick: bool) -> Iterator[Curve]:
    """An iteration on channels of 10 to 10,000 values: a matrix beside numpy's, a line, and a square of cells.

    The two with structure are judged by hand, on the whole matrix, up to 1,000 values, and by their sum above: the
    matrix of 10,000 takes longer to make than all the rest.
    """
    sizes = [size for size in CHANNELS if not quick or size <= 1_000]
    for name, model, make, libraries in (
        ("dense", "ibu-dense-1000", estimation.dense, ("fastdp", "numpy")),
        ("line", "ibu-line-1000", functools.partial(estimation.line, rate=0.05), ("fastdp",)),
        ("grid", "ibu-grid-30", estimation.grid, ("fastdp",)),
    ):
        points = []
        for size in sizes:
            side = round(size**0.5) if name == "grid" else size
            times = max(1, min(1_000, 10_000_000 // (size * size if name == "dense" else 100 * size)))
            of_size = _channel(model, make, side, times)
            if name != "dense" and size > 1_000:
                of_size = replace(of_size, judge=estimation.judge_sum)
            points += [Point(size, replace(entry(model, library), job=of_size), times) for library in libraries]
        yield Curve(f"ibu-{name}, by channel", "channel", "iterations", tuple(points))


def curves(*, quick: bool) -> list[Curve]:
    """All of them."""
    size = 100_000 if quick else 2_000_000
    domains = DOMAINS[:5] if quick else DOMAINS
    return [
        by_values("laplace-float64", LARGEST, quick=quick),
        by_values("geometric-int64-1.4", LARGEST, quick=quick),
        by_values("krr-uint8-100", LARGEST, quick=quick),
        by_domain("krr", _krr, "krr-int32-1000", size, domains),
        by_domain("olh", _hashing, "olh-1000", size // 4, domains[:6]),  # its seeds serve 131,072 values at most
        by_domain("oue", _unary, "oue-1000", 10 * size, domains),
        *by_channel(quick=quick),
    ]


def measure(curve: Curve, *, quick: bool, tick: Callable[[], Any] = lambda: None) -> dict[str, Any]:
    """Every point of a curve, checked and then timed in rounds with the others at the same place on it."""
    places = sorted({point.x for point in curve.points})
    found = []
    for x in places:
        found += _measure_place([point for point in curve.points if point.x == x], quick=quick)
        tick()
    return {"name": curve.name, "axis": curve.axis, "unit": curve.unit, "points": found}


def _measure_place(points: list[Point], *, quick: bool) -> list[dict[str, Any]]:
    before = fd.get_threads()
    tasks, known = [], {}
    try:
        for point in points:
            call = point.entry.setup(point.size)
            fd.set_threads(point.threads)
            name = f"{point.entry.library.name}-{point.threads}"
            known[name] = point.entry.check(call, point.size)
            tasks.append(Task(name, point.size, call, functools.partial(_use, point.threads)))
        once = interleave(tasks, 1, threads=2)
        seconds = sum(times.wall[0] for times in once.values())
        times = interleave(tasks, rounds_in(seconds, quick=quick), threads=max(point.threads for point in points))
    finally:
        fd.set_threads(before)
        job.make_input.cache_clear()
    return [
        {"x": point.x, "library": point.entry.library.name, "threads": point.threads, "p_value": known[task.name],
         **asdict(times[task.name])}
        for point, task in zip(points, tasks, strict=True)
    ]  # fmt: skip


def rounds_in(seconds: float, *, quick: bool) -> int:
    """How many rounds of so many seconds each there is time for.

    >>> [rounds_in(seconds, quick=False) for seconds in (1e-5, 0.05, 0.5, 5.0, 60.0)]
    [101, 20, 7, 4, 1]
    """
    share = 0.1 if quick else 1.0
    wanted = max(ROUNDS, min(MOST_ROUNDS, int(share * SECONDS / max(seconds, 1e-9))))
    return max(1, min(wanted, int(share * MOST_SECONDS / max(seconds, 1e-9))))


def _use(threads: int) -> None:
    if fd.get_threads() != threads:
        fd.set_threads(threads)
