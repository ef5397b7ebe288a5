"""Releases of groups beyond memory, and on two threads: python -m benchmarks.releases [spilled | threads | heavy].

``spilled`` releases counts and sums of 1e8 rows that are made batch by batch, in a process of its own: its CPU time per
row, the making of rows taken off, against that of 1e7 rows in memory, and the most memory it held. ``threads`` is the
wall time of one thread against that of two, interleaved. ``heavy`` is the CPU time where one person has half of the
rows, against even persons. Rows of all parts that were run are stored together.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import fastdp as fd
from benchmarks.jobs.rooms.releases import GROUPS, HIGH, KEYS, ROWS, visits
from benchmarks.measuring import machine

if TYPE_CHECKING:
    import pyarrow as pa

RESULTS = machine.ROOT / "bench_results" / "releases.json"
BATCH = 1 << 18
ROUNDS = 5


def _release(data: Any) -> float:
    """Bounds per person, exact sums, key selection and noise: the whole release; how many rows it counted."""
    found = fd.release.group_by(
        data, "k", ["count", "sum(v)"], keys="select", bounds={"v": (0, HIGH)}, person="u", max_groups=GROUPS,
        max_rows=ROWS, epsilon=1.0, delta=1e-9,
    )  # fmt: skip
    return float(found["count"].values.sum())


def _batches(rows: int) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    source = np.random.default_rng(2026)
    for start in range(0, rows, BATCH):
        size = min(BATCH, rows - start)
        yield pa.record_batch({
            "u": source.integers(0, rows // 10, size), "k": (KEYS * source.random(size) ** 2).astype(np.int64),
            "v": source.standard_exponential(size) * 40,
        })  # fmt: skip


def _stream(rows: int) -> pa.RecordBatchReader:
    import pyarrow as pa

    schema = pa.schema({"u": pa.int64(), "k": pa.int64(), "v": pa.float64()})
    return pa.RecordBatchReader.from_batches(schema, _batches(rows))


def _clock(call: Callable[[], Any], clock: Callable[[], float]) -> float:
    start = clock()
    call()
    return clock() - start


def _largest_resident() -> int:
    """Bytes that this program held in memory at the most; `getrusage` would count what began it too."""
    words = Path("/proc/self/status").read_text().split()
    return int(words[words.index("VmHWM:") + 1]) * 1024


def in_process(rows: int, *, held: bool) -> dict[str, float]:
    """Seconds of CPU that a release takes, the making of rows taken off, and the largest resident size.

    ``held`` releases a table that lies in memory, else a stream of unknown length.
    """
    fd.set_threads(1)
    _release(_stream(20_000))  # compile outside the clock
    making = 0.0
    data: Any = _stream(rows)
    if held:
        data = data.read_all()
    else:
        making = _clock(lambda: [None for _ in _batches(rows)], time.process_time)
    # A table is released twice, the second time in pages that the first one touched, as in `benchmarks.run`.
    whole = [_clock(lambda: _release(data), time.process_time) for _ in range(2 if held else 1)][-1]
    most = _largest_resident() / 1e6
    return {"rows": rows, "making_s": making, "seconds": whole - making, "rss_mb": most}


def spilled() -> dict[str, Any]:
    """1e8 rows through a file against 1e7 in memory."""

    def apart(rows: int, kind: str) -> dict[str, float]:
        words = [sys.executable, "-m", "benchmarks.releases", "--rows", str(rows), kind]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        found: dict[str, float] = json.loads(done.stdout)
        return found

    held, through = apart(10**7, "table"), apart(10**8, "stream")
    ratio = through["seconds"] / held["seconds"] / 10
    return {"job": "spilled", "in_memory": held, "spilled": through, "cpu_ratio": ratio, "due": "3 x CPU, 400 MB"}


def _interleaved(calls: dict[str, Callable[[], Any]], clock: Callable[[], float]) -> dict[str, list[float]]:
    for call in calls.values():
        call()
    return {name: list(times) for name, times in zip(
        calls, zip(*[[_clock(call, clock) for call in calls.values()] for _ in range(ROUNDS)], strict=True), strict=True
    )}  # fmt: skip


def threads() -> dict[str, Any]:
    """Wall time of one thread against two, on 1e7 rows."""
    data = visits("even", 10**7).table

    def on(count: int) -> Callable[[], Any]:
        def call() -> None:
            fd.set_threads(count)
            _release(data)

        return call

    times = _interleaved({"1": on(1), "2": on(2)}, time.perf_counter)
    ratio = statistics.median(a / b for a, b in zip(times["1"], times["2"], strict=True))
    return {"job": "threads", "wall_s": times, "wall_ratio": ratio, "due": 1.6}


def heavy() -> dict[str, Any]:
    """CPU time with one person that has half of the rows, against even persons."""
    fd.set_threads(1)
    even, one = (visits(kind, 10**7).table for kind in ("even", "heavy"))
    times = _interleaved({"even": lambda: _release(even), "heavy": lambda: _release(one)}, time.process_time)
    ratio = statistics.median(a / b for a, b in zip(times["heavy"], times["even"], strict=True))
    return {"job": "heavy", "cpu_s": times, "cpu_ratio": ratio, "due": 2.0}


JOBS = {"spilled": spilled, "threads": threads, "heavy": heavy}


def main(words: list[str]) -> None:
    """Run the jobs named, or all, and store them beside those of earlier runs."""
    if words[:1] == ["--rows"]:
        sys.stdout.write(json.dumps(in_process(int(words[1]), held=words[2] == "table")))
        return
    known = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    rows = {row["job"]: row for row in known}
    for name in words or list(JOBS):
        rows[name] = {**JOBS[name](), **machine.commit()}
        sys.stdout.write(json.dumps(rows[name]) + "\n")
        sys.stdout.flush()
    RESULTS.write_text(json.dumps({"machine": machine.facts(), "rows": list(rows.values())}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
