"""Products with a sparse matrix that is stored by outputs, against the dense one."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.products.sparse import apply_backward, apply_forward


@pytest.mark.parametrize("inputs, outputs", [(1, 1), (4, 9), (30, 12)])
def test_products__are_those_of_the_dense_matrix(inputs, outputs):
    rng = np.random.default_rng(inputs)
    dense = rng.random((outputs, inputs)) * (rng.random((outputs, inputs)) < 0.3)
    rows, columns = np.nonzero(dense)
    starts = np.searchsorted(rows, np.arange(outputs + 1))
    p, w, d, out = rng.random(inputs), rng.random(outputs), np.empty(outputs), np.empty(inputs)
    apply_forward(starts, columns, dense[rows, columns], p, d)
    assert np.allclose(d, dense @ p, rtol=1e-12)
    apply_backward(starts, columns, dense[rows, columns], w, out)
    assert np.allclose(out, w @ dense, rtol=1e-12)
