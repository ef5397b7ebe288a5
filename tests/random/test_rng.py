"""Streams never repeat: not across calls, threads, copies, children or forks."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fastdp as fd
from fastdp.random.rng import SLOTS

MECHANISM = fd.Laplace(epsilon=1.0, sensitivity=1.0)
ZEROS = np.zeros(5_000)


def noise(rng) -> bytes:
    return MECHANISM.randomize(ZEROS, rng=rng).tobytes()


def in_children(count: int, work) -> list[bytes]:
    """Run ``work`` in forked processes, what they return through pipes."""
    pipes = []
    for i in range(count):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:  # pragma: no cover  (a child process)
            try:
                with os.fdopen(write, "wb") as out:
                    out.write(work(i))
                os._exit(0)
            except BaseException:  # noqa: BLE001
                os._exit(1)
        os.close(write)
        pipes.append((pid, read))
    results = []
    for pid, read in pipes:
        with os.fdopen(read, "rb") as source:
            results.append(source.read())
        assert os.waitpid(pid, 0)[1] == 0
    return results


def test_rng__streams_of_two_keys_differ():
    assert noise(fd.Rng()) != noise(fd.Rng())


def test_rng__calls_of_one_stream_differ():
    rng = fd.Rng.unsafe_seed(1)
    assert len({noise(rng) for _ in range(50)}) == 50


def test_unsafe_seed__repeats_and_says_so():
    assert noise(fd.Rng.unsafe_seed(7)) == noise(fd.Rng.unsafe_seed(7)) != noise(fd.Rng.unsafe_seed(8))
    assert fd.Rng.unsafe_seed(7).is_unsafe
    assert fd.Rng.unsafe_seed(7).child(1).is_unsafe
    assert not fd.Rng().is_unsafe
    assert "unsafe_seed(7)" in repr(fd.Rng.unsafe_seed(7))


@pytest.mark.parametrize("seed", [-1, 1.0, "7", None, True])
def test_unsafe_seed__refuses_what_is_no_seed(seed):
    with pytest.raises(fd.ParameterError, match="seed"):
        fd.Rng.unsafe_seed(seed)


def test_child__is_independent_and_one_per_label():
    """The same label is the same stream going on, never the same noise again."""
    rng = fd.Rng.unsafe_seed(7)
    assert rng.child(3) is rng.child(3)
    labels = [3, "3", b"3", 4, "", b"", "ä"]
    seen = {noise(rng.child(label)) for label in labels} | {noise(rng)} | {noise(rng.child(3).child(3))}
    assert len(seen) == len(labels) + 2
    assert noise(fd.Rng.unsafe_seed(7).child("x")) == noise(fd.Rng.unsafe_seed(7).child("x"))


@pytest.mark.parametrize("label", [None, 1.5, True, ("a",)])
def test_child__refuses_other_labels(label):
    with pytest.raises(fd.ParameterError, match="label"):
        fd.Rng().child(label)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps, lambda rng: rng.__reduce_ex__(4)])
def test_rng__cannot_be_copied(duplicate):
    with pytest.raises(fd.UnsafeRngError, match="child"):
        duplicate(fd.Rng())


def test_rng__shows_no_key():
    rng = fd.Rng.unsafe_seed(1)
    assert rng._key.hex() not in repr(rng)
    assert not hasattr(rng, "__dict__")


def test_reserve__refuses_to_wrap():
    rng = fd.Rng()
    rng.reserve(SLOTS - 10)
    with pytest.raises(fd.UnsafeRngError, match="child"):
        rng.reserve(11)
    rng.reserve(10)


def test_reserve__hands_out_no_slot_twice_across_threads():
    """8 threads, small and large calls mixed: ranges are disjoint, and so is the noise."""
    rng = fd.Rng.unsafe_seed(3)
    with ThreadPoolExecutor(8) as pool:
        ranges = list(pool.map(lambda i: (int(rng.reserve(i % 97 + 1).start), i % 97 + 1), range(4_000)))
        draws = list(pool.map(lambda _: noise(rng), range(64)))
    ranges.sort()
    assert all(a + n <= b for (a, n), (b, _) in zip(ranges, ranges[1:], strict=False))
    assert len(set(draws)) == 64


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
class TestFork:
    """8 forked children after a warm parent, with threads in use, draw noise of their own."""

    @pytest.mark.parametrize("make", [fd.Rng, lambda: fd.Rng.unsafe_seed(5), lambda: fd.Rng().child("a")])
    def test_rng__a_forked_stream_repeats_nothing(self, make):
        rng = make()
        noise(rng)
        MECHANISM.randomize(np.zeros(400_000), rng=rng)  # the pool is running
        children = in_children(8, lambda _i: noise(rng) + noise(rng.child(1)))
        parts = [part[i : i + ZEROS.nbytes] for part in children for i in (0, ZEROS.nbytes)]
        assert len({*parts, noise(rng), noise(rng.child(1))}) == 18

    def test_default_stream__repeats_nothing_and_threads_work(self):
        big = np.zeros(400_000)
        MECHANISM.randomize(big)
        draws = in_children(8, lambda _i: MECHANISM.randomize(big)[:1000].tobytes())
        assert len({*draws, MECHANISM.randomize(big)[:1000].tobytes()}) == 9

    def test_grandchildren__repeat_nothing(self):
        rng = fd.Rng()
        noise(rng)
        children = in_children(2, lambda _i: b"".join(in_children(2, lambda _j: noise(rng))) + noise(rng))
        parts = [child[i * ZEROS.nbytes : (i + 1) * ZEROS.nbytes] for child in children for i in range(3)]
        assert len({*parts, noise(rng)}) == 7

    def test_an_unguarded_stream__is_caught(self, monkeypatch):
        """The mutant without the guard repeats its noise in every child, and this test sees it."""
        rng = fd.Rng()
        noise(rng)
        monkeypatch.setattr(fd.Rng, "_rekey_after_fork", lambda self: None)
        assert len(set(in_children(8, lambda _i: noise(rng)))) == 1


def test_noise__of_a_call_that_is_interrupted_is_its_own(monkeypatch):
    """A signal handler that draws between the noise and its addition, on the same thread, changes nothing outside."""
    from fastdp.laws.central.placement import FloatGrid

    undisturbed = MECHANISM.randomize(ZEROS, rng=fd.Rng.unsafe_seed(3))
    original, inner = FloatGrid.add, []

    def interrupted(self, values, drawn, out):
        if not inner:
            inner.append(None)
            inner[0] = MECHANISM.randomize(ZEROS, rng=fd.Rng.unsafe_seed(4))
        original(self, values, drawn, out)

    monkeypatch.setattr(FloatGrid, "add", interrupted)
    outer = MECHANISM.randomize(ZEROS, rng=fd.Rng.unsafe_seed(3))
    assert np.array_equal(outer, undisturbed)
    assert not np.array_equal(outer, inner[0])


def test_reserve__refuses_to_be_entered_twice(monkeypatch):
    """From a handler inside its own bookkeeping: an error, not a deadlock, and no slot twice."""
    rng = fd.Rng()

    def interrupt(self):
        with pytest.raises(fd.UnsafeRngError, match="signal"):
            self.reserve(1)

    monkeypatch.setattr(fd.Rng, "_rekey_after_fork", interrupt)
    assert int(rng.reserve(5).start) == 0
    assert int(rng.reserve(5).start) == 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork__with_every_lock_held_does_not_hang():
    """What another thread held at the fork is free in the child."""
    from fastdp import threads
    from fastdp.columns import buffers
    from fastdp.random import rng as module

    rng = fd.Rng()
    big = np.zeros(400_000)
    MECHANISM.randomize(big, rng=rng)
    held, go = threading.Event(), threading.Event()

    def hold():
        with threads._lock, buffers._lock, module._default_lock, rng._lock:
            held.set()
            go.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    try:
        draws = in_children(
            2, lambda _i: MECHANISM.randomize(big, rng=rng)[:10].tobytes() + MECHANISM.randomize(big)[:10].tobytes()
        )
    finally:
        go.set()
        holder.join()
    assert len(set(draws)) == 2


def test_set_threads__while_others_work(threads):
    """Changing the number of threads under running calls breaks none of them."""
    failures = []
    big = np.zeros(300_000)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            try:
                MECHANISM.randomize(big)
            except Exception as error:  # noqa: BLE001
                failures.append(error)

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for i in range(200):
        threads(i % 3 + 1)
    stop.set()
    for worker in workers:
        worker.join()
    assert not failures
