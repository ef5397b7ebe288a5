"""Passes over scores, against numpy in exact arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.selection.scores import count_gaps, find_largest, find_rank

NONE = np.empty(0, np.int64)
GRID = 2.0**-4


def draws(dtype: type, size: int = 1003) -> np.ndarray:
    source = np.random.default_rng(5)
    return (source.normal(0, 40, size) if dtype is np.float64 else source.integers(-90, 90, size)).astype(dtype)


def steps(scores: np.ndarray) -> np.ndarray:
    return np.floor(scores / GRID).astype(np.int64) if scores.dtype.kind == "f" else scores.astype(np.int64)


each_type = pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])


@each_type
@pytest.mark.parametrize("skipped", [NONE, np.array([0, 7, 8, 1002])])
def test_passes__agree_with_numpy(dtype, skipped):
    """The largest step, counts of gaps in buckets of 8, and every candidate of a bucket by its rank."""
    scores = draws(dtype)
    left = np.delete(np.arange(scores.size), skipped)
    largest, finite = find_largest(scores, 1 / GRID, skipped)
    assert finite
    assert largest == steps(scores)[left].max()

    counts, last = np.zeros(12, np.int64), 11
    count_gaps(scores, 1 / GRID, largest, 3, skipped, np.zeros((4, 12), np.int64), counts)
    buckets = np.minimum((largest - steps(scores)) >> 3, last)
    np.testing.assert_array_equal(counts, np.bincount(buckets[left], minlength=12))

    members = left[buckets[left] == last]
    found = [find_rank(scores, 1 / GRID, largest, 3, skipped, last, last, rank) for rank in range(members.size + 1)]
    assert [index for index, _ in found] == [*members, -1]
    assert [gap for _, gap in found[:-1]] == list(largest - steps(scores)[members])


def test_count_gaps__leaves_its_tables_zero():
    tables = np.zeros((4, 5), np.int64)
    for _ in range(2):
        counts = np.zeros(5, np.int64)
        count_gaps(np.arange(9), 1.0, np.int64(8), 0, NONE, tables, counts)
        assert counts.tolist() == [1, 1, 1, 1, 5]


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_find_largest__sees_what_is_not_finite(odd):
    scores = draws(np.float64)
    scores[500] = odd
    assert not find_largest(scores, 1.0, NONE)[1]


def test_steps__saturate():
    """Scores beyond 2**61 steps count as that far; no sum overflows."""
    assert find_largest(np.array([-1e300, 1e300]), 2.0**900, NONE)[0] == 1 << 61
    assert find_largest(np.array([-1e300]), 2.0**900, NONE)[0] == -(1 << 61)
    assert find_largest(np.array([2**62, 1]), 1.0, NONE)[0] == 1 << 61
