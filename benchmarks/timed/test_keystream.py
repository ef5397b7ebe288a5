"""Random bytes written to memory: ``pytest benchmarks --benchmark-only``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.jobs.registry import Entry, entries


@pytest.mark.parametrize("entry", entries(topic="keystream"), ids=str)
def test_keystream__is_uniform_and_is_timed(entry: Entry, measure: Callable[[Entry], None]) -> None:
    """Bytes are uniform, and fastdp's are OpenSSL's; how fast they are made is recorded, not judged."""
    measure(entry)
