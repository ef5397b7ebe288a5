"""Sums of values and noise, against exact integers."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.central.addition import INFINITE, NOT_A_NUMBER, add_floats, add_integers, add_integers_folded

NOISE = np.array([0, 1, -1, 10, -10, 2**62, -(2**62), 2**63 - 1, -(2**63)], np.int64)


def folded(total: int, low: int, high: int) -> int:
    while not low <= total <= high:
        total = 2 * low - total if total < low else 2 * high - total
    return total


@pytest.mark.parametrize("low, high", [(-(2**63), 2**63 - 1), (-5, 7)])
@pytest.mark.parametrize("value", [-(2**63), -3, 0, 2**63 - 1])
def test_integers__never_wrap(low, high, value):
    out = np.empty(NOISE.size, np.int64)
    add_integers(np.full(NOISE.size, value), NOISE, np.int64(low), np.int64(high), np.int64(0), out)
    inside = min(max(value, low), high)
    assert out.tolist() == [min(max(inside + noise, low), high) for noise in NOISE.tolist()]


def test_folded__are_reflected_until_inside():
    noise = np.arange(-50, 51)
    out = np.empty(noise.size, np.int64)
    add_integers_folded(np.full(noise.size, 2), noise, np.int64(-5), np.int64(7), np.int64(0), out)
    assert out.tolist() == [folded(2 + step, -5, 7) for step in noise.tolist()]


def test_floats__are_on_the_grid_and_flag_what_is_no_number():
    values, out = np.array([0.3, -1.26, 5.0]), np.empty(3)
    ends = (-np.inf, np.inf, -2.0, 4.0)
    assert add_floats(values, np.array([1, -1, 7]), 4.0, 0.25, *ends, out) == 0
    assert out.tolist() == [0.5, -1.5, 4.0]
    bad = np.array([np.nan, np.inf])
    assert add_floats(bad, np.zeros(2, np.int64), 4.0, 0.25, *ends, out[:2]) == NOT_A_NUMBER | INFINITE
