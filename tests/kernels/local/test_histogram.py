"""One-hot rows and their sums, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.local.histogram import OUT_OF_DOMAIN, add_columns, set_ones


@pytest.mark.parametrize("k", [2, 7, 100])
def test_set_ones__are_rows_of_the_identity(k):
    codes = np.random.default_rng(k).integers(0, k, 50)
    out = np.full(50 * k, 9.0)
    assert set_ones(codes, k, out) == 0
    assert (out.reshape(50, k) == np.eye(k)[codes]).all()
    sums = np.ones(k)
    add_columns(out, sums)
    assert (sums == 1 + np.bincount(codes, minlength=k)).all()


@pytest.mark.parametrize("code", [-1, 7, 2**40])
def test_set_ones__tell_of_codes_outside(code):
    assert set_ones(np.array([0, code]), 7, np.empty(14)) == OUT_OF_DOMAIN
