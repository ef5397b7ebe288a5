"""Steps of correlated noise, against the matrix that they invert."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.gradients.streams import add_scaled, solve_banded


@pytest.mark.parametrize("bands", [1, 2, 5])
@pytest.mark.parametrize("size", [1, 2049])
def test_solve__inverts_the_banded_matrix(bands, size):
    source, steps = np.random.default_rng(bands), 9
    c = np.concatenate([[1.0], np.sort(source.random(bands - 1))[::-1]])
    z = source.integers(-1000, 1000, (steps, size))
    matrix = sum(np.diag(np.full(steps - j, c[j]), -j) for j in range(bands))
    due = np.linalg.solve(matrix, z * 0.5)
    ring, out = np.zeros((bands - 1, size), np.float32), np.empty(size, np.float32)
    for t in range(steps):
        solve_banded(z[t], c, ring, t, 0.5, out)
        assert out == pytest.approx(due[t], rel=1e-4, abs=0.05)


def test_add__is_scaled():
    out = np.array([1.0, 2.0])
    add_scaled(np.array([3, -4]), 0.5, out)
    assert out.tolist() == [2.5, 0.0]
