"""Counting codes, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.local.count_codes import OUT_OF_DOMAIN, count_codes


@pytest.mark.parametrize("dtype", ["u1", "i2", "i8", "u8"])
@pytest.mark.parametrize("size", [0, 1, 7, 1001])
def test_counts__are_those_of_bincount(size, dtype):
    """In four rows together; a row that is left out is missed."""
    codes, counts = np.random.default_rng(size).integers(0, 9, size).astype(dtype), np.zeros((4, 9), np.int64)
    assert count_codes(codes, np.uint64(9), counts) == 0
    expected = np.bincount(codes.astype(int), minlength=9)
    assert np.array_equal(counts.sum(axis=0), expected)
    assert size < 2 or not np.array_equal(counts[1:].sum(axis=0), expected)


@pytest.mark.parametrize("bad", [-1, 9, 2**40, -(2**63)])
def test_codes__outside_are_told_and_not_counted(bad):
    counts = np.zeros((4, 9), np.int64)
    assert count_codes(np.array([3, bad, 3, 8]), np.uint64(9), counts) == OUT_OF_DOMAIN
    assert counts.sum(axis=0).tolist() == [0, 0, 0, 2, 0, 0, 0, 0, 1]
