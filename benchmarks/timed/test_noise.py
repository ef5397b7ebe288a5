"""Noise on a column of numbers: ``pytest benchmarks --benchmark-only``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.jobs.registry import Entry, entries


@pytest.mark.parametrize("entry", entries(topic="noise"), ids=str)
def test_noise__follows_its_law_and_is_timed(entry: Entry, measure: Callable[[Entry], None]) -> None:
    """The noise of each library follows the exact law; how fast it is made is recorded, not judged."""
    measure(entry)
