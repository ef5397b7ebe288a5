"""The figures beside throughput: small calls, memory, new processes, a second thread."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fastdp as fd
from benchmarks.jobs.registry import JOBS, QUICK, entry
from benchmarks.measuring.timing import Task, interleave
from benchmarks.measuring.yardsticks import two_thread_tasks

ROOT = Path(__file__).parent.parent.parent
SMALL = 1_000
MEMORY_JOBS = (
    *("laplace-float64", "geometric-int64-1.4", "gaussian-float64"),
    *("krr-uint8-100", "rr-packed", "oue-1000", "olh-1000", "duchi", "oue-count-1000", "olh-count-1000"),
)
LIBRARIES = ("fastdp", "numpy")
THREADS_JOB = "laplace-float64"
FIRST_CALL = "import fastdp, numpy; fastdp.Laplace(epsilon=1.0, sensitivity=1.0).randomize(numpy.zeros(1000))"
HELP = "import sys; sys.argv = ['fastdp', '--help']; from fastdp.cli import main; main()"
PROCESSES = {
    "python -c pass": "pass",
    "import numpy": "import numpy",
    "import fastdp": "import fastdp",
    "fastdp --help": HELP,
    "import opendp": "import opendp.prelude",
    "import diffprivlib": "import diffprivlib.mechanisms",
    "first Laplace call, warm cache": FIRST_CALL,
    "first Laplace call, nothing compiled": FIRST_CALL,
}
COLD = "first Laplace call, nothing compiled"


def small_calls(*, quick: bool = False) -> list[dict[str, Any]]:
    """Times of a warm call on 1,000 values, for each job of noise."""
    found = []
    for job in JOBS:
        if job.topic != "noise":
            continue
        tasks = []
        for name in LIBRARIES:
            chosen = entry(job.name, name)
            tasks.append(Task(name, SMALL, chosen.setup(SMALL)))
            chosen.check(tasks[-1].call, SMALL)
        for name, times in interleave(tasks, 100 if quick else 1000).items():
            found.append({"job": job.name, "library": name, **asdict(times)})
    return found


def _memory(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")


def _warm_temporaries() -> None:
    """Let numpy reuse a large temporary: the first time loads a stack unwinder, half a MiB that no call owns."""
    np.ones(1 << 16) + np.ones(1 << 16) * 2


def print_peak(job: str, library: str, size: int) -> None:
    """Print, as JSON, the memory that one warm call needs at its peak beyond its input and output.

    Runs in a process of its own. Where the kernel does not let the high-water mark be reset, memory that the process
    needed before the call may hide part of it.
    """
    chosen = entry(job, library)
    chosen.setup(SMALL)()
    _warm_temporaries()
    call = chosen.setup(size)
    try:
        Path("/proc/self/clear_refs").write_text("5")
        reset = True
    except OSError:
        reset = False
    before = _memory("VmRSS") if reset else _memory("VmHWM")
    output = call()
    parts = output if isinstance(output, tuple) else (output,)
    size_out = sum(part.nbytes for part in parts)
    print(json.dumps({"extra": _memory("VmHWM") - before - size_out, "reset": reset}))


def peak_memory(job: str, library: str, *, quick: bool = False) -> dict[str, Any]:
    """Bytes beyond input and output; freed arrays go back to the system at once, so that none is reused unseen."""
    size = entry(job, library).size(quick=quick)
    code = f"from benchmarks.measuring.calls import print_peak; print_peak({job!r}, {library!r}, {size})"
    settings = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(1 << 17)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=settings, capture_output=True, check=True)
    return {"job": job, "library": library, "size": size, **json.loads(done.stdout)}


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def process_cpu(name: str, rounds: int) -> dict[str, Any] | None:
    """CPU and wall seconds of a new Python process, from start to end; None if it fails, as where a rival is missing.

    The first of them fills caches and does not count; a cold start has an empty folder for compiled kernels each time.
    """
    command = [sys.executable, "-W", "ignore", "-c", PROCESSES[name]]
    if name == "fastdp --help" and (script := Path(sys.executable).with_name("fastdp")).exists():
        command = [str(script), "--help"]
    cpu, wall = [], []
    for _ in range(rounds if name == COLD else rounds + 1):
        with tempfile.TemporaryDirectory() as folder:
            settings = os.environ | ({"FASTDP_CACHE_DIR": folder} if name == COLD else {})
            before, start = _cpu_of_children(), time.perf_counter()
            done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, check=False)
            cpu.append(_cpu_of_children() - before)
            wall.append(time.perf_counter() - start)
        if done.returncode:
            return None
    return {"name": name, "cpu": cpu[-rounds:], "wall": wall[-rounds:]}


def two_threads(*, quick: bool = False) -> dict[str, Any] | None:
    """Times of the same Laplace call on one thread and on two; None on a single core.

    The yardsticks run in the same rounds: what two threads of pure work gain, and two of pure copying.
    """
    if len(os.sched_getaffinity(0)) < 2:
        return None
    chosen = entry(THREADS_JOB, "fastdp")
    size = chosen.job.size // (QUICK if quick else 1)
    call = chosen.setup(size)
    before = fd.get_threads()

    def use(count: int) -> Callable[[], None]:
        def prepare() -> None:
            """A call outside the clock starts the pool."""
            fd.set_threads(count)
            call()

        return prepare

    try:
        fd.set_threads(2)
        chosen.check(call, size)
        tasks = [Task("one", size, call, use(1)), Task("two", size, call, use(2)), *two_thread_tasks()]
        times = interleave(tasks, 7 if quick else 31, threads=2)
    finally:
        fd.set_threads(before)
    return {"job": THREADS_JOB, **{name: asdict(found) for name, found in times.items()}}


def steps(*, quick: bool = False) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Everything here: group, what is measured, and the measuring itself."""
    yield "small", "small calls", partial(small_calls, quick=quick)
    yield "threads", "two threads", partial(two_threads, quick=quick)
    for job in MEMORY_JOBS:
        for library in LIBRARIES:
            yield "memory", f"memory of {job}", partial(peak_memory, job, library, quick=quick)
    for name in PROCESSES:
        rounds = 3 if quick else 9
        yield "processes", name, partial(process_cpu, name, (1 if quick else 3) if name == COLD else rounds)


def main() -> None:
    """Print a quick look at all of it."""
    for _, what, measure in steps(quick=True):
        found = measure()
        if what == "small calls":
            for row in found:
                print(f"{row['job']} {row['library']}: {statistics.median(row['cpu']) * 1e6:.1f} us")
        else:
            print(what, found)


if __name__ == "__main__":
    main()
