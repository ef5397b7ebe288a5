"""What the benchmarks share under pytest: check first, then the clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.jobs.registry import Entry


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--quick`` gives every job a tenth of its input."""
    parser.addoption("--quick", action="store_true", help="Benchmarks: a tenth of the input.")


@pytest.fixture
def measure(benchmark: Any, request: pytest.FixtureRequest) -> Callable[[Entry], None]:
    """Time an entry, after its output has passed its check."""

    def run(entry: Entry) -> None:
        if entry.library.missing:
            pytest.skip(entry.library.missing)
        quick = request.config.getoption("--quick")
        if quick and entry.job.heavy:
            pytest.skip("too much for a quick run")
        size = entry.size(quick=quick)
        call = entry.setup(size)
        p_value = entry.check(call, size)
        benchmark.group = f"{entry.job.name}, {size:,} {entry.job.unit}"  # pytest compares only equal work
        benchmark.extra_info.update({"size": size, "unit": entry.job.unit, "p_value": p_value})
        benchmark.pedantic(call, rounds=5, iterations=1, warmup_rounds=1)

    return run
