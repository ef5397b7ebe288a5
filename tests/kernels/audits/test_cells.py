"""Cells of numbers, against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fastdp.kernels.audits.cells import DIGITS, fill_bins, fill_digits, most_digits

NUMBERS = [0.0, -0.0, 1.0, -3.0, 0.5, 0.75, 2.0**-30, 1 / 3, -1e-300, 5e-324, 2.0**60, 1e300, 2.0**-1022 * 1.5]


def digits(value: float) -> int:
    """Of the denominator, which is a power of two."""
    return Fraction(value).denominator.bit_length() - 1


@pytest.mark.parametrize("first", [0, 20, 1000])
def test_digits__are_those_of_the_fraction(first):
    values = np.array([*NUMBERS, *np.random.default_rng(1).laplace(size=1000)])
    cells = np.zeros(values.size, np.uint32)
    fill_digits(values.view(np.uint64), first, cells)
    assert cells.tolist() == [min(max(digits(value) - first, 0), DIGITS - 1) for value in values]
    assert most_digits(values.view(np.uint64)) == max(map(digits, values))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_bins__hold_their_lower_edge_and_all_beyond_the_ends(dtype):
    values = np.array([0, 1, 2, 3, 4, 5, 9, 200]).astype(dtype)
    cells = np.zeros(values.size, np.uint32)
    fill_bins(values, 1.0, 0.5, 3.0, cells)
    assert cells.tolist() == [0, 0, 0, 1, 1, 2, 3, 3]


def test_bins__count_strange_numbers_somewhere():
    cells = np.full(3, 9, np.uint32)
    fill_bins(np.array([np.nan, np.inf, -np.inf]), 0.0, 1.0, 3.0, cells)
    assert cells.tolist() == [0, 3, 0]
