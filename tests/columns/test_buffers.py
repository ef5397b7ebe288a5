"""Result memory is reused only when nobody can see it."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.columns import buffers

SIZE = 300_000


@pytest.fixture(autouse=True)
def _empty():
    buffers._kept.clear()


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_fresh__reuses_what_was_dropped():
    first = buffers.fresh(SIZE, np.dtype(np.float64))
    place = address(first)
    del first
    assert address(buffers.fresh(SIZE, np.dtype(np.int64))) == place


@pytest.mark.parametrize(
    "hold",
    [
        lambda a: a,
        lambda a: a[5:6],
        lambda a: a.reshape(2, -1).T[:1, :1],
        lambda a: a.view(np.uint8)[-1:],
        memoryview,
        pa.py_buffer,
        lambda a: pa.array(a)[3:4],
        lambda a: (x for x in a),
        lambda a: np.lib.stride_tricks.as_strided(a, (2,), (8,)),
    ],
)
def test_fresh__never_reuses_what_is_held(hold):
    """By the array, a slice, a view of another type, an arrow buffer, a generator."""
    held = hold(buffers.fresh(SIZE, np.dtype(np.float64)))
    gc.collect()
    place = address(buffers._kept[0])
    assert address(buffers.fresh(SIZE, np.dtype(np.float64))) != place
    del held


def test_fresh__keeps_little():
    """Idle buffers are bounded after every call, those in use are not kept from their users."""
    for size in (10, SIZE, 2 * SIZE, 3 * SIZE, 4 * SIZE, 5 * SIZE, 10_000_000, SIZE, 6 * SIZE):
        buffers.fresh(size, np.dtype(np.float64))
        assert sum(kept.size for kept in buffers._kept) <= buffers.MOST_IDLE
    held = [buffers.fresh(SIZE, np.dtype(np.float64)) for _ in range(40)]
    assert len({address(array) for array in held}) == 40
    assert len(buffers._kept) <= buffers.MOST_KEPT


def test_fresh__serves_a_caller_who_holds_the_last_result():
    """``y = randomize(x)`` in a loop has two results alive at a time: two buffers take turns."""
    places = set()
    y = None
    for _ in range(10):
        y = buffers.fresh(4_000_000, np.dtype(np.float64))
        places.add(address(y))
    assert len(places) == 2


def test_results__of_many_threads_are_their_own():
    """Each thread fills, waits and checks: no result changes under its owner."""
    mechanism = fd.Geometric(epsilon=1.0)
    failures = []

    def work(value):
        for _ in range(30):
            out = mechanism.randomize(np.full(SIZE, value * 1000, np.int64))
            copy = out.copy()
            if abs(float(out.mean()) - value * 1000) > 5 or not np.array_equal(out, copy):
                failures.append(value)
            del out

    threads = [threading.Thread(target=work, args=(value,)) for value in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
