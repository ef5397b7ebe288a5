"""Threads change how long a call takes, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

import fastdp as fd
from fastdp.threads import BLOCK, for_each_block


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 12 * BLOCK + 5])
def test_for_each_block__covers_everything_once(count, size, threads):
    threads(count)
    seen, lock = [], threading.Lock()

    def work(start, stop):
        with lock:
            seen.append((start, stop))

    for_each_block(size, work)
    seen.sort()
    assert sum(stop - start for start, stop in seen) == size
    assert all(a[1] == b[0] for a, b in zip(seen, seen[1:], strict=False))
    assert all(stop - start <= BLOCK for start, stop in seen)


def test_for_each_block__raises_what_a_thread_raised(threads):
    threads(3)

    def work(start, _stop):
        if start >= 8 * BLOCK:
            raise fd.DomainError("inside")

    with pytest.raises(fd.DomainError, match="inside"):
        for_each_block(12 * BLOCK, work)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2", None])
def test_set_threads__refuses_what_is_no_count(count):
    with pytest.raises(fd.ParameterError, match="set_threads: count"):
        fd.set_threads(count)


@pytest.mark.parametrize(("value", "outcome"), [("3", "3"), ("0", "ParameterError"), ("many", "ParameterError")])
def test_threads__come_from_the_environment(value, outcome):
    code = "import fastdp\ntry:\n print(fastdp.get_threads())\nexcept Exception as e:\n print(type(e).__name__)"
    env = {"FASTDP_THREADS": value, "PATH": "/usr/bin"}
    assert (
        subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True).stdout.strip() == outcome
    )
