"""Sums and bins of reported numbers, against exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fastdp.kernels.local.count_numbers import IMPOSSIBLE, LANES, add_reports, count_reports


@pytest.mark.parametrize("size", [0, 1, LANES - 1, LANES, 5 * LANES + 3])
def test_sums__are_exact_where_numbers_are(size):
    """Multiples of 1/8, whose sums and squares float64 holds exactly; without the last report they differ."""
    reports, sums = np.random.default_rng(size).integers(-40, 41, size) / 8, np.zeros((2, LANES))
    assert add_reports(reports, 0.5, -5.0, 5.0, sums) == 0
    distances = [Fraction(report) - Fraction(1, 2) for report in reports]
    assert [Fraction(total) for total in sums.sum(axis=1)] == [sum(distances), sum(d * d for d in distances)]
    if size:
        assert sums[1].sum() != sum(d * d for d in distances[:-1]) or distances[-1] == 0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -5.000001, 5.000001])
@pytest.mark.parametrize("place", [0, LANES + 1])
def test_impossible_reports__are_told(bad, place):
    """Among whole groups of lanes and in the rest."""
    reports = np.zeros(LANES + 2)
    reports[place] = bad
    assert add_reports(reports, 0.0, -5.0, 5.0, np.zeros((2, LANES))) == IMPOSSIBLE
    counts = np.zeros((4, 10), np.int64)
    assert count_reports(reports, 0.0, 1.0, 5.0, -5.0, 5.0, counts) == IMPOSSIBLE
    assert counts.sum() == reports.size - 1


def test_bins__start_where_they_say():
    """Bin b at low + (b - margin) / slope, ends included in the outermost; another margin counts otherwise."""
    reports = np.arange(-40, 41) / 8
    found = {margin: np.zeros((4, 10), np.int64) for margin in (5.0, 5.125)}
    for margin, counts in found.items():
        assert count_reports(reports, 0.0, 1.0, margin, -5.0, 5.0, counts) == 0
    expected = np.bincount([min(math.floor(report + 5), 9) for report in reports], minlength=10)
    assert np.array_equal(found[5.0].sum(axis=0), expected)
    assert not np.array_equal(found[5.125].sum(axis=0), expected)
