"""Truth values counted 64 rows at once, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.fairness.truths import BLOCK, count_truths


def count(groups, first, second, size):
    counts, words = np.zeros((size, 4), np.int64), np.empty((3, BLOCK // 64), np.uint64)
    return count_truths(groups, first, second, words, counts), counts


def columns(rows, size):
    source = np.random.default_rng(rows)
    return [source.integers(0, k, rows).astype(np.uint8) for k in (size, 2, 2)]


@pytest.mark.parametrize("size", [1, 6, 32])
@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, BLOCK - 1, BLOCK, BLOCK + 64, 3 * BLOCK + 7])
def test_counts__are_those_of_bincount(rows, size):
    groups, first, second = columns(rows, size)
    known, counts = count(groups, first, second, size)
    assert known
    for place, weights in enumerate((np.ones(rows), first, second, first & second)):
        assert np.array_equal(counts[:, place], np.bincount(groups, weights, minlength=size))


@pytest.mark.parametrize("place", [0, 63, 64, BLOCK + 5, BLOCK + 128])
@pytest.mark.parametrize(("column", "code"), [(0, 6), (0, 255), (1, 2), (2, 128)])
def test_code__that_is_too_large_is_found(column, code, place):
    """Wherever it stands, in whole words and in the rows behind them."""
    given = columns(BLOCK + 130, 6)
    assert count(*given, 6)[0]
    given[column][place] = code
    assert not count(*given, 6)[0]
