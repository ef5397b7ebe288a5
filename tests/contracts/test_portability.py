"""Draws are a function of the random bits alone: the same on every CPU."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE

COMPARE = """
import json
from fastdp.kernels.stream import chacha
from tests.contracts.cases import CASES
from tests.contracts.golden import PATH, draws_of
golden = json.loads(PATH.read_text())
print(chacha._WIDTH, [case.name for case in CASES if draws_of(case) != golden[case.name]])
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names an x86 processor")
def test_draws__are_the_same_on_the_plainest_processor():
    """Compiled for SSE2 alone, with vectors of half the width, every case gives its golden draws.

    The cache tells processors apart, so that it is compiled once.
    """
    env = {**os.environ, "NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+sse2"}
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", COMPARE], env=env, cwd=root, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.stdout.strip() == "8 []", done.stderr[-2000:]
