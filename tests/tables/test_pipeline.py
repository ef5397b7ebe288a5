"""Reader, kernels and writer: in order, and all stopped by the first error of any of them."""

from __future__ import annotations

import itertools
import threading
import time

import pytest

from fastdp.tables.pipeline import DEPTH, Pipeline


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
    most, read, written = 0, itertools.count(), itertools.count()

    def counted():
        for _ in range(50):
            yield next(read)

    def write(item):
        nonlocal most
        time.sleep(0.001)
        most = max(most, int(repr(read)[6:-1]) - next(written))

    Pipeline().run(counted(), lambda item: item, write)
    assert 1 < most <= 3 + 2 * DEPTH


@pytest.mark.parametrize("stage", ["read", "work", "write"])
@pytest.mark.parametrize("at", [0, 1, 2, 9])
def test_pipeline__stops_at_the_first_error(stage, at):
    """At once, whatever the others wait for: thirty times in less than thirty looks at a clock would take."""

    def fail(item):
        if item == at:
            raise ValueError(at)
        return item

    before, began = threading.active_count(), time.perf_counter()
    for _ in range(30):
        items = failing(itertools.count(), at) if stage == "read" else itertools.count()
        work, write = (fail if stage == name else (lambda item: item) for name in ("work", "write"))
        with pytest.raises(ValueError, match=str(at)):
            Pipeline().run(items, work, write)
    assert time.perf_counter() - began < 1.5
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
