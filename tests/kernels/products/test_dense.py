"""The gradient through stored columns, against the matrix in numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fastdp.kernels.products.dense import BLOCK, iterate_dense, step_dense, step_narrow


def case(inputs, outputs):
    source = np.random.default_rng([inputs, outputs])
    matrix, p = source.dirichlet(np.ones(outputs), inputs), source.dirichlet(np.ones(inputs))
    listed = np.zeros(-(-outputs // BLOCK) * BLOCK, np.int64)
    counts = np.zeros(listed.size)
    listed[:outputs], counts[:outputs] = np.arange(outputs), source.integers(1, 50, outputs)
    return matrix, p, listed, counts


each_size = pytest.mark.parametrize(("inputs", "outputs"), [(1, 3), (5, 8), (30, 41)])


@each_size
def test_step__is_the_gradient_and_gives_the_likelihood(inputs, outputs):
    """Padding counts for nothing; one report more is seen."""
    matrix, p, listed, counts = case(inputs, outputs)
    d, out, seen = np.zeros(listed.size), np.zeros(inputs), counts[:outputs]
    likelihood = step_dense(np.ascontiguousarray(matrix.T), listed, counts, p, d, out)
    assert np.allclose(out, matrix @ (seen / (p @ matrix)), rtol=1e-13)
    assert likelihood == pytest.approx(seen @ np.log(p @ matrix), rel=1e-13)
    counts[0] += 1
    assert step_dense(np.ascontiguousarray(matrix.T), listed, counts, p, d, out) != pytest.approx(likelihood, rel=1e-6)


def test_step__leaves_out_what_is_impossible_and_says_so():
    matrix, p, listed, counts = case(5, 8)
    matrix[:, 2] = 0.0
    out = np.zeros(5)
    assert step_dense(np.ascontiguousarray(matrix.T), listed, counts, p, np.zeros(8), out) == -math.inf
    others = np.arange(8) != 2
    assert np.allclose(out, matrix[:, others] @ (counts / (p @ np.where(others, matrix, 1)))[others])


@each_size
def test_iterate__is_em_by_hand(inputs, outputs):
    matrix, p, listed, counts = case(inputs, outputs)
    expected = p.copy()
    for _ in range(3):
        expected *= matrix @ (counts[:outputs] / (expected @ matrix))
        expected /= expected.sum()
    iterate_dense(np.ascontiguousarray(matrix.T), listed, counts, 3, np.zeros(listed.size), np.zeros(inputs), p)
    assert np.allclose(p, expected, rtol=1e-12)


@each_size
def test_narrow_step__is_that_of_float32(inputs, outputs):
    matrix, p, listed, counts = case(inputs, outputs)
    stored, shares = np.ascontiguousarray(matrix.T, np.float32), counts / counts.sum()
    d, out = np.zeros(listed.size), np.zeros(inputs)
    part = np.zeros(inputs, np.float32)
    found = step_narrow(stored, listed, shares, p.astype(np.float32), 1.0, 1.0, 1.0, d, part, out)
    assert np.allclose(out, matrix @ (shares[:outputs] / (p @ matrix)), rtol=1e-5)
    assert found == pytest.approx(shares[:outputs] @ np.log(p @ matrix), rel=1e-5, abs=1e-6)
