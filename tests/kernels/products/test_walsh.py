"""The Walsh-Hadamard transform, against Sylvester's matrix."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.products.walsh import apply_walsh, step_walsh
from tests.reference.hadamard import sylvester


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 64, 256])
def test_transform__is_sylvesters_matrix(size):
    values = np.random.default_rng(size).normal(size=size)
    expected = sylvester(size) @ values
    apply_walsh(values)
    assert np.allclose(values, expected, rtol=1e-12, atol=1e-12)


def test_step__is_the_gradient_and_gives_the_likelihood():
    rng = np.random.default_rng(2)
    p, counts, out = rng.dirichlet(np.ones(9)), rng.integers(0, 9, 16).astype(np.float64), np.empty(9)
    full = 1 + 0.4 * sylvester(16)[1:10]
    likelihood = step_walsh(counts, p, 0.4, np.empty(16), out)
    assert likelihood == pytest.approx((counts * np.log(p @ full)).sum(), rel=1e-12)
    assert np.allclose(out, full @ (counts / (p @ full)), rtol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 8, 64, 4096, 8192, 32_768])
def test_apply_walsh__is_the_matrix(size):
    values = np.random.default_rng(1).integers(-1000, 1000, size)
    transformed = values.copy()
    apply_walsh(transformed)
    if size <= 64:
        assert np.array_equal(transformed, sylvester(size) @ values)
    places = np.random.default_rng(2).integers(0, size, 20)
    signs = 1 - 2 * (np.bitwise_count(places[:, None] & np.arange(size)[None, :]) & 1).astype(np.int64)
    assert np.array_equal(transformed[places], signs @ values)
    apply_walsh(transformed)
    assert np.array_equal(transformed, size * values)
