"""Products with a**|x - y|, against the matrix."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.products.line import apply_powers, apply_powers_many, step_line


def matrix(a: float, keep: np.ndarray) -> np.ndarray:
    found = a ** np.abs(np.subtract.outer(np.arange(keep.size), np.arange(keep.size)))
    np.fill_diagonal(found, keep)
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 8, 51])
@pytest.mark.parametrize("a", [0.1, 0.99])
def test_products__are_those_of_the_matrix(size, a):
    rng = np.random.default_rng(size)
    keep, values, many = rng.random(size) + 0.5, rng.normal(size=size), rng.normal(size=(size, 4))
    full, out = matrix(a, keep), np.empty(size)
    apply_powers(a, values, keep, out)
    assert np.allclose(out, full @ values, rtol=1e-12, atol=1e-12)
    columns = np.empty((size, 4))
    apply_powers_many(a, many, keep, np.empty(4), columns)
    assert np.allclose(columns, full @ many, rtol=1e-12, atol=1e-12)


def test_step__is_the_gradient_and_gives_the_likelihood():
    rng = np.random.default_rng(5)
    keep, p, counts = np.full(20, 1.5), rng.dirichlet(np.ones(20)), rng.integers(0, 9, 20).astype(np.float64)
    full, out = matrix(0.6, keep), np.empty(20)
    likelihood = step_line(0.6, keep, counts, p, np.empty(20), out)
    assert likelihood == pytest.approx((counts * np.log(p @ full)).sum(), rel=1e-12)
    assert np.allclose(out, full @ (counts / (p @ full)), rtol=1e-12)
