"""Local randomization of a column: ``pytest benchmarks --benchmark-only``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.jobs.registry import Entry, entries


@pytest.mark.parametrize("entry", entries(topic="local"), ids=str)
def test_local__follows_its_law_and_is_timed(entry: Entry, measure: Callable[[Entry], None]) -> None:
    """The reports of each library follow the exact channel; how fast they are made is recorded, not judged."""
    measure(entry)
