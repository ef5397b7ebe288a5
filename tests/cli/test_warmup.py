"""``fastdp warmup`` compiles every kernel."""

from __future__ import annotations

import subprocess
import sys


def _cold(*skipped: str) -> tuple[int, list[str]]:
    """In a process of its own: others have compiled kernels for other tests."""
    run = [sys.executable, "-m", "tests.cli.cold_kernels", *skipped]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    count, *names = done.stdout.split()
    return int(count), names


def test_warmup__leaves_no_kernel_cold():
    count, cold = _cold()
    assert count > 90
    assert cold == []


def test_warmup__is_found_out_if_it_forgets_one():
    _, cold = _cold("SubsetSelection", "estimates of sparse matrices in runs")
    assert {name.rsplit(".", 1)[0] for name in cold} == {
        "fastdp.kernels.local.subset",
        "fastdp.kernels.products.sparse",
    }
    assert cold[-1] == "fastdp.kernels.products.sparse.step_runs"
