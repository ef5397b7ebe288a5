"""Sums and products along axes, against numpy's own, for every subset of the axes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fastdp.synthesis.fitting.axes import axes

SIZES = (3, 1, 4, 2, 5)
SUBSETS = [kept for size in range(6) for kept in itertools.combinations(range(5), size)]


@pytest.mark.parametrize("kept", SUBSETS)
def test_axes__sum_add_and_multiply_as_numpy_does(kept):
    table = np.random.default_rng(1).random(SIZES)
    lost = tuple(axis for axis in range(5) if axis not in kept)
    small = table.sum(axis=lost, keepdims=True)
    along = axes(tuple(range(5)), kept, SIZES)
    assert np.allclose(along.sum(table.reshape(-1)), small.reshape(-1))
    added, product = table.reshape(-1).copy(), table.reshape(-1).copy()
    along.add(small.reshape(-1), added, -2.0)
    along.multiply(small.reshape(-1), product)
    assert np.allclose(added.reshape(SIZES), table - 2 * small)
    assert np.allclose(product.reshape(SIZES), table * small)
