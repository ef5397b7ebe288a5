"""Counting keys and class sizes agrees with numpy."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.classes.keys import add_weights, count_keys, count_narrow, count_sizes


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("rows", [0, 1, 5000])
def test_count_keys__is_a_bincount(kind, rows):
    keys = np.random.default_rng(1).integers(0, 200, rows).astype(kind)
    counts = np.ones(200, np.uint32)
    count_keys(keys, counts)
    np.testing.assert_array_equal(counts - 1, np.bincount(keys, minlength=200))


@pytest.mark.parametrize("rows", [0, 255, 256, 5000])
def test_count_narrow__carries_into_the_wide_counts(rows):
    """One frequent key among few others; a mutant without the carry loses every 256th count."""
    keys = np.where(np.arange(rows) % 8, 3, np.arange(rows) % 5).astype(np.uint16)
    low, high = np.zeros(5, np.uint8), np.zeros(5, np.uint32)
    count_narrow(keys, low, high)
    np.testing.assert_array_equal(high * 256 + low, np.bincount(keys, minlength=5))
    assert rows < 400 or not np.array_equal(low, np.bincount(keys, minlength=5))


def test_add_weights__sums_integers_exactly():
    keys = np.array([3, 1, 3], np.uint32)
    counts = np.zeros(5, np.int64)
    add_weights(keys, np.array([2**60, 5, 1]), counts)
    assert counts.tolist() == [0, 5, 0, 2**60 + 1, 0]


def test_count_sizes__lists_the_large_ones():
    histogram, large = np.zeros(8, np.int64), np.zeros(3, np.int64)
    found = count_sizes(np.array([0, 1, 1, 7, 8, 2**40, 0]), histogram, large)
    assert histogram.tolist() == [2, 2, 0, 0, 0, 0, 0, 1]
    assert large[:found].tolist() == [8, 2**40]
