"""Operators on vectors, compiled, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.jit import kernel
from fastdp.kernels.products.vectors import LANES, VECTOR, address, vectorized


@vectorized
def combine(code, count, a, b, out):
    """Six results of two vectors, one after the other."""
    with code.loop(count) as k:
        x, y = (code.load(code.at(rows, k, VECTOR)) for rows in (a, b))
        turned = x.mixed(y, [LANES - 1 - lane for lane in range(LANES)])
        for place, result in enumerate((x + y, x - y, x.plus(x, y), x.minus(y, 2.0), x.clipped(), turned, x.total())):
            code.store(result, code.at(code.at(out, k, 7 * VECTOR), place, VECTOR))


@kernel
def run(count, a, b, out):
    combine(count, address(a), address(b), address(out))


@pytest.mark.parametrize("count", [1, 3])
def test_operators__are_numpys(count):
    """On whole numbers, which no order of additions rounds; the operands exchanged give others."""
    a, b = np.random.default_rng(count).integers(-9, 10, (2, count, LANES)).astype(float)
    out = np.zeros((count, 7, LANES))
    run(count, a, b, out)
    whole = np.broadcast_to(a.sum(axis=1, keepdims=True), a.shape)
    expected = [a + b, a - b, a + a * b, a - 2 * b, np.maximum(a, 0), a[:, ::-1], whole]
    assert np.array_equal(out, np.stack(expected, axis=1))
    run(count, b, a, out)
    assert not np.array_equal(out, np.stack(expected, axis=1))


def test_clipped__is_0_where_there_is_no_number():
    a, out = np.full((1, LANES), np.nan), np.zeros((1, 7, LANES))
    run(1, a, a, out)
    assert not out[0, 4].any()
