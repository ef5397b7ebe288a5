"""A thread pool shared by all kernels, and the cutting of a column into blocks.

Kernels release the GIL, so plain threads run them side by side; unlike OpenMP they survive a fork. A child process
starts with no pool and makes its own when it first needs one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from fastdp import validation

BLOCK = 1 << 17
"""Records per kernel call: the noise of a block stays in the caches until it is added, and a call's overhead of some
10 microseconds is spread over enough of them (4 % faster than half as many on 4e6 values)."""
STRIDE = 1024
"""Threads start at multiples of this many records, a kernel's tile."""
SMALLEST_SHARE = 1 << 16
"""Below this many records per thread, waking a thread costs more than it gains."""

_lock = threading.RLock()
_threads: int | None = None
_pool: ThreadPoolExecutor | None = None


def _default_threads() -> int:
    chosen = os.environ.get("FASTDP_THREADS")
    if chosen:
        return validation.positive_integer("FASTDP_THREADS", "its value", int(chosen) if chosen.isdigit() else chosen)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def get_threads() -> int:
    """How many threads a call may use."""
    global _threads
    if _threads is None:
        _threads = _default_threads()
    return _threads


def set_threads(count: int) -> None:
    """Use at most ``count`` threads per call from now on; results do not depend on it.

    The default is the number of usable cores, or the environment variable ``FASTDP_THREADS``.

    Parameters
    ----------
    count
        The number of threads, from 1 on.
    """
    global _threads, _pool
    count = validation.positive_integer("set_threads", "count", count)
    with _lock:
        _threads = count
        old, _pool = _pool, None
    if old is not None:
        old.shutdown(wait=False)


def _executor() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(max(1, get_threads() - 1), thread_name_prefix="fastdp")
    return _pool


def _forget() -> None:
    """After a fork the parent's threads do not exist here, and its lock may have been held."""
    global _lock, _pool
    _lock = threading.RLock()
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def for_each_block(count: int, task: Callable[[int, int], None]) -> None:
    """Call ``task(start, stop)`` for blocks that cover range(count), on several threads if that pays.

    Blocks of one thread run in order. The first error of any of them is raised after all have stopped.
    """
    shares = max(1, min(_threads or get_threads(), count // SMALLEST_SHARE))

    def run(first: int, last: int) -> None:
        for start in range(first, last, BLOCK):
            task(start, min(start + BLOCK, last))

    if shares == 1:
        run(0, count)
        return
    edges = [count * share // shares // STRIDE * STRIDE for share in range(shares)] + [count]
    _run_shares(run, edges)


def for_each(count: int, task: Callable[[int], None]) -> None:
    """Call ``task`` for each of range(count), on several threads if that pays; errors as in `for_each_block`.

    For tasks as large as `SMALLEST_SHARE` records: calls of `for_each_block` inside them stay on their own thread.
    """
    shares = min(_threads or get_threads(), count)

    def run(first: int, last: int) -> None:
        for number in range(first, last):
            task(number)

    if shares <= 1:
        run(0, count)
        return
    _run_shares(run, [count * share // shares for share in range(shares + 1)])


def _run_shares(run: Callable[[int, int], None], edges: list[int]) -> None:
    """Call ``run`` for each pair of neighbouring edges: the first here, the others on the pool."""
    pending: list[Future[None]] = []
    try:
        with _lock:  # so that no other thread shuts the pool down in between
            pool = _executor()
            for i in range(
                1, len(edges) - 1
            ):  # one by one: what was submitted is waited for, even if the next is refused
                pending.append(pool.submit(run, edges[i], edges[i + 1]))  # noqa: PERF401
        run(edges[0], edges[1])
    finally:
        failures = [future.exception() for future in pending]
    for failure in failures:
        if failure is not None:
            raise failure
