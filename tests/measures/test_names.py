"""What is exported, and what importing it brings in."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa

from fastdp import measures
from tests.patience import PATIENCE


def test_names__are_the_contract():
    """Other tools build on these names."""
    assert set(measures.__all__) == {
        "expected_loss", "optimal_remap", "prior_vulnerability", "posterior_vulnerability", "additive_leakage",
        "multiplicative_leakage", "min_entropy_leakage", "shannon_leakage", "multiplicative_capacity",
        "posterior", "total_variation", "kl_divergence", "mean_squared_error", "wasserstein",
    }  # fmt: skip
    for name in measures.__all__:
        assert getattr(measures, name).__doc__


def test_import__brings_no_noise_and_no_solver():
    forbidden = ["fastdp.random", "fastdp.noise", "fastdp.mechanisms", "scipy.optimize", "ot"]
    code = f"import sys, fastdp.measures; print([name for name in {forbidden} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.strip() == "[]", done.stderr


def test_vectors__come_in_any_kind():
    """Lists, tuples, arrays of any number type and layout, arrow arrays."""
    channel = [[0.75, 0.25], [0.25, 0.75]]
    wide = np.zeros(4)
    wide[::2] = 0.5
    for prior in ([0.5, 0.5], (0.5, 0.5), np.float32([0.5, 0.5]), wide[::2], pa.array([0.5, 0.5])):
        assert measures.posterior_vulnerability(channel, prior) == 0.75
    assert measures.total_variation([1, 0], np.array([0, 1], np.int8)) == 1
