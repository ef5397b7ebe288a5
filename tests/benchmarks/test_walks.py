"""Walks through the package are counted in Python calls, and do not grow."""

from __future__ import annotations

import pytest

import fastdp as fd
from benchmarks.walks import AIMS, MOST, count, walks


@pytest.fixture(autouse=True)
def _one_thread():
    before = fd.get_threads()
    fd.set_threads(1)
    yield
    fd.set_threads(before)


def test_walks__of_single_columns_take_no_more_calls_than_they_did(tmp_path):
    """Calls are counted, not timed: neither the machine nor its load changes them."""
    named = walks(tmp_path)

    for name in ("Laplace.randomize", "KRR.randomize"):
        assert len(count(named[name])) <= MOST[name]
    assert MOST["Laplace.randomize"] <= AIMS["Laplace.randomize"]
    assert MOST.keys() == named.keys()


def test_count__sees_every_call_of_the_package_and_no_other():
    """A call that is added to a walk is counted."""
    once = count(lambda: fd.Privacy(epsilon=1.0).group(1))
    twice = count(lambda: (fd.Privacy(epsilon=1.0).group(1), fd.Privacy(epsilon=1.0).group(1)))

    assert len(twice) == 2 * len(once) > 0
    assert count([].sort) == []
