"""Learning: ``pytest benchmarks --benchmark-only``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.jobs.registry import Entry, entries


@pytest.mark.parametrize("entry", entries(topic="learning"), ids=str)
def test_learning__is_right_and_is_timed(entry: Entry, measure: Callable[[Entry], None]) -> None:
    """Each library's output passes the check of its job; how fast it is made is recorded, not judged."""
    measure(entry)
