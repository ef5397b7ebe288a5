"""Reader, kernels and writer: in order, and all stopped by the first error of any of them."""

from __future__ import annotations

import itertools
import threading

import pytest

from fastdp.tables.sanitizing.pipeline import DEPTH, Pipeline


def failing(items, at):
    for item in items:
        if item == at:
            raise ValueError(at)
        yield item


def test_pipeline__keeps_the_order():
    seen = []
    Pipeline().run(iter(range(100)), lambda item: 2 * item, seen.append)
    assert seen == list(range(0, 200, 2))


def test_pipeline__reads_no_more_than_fits():
    """What was read and not yet written: one item in each stage, and a full queue after the first two."""
    full = 3 + 2 * DEPTH
    ahead, taken, seen = threading.Event(), itertools.count(), []
    most = 0

    def counted():
        for item in range(50):
            if next(taken) + 1 == full:
                ahead.set()
            yield item

    def write(item):
        nonlocal most
        assert ahead.wait(600)  # until the reader is as far ahead as it may be; only a hang takes so long
        seen.append(item)
        most = max(most, int(repr(taken)[6:-1]) - item)

    Pipeline().run(counted(), lambda item: item, write)
    assert seen == list(range(50))
    assert most == full


@pytest.mark.parametrize("stage", ["read", "work", "write"])
@pytest.mark.parametrize("at", [0, 1, 2, 9])
def test_pipeline__stops_at_the_first_error(stage, at, monkeypatch):
    """Whatever the others wait for, they are woken: nobody waits with a limit of time and looks again."""
    limits = []

    class Watched(threading.Condition):
        def wait(self, timeout=None):
            limits.append(timeout)
            return super().wait(timeout)

    monkeypatch.setattr("fastdp.tables.sanitizing.pipeline.threading.Condition", Watched)

    def fail(item):
        if item == at:
            raise ValueError(at)
        return item

    before = threading.active_count()
    for _ in range(30):
        items = failing(itertools.count(), at) if stage == "read" else itertools.count()
        work, write = (fail if stage == name else (lambda item: item) for name in ("work", "write"))
        with pytest.raises(ValueError, match=str(at)):
            Pipeline().run(items, work, write)
    assert set(limits) <= {None}
    assert threading.active_count() == before


def test_pipeline__wakes_a_reader_that_waits():
    rest = threading.Event()

    def items():
        yield 1
        rest.wait()

    def fail(_item):
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        Pipeline().run(items(), fail, lambda _: None, rest.set)
