"""The promise: a call needs at most 32 MiB beyond its input and output, whatever the mechanism and the container."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.contracts.memory import ENVIRONMENT, LARGE, SMALL, calls

MOST = 32 << 20
SLACK = 3 << 20
"""Bytes by which allocators and threads let two calls differ."""
PER_ROW = 1
"""Bytes per row by which working memory may grow: validity and the like, in parts of a byte."""


def complaint(found: dict) -> str | None:
    """What is wrong with a measurement: more than was promised, or growth with the number of rows."""
    (small, large), (few, many) = found["bytes"], found["rows"]
    small, large = small - few * found["converted"], large - many * found["converted"]
    if large > MOST:
        return f"{found['name']}: {large / 2**20:.1f} MiB for {many:,} rows"
    if large - small > SLACK + PER_ROW * (many - few):
        return f"{found['name']}: {(large - small) / (many - few):.1f} bytes more for each row"
    return None


def confirmed(found: dict) -> str | None:
    """A complaint, and one of growth only if four times the rows show it again.

    The peak of a small call may miss what two threads hold at once in a large one; that does not grow any further.
    """
    said = complaint(found)
    if said is None or "more for each row" not in said:
        return said
    many = found["rows"][1]
    return complaint(*measure(found["name"], str(many), str(4 * many)))


def measure(*arguments: str) -> list[dict]:
    command = [sys.executable, "-m", "tests.contracts.memory", *arguments]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, env={**os.environ, **ENVIRONMENT}, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def _can_measure() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


can_measure = pytest.mark.skipif(not _can_measure(), reason="the peak of memory cannot be reset here")


@can_measure
@pytest.mark.parametrize(
    "everything", [pytest.param(False, id="fast"), pytest.param(True, id="all", marks=pytest.mark.slow)]
)
def test_working_memory__is_bounded(everything):
    """A small call and one of a million rows or more: the second needs no more, and both keep the promise."""
    found = measure("--all") if everything else measure()
    assert len(found) == sum(everything or not call.is_slow for call in calls())
    assert [said for said in map(confirmed, found) if said] == []


@can_measure
def test_working_memory__a_copy_of_the_column_is_caught():
    """The mutant: codes of all rows, four bytes each."""
    code = (
        "from tests.contracts import memory; import fastdp as fd, numpy as np, json;"
        "krr = fd.KRR(epsilon=1.0, domain=4);"
        "make = lambda rows: (lambda x: lambda: krr.randomize(x.astype(np.int32) + 0))(memory.codes(rows, 4, np.int8));"
        "make(1000)();"
        "print([memory.working_memory(make, rows) for rows in (memory.SMALL, memory.LARGE)])"
    )
    env, root = {**os.environ, **ENVIRONMENT}, Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=root, capture_output=True, text=True, check=True)
    found = {"name": "mutant", "rows": [SMALL, LARGE], "bytes": json.loads(done.stdout), "converted": 0}
    assert "bytes more for each row" in complaint(found)
    small, large = found["bytes"]
    assert small < large <= MOST  # a complaint of growth, not of the size
    assert (large - small) / (LARGE - SMALL) == pytest.approx(np.dtype(np.int32).itemsize, rel=0.3)
