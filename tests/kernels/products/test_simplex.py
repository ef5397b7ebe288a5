"""Projection onto the simplex, against sorting."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.products.simplex import apply_simplex


def by_sorting(values: np.ndarray) -> np.ndarray:
    ordered = np.sort(values)[::-1]
    thresholds = (np.cumsum(ordered) - 1) / np.arange(1, values.size + 1)
    return np.maximum(values - thresholds[ordered > thresholds][-1], 0)


@pytest.mark.parametrize("size", [1, 2, 5, 300])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 50.0])
def test_projection__is_that_by_sorting(size, scale):
    values = np.random.default_rng(size).normal(size=size) * scale
    out = np.empty(size)
    apply_simplex(values, np.empty(size), np.empty(size), out)
    assert np.allclose(out, by_sorting(values), rtol=1e-9, atol=1e-12)
    assert out.sum() == pytest.approx(1, abs=1e-12)
