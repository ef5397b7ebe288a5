"""A sparse channel goes by runs of inputs where there are any, and its gradients are those of the matrix."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.channels import DenseChannel, SparseChannel


def matrix_of(kind: str) -> np.ndarray:
    """40 inputs, of which each has some outputs; the outputs at both ends have none."""
    source = np.random.default_rng(7)
    if kind == "scattered":
        matrix = np.where(source.random((40, 50)) < 0.2, source.random((40, 50)), 0.0)
    else:
        apart = np.abs(np.arange(40)[:, None] - np.arange(50) + 5)
        matrix = np.where(np.minimum(apart, 50 - apart) < 9, source.random((40, 50)), 0.0)
    matrix[:, [0, 30, 31, 49]] = 0.0
    matrix[:, 25] = 0.1
    return matrix / matrix.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("kind", "runs"), [("scattered", False), ("side by side", True)])
def test_gradient__is_that_of_the_matrix(kind, runs):
    matrix = matrix_of(kind)
    channel = SparseChannel(matrix)
    assert (channel._runs is not None) == runs
    source = np.random.default_rng(8)
    counts = source.integers(0, 3, 50) * (matrix.sum(axis=0) > 0)
    p = source.dirichlet(np.ones(40))
    g, likelihood = channel.prepare(counts).gradient(p)
    expected, value = DenseChannel(matrix).prepare(counts).gradient(p)
    np.testing.assert_allclose(g, expected, rtol=1e-12)
    assert likelihood == pytest.approx(value, rel=1e-12)
