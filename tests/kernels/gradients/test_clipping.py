"""Norms and truncated sums of rows, against exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fastdp.kernels.gradients.clipping import LANES, add_square_norms, add_steps, add_steps_ahead, flush_steps


def norms(rows):
    out = np.zeros(len(rows))
    add_square_norms(rows, np.full((1, LANES), 7.0), out)
    return out


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 3000])
def test_norms__are_right_to_their_bound(dtype, size):
    rows = np.random.default_rng(size).standard_normal((3, size)).astype(dtype)
    for row, found in zip(rows, norms(rows), strict=True):
        exact = sum((Fraction(float(x)) ** 2 for x in row), Fraction())
        assert abs(Fraction(float(found)) - exact) <= exact * Fraction(size // LANES + LANES + 2, 2**53)


def test_norms__do_not_depend_on_the_neighbours():
    rows = np.random.default_rng(1).standard_normal((9, 1234)).astype(np.float32)
    alone = [norms(rows[i : i + 1])[0] for i in range(9)]
    assert norms(rows).tolist() == alone
    assert norms(rows[::-1].copy()).tolist() == alone[::-1]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_norms__are_not_finite_where_a_row_is_not(bad):
    rows = np.ones((2, 700), np.float32)
    rows[1, 3] = bad
    found = norms(rows)
    assert found[0] == 700
    assert not math.isfinite(found[1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("count", "size"), [(0, 3), (1, 1), (4, 2048), (7, 2049), (64, 100)])
def test_steps__are_truncated_toward_zero(dtype, count, size):
    source = np.random.default_rng(count)
    rows = source.uniform(-1, 1, (count, size)).astype(dtype)
    factors = np.floor(source.uniform(1, 2**24, count)) * (np.arange(count) % 3 != 1)
    sums, total = np.zeros(size, np.int32), np.full(size, 5, np.int64)
    add_steps(rows, factors, np.zeros(count, np.int64), sums)
    due = np.trunc(rows * factors.astype(dtype)[:, None]).astype(np.int64).sum(axis=0)
    assert np.array_equal(sums, due)
    if count > 3:  # rounded to nearest, or down, it would be another
        assert not np.array_equal(sums, np.rint(rows * factors.astype(dtype)[:, None]).sum(axis=0))
        assert not np.array_equal(sums, np.floor(rows * factors.astype(dtype)[:, None]).sum(axis=0))
    flush_steps(sums, total)
    assert np.array_equal(total, due + 5)
    assert not sums.any()


def test_steps__leave_a_row_of_factor_zero_out_whatever_it_holds():
    rows = np.array([[np.nan, np.inf], [1.0, -1.5]], np.float32)
    sums = np.zeros(2, np.int32)
    add_steps(rows, np.array([0.0, 2.0]), np.zeros(2, np.int64), sums)
    assert sums.tolist() == [2, -3]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 127, 128, 513, 3000])
@pytest.mark.parametrize("factors", [(3e6,), (0.0,), (3e6, 7e6), (0.0, 7e6), (3e6, 0.0), (0.0, 0.0)])
@pytest.mark.parametrize("later", [0, 1, 2])
def test_steps_ahead__are_those_of_two_passes_to_the_bit(dtype, size, factors, later):
    source = np.random.default_rng(size)
    rows, ahead = (
        source.uniform(-1, 1, (len(factors), size)).astype(dtype),
        source.normal(size=(later, size)).astype(dtype),
    )
    rows[np.array(factors) == 0] = np.nan
    found, due, squares = np.zeros(size, np.int32), np.zeros(size, np.int32), np.full(later, 2.0)
    add_steps_ahead(rows, np.array(factors), found, ahead, np.full((2, LANES), 7.0), squares)
    add_steps(rows, np.array(factors), np.zeros(len(factors), np.int64), due)
    assert found.tolist() == due.tolist()
    assert squares.tolist() == (2.0 + norms(ahead)).tolist()
