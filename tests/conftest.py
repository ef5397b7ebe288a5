"""Shared by all tests: kernels compile into one cache per user, and hypothesis runs the same examples every time.

Tests of signals work in jobs that a shell has put in the background, too, and ids name the same test in every process.
With FASTDP_STRICT_SKIPS=1, as in CI, a test that is skipped for a reason that is not allowed fails the run.
"""

from __future__ import annotations

import os
import re
import signal

import pytest
from hypothesis import settings

import fastdp as fd

settings.register_profile("fastdp", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("fastdp")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as shells do for jobs in the background; children inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

ALLOWED_SKIPS = (
    "kernels are compiled for a CPU without vector AES",
    "names an x86 processor",
    "instructions are counted on x86-64 alone",
    "the peak of memory cannot be reset here",
    "torch is not installed",
    "pyspark is not installed",
    "dask is not installed",
    "opendp is not installed",
    "jax is not installed",
    "flwr is not installed",
)
"""How reasons begin that lie in the processor or the kernel alone; FASTDP_MAY_SKIP adds
to them, with a semicolon after each."""


def pytest_collection_modifyitems(items):
    """Refuse ids that another process would give another name, as one that is run in parallel does."""
    strange = [item.nodeid for item in items if re.search(r" at 0x[0-9a-f]{6,}", item.nodeid)]
    if strange:
        raise pytest.UsageError(f"ids hold addresses of memory, give these tests others: {strange[:3]}")


def pytest_terminal_summary(terminalreporter):
    """Name every skip that is not allowed, and fail."""
    if os.environ.get("FASTDP_STRICT_SKIPS") != "1":
        return
    allowed = (*ALLOWED_SKIPS, *filter(None, os.environ.get("FASTDP_MAY_SKIP", "").split(";")))
    hidden = [report for report in terminalreporter.stats.get("skipped", []) if not _reason(report).startswith(allowed)]
    for report in hidden:
        terminalreporter.write_line(f"skipped, which is not allowed here: {report.nodeid}: {_reason(report)}", red=True)
    if hidden:
        terminalreporter._session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _reason(report) -> str:
    return report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else str(report.longrepr)


@pytest.fixture
def rng():
    """A reproducible stream of its own for each test."""
    return fd.Rng.unsafe_seed(20261116)


@pytest.fixture
def threads():
    """Set the number of threads in a test; it is put back afterwards."""
    before = fd.get_threads()
    yield fd.set_threads
    fd.set_threads(before)
