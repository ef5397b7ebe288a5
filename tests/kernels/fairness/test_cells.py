"""Cells of several columns, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.fairness.cells import add_weights, append_codes, count_cells, fold_codes, largest_code

SIZES = (5, 2, 3)


def columns(rows, dtype="u1"):
    source = np.random.default_rng(rows)
    return [source.integers(0, size, rows).astype(dtype) for size in SIZES]


def fold(given, cells):
    largest = [fold_codes(codes, cells.dtype.type(size), cells) for codes, size in zip(given, SIZES, strict=True)]
    return cells, largest


@pytest.mark.parametrize(("codes", "cells"), [("u1", "u1"), ("u1", "u2"), ("u2", "u2"), ("u1", "u4"), ("u2", "u4")])
@pytest.mark.parametrize("rows", [0, 1, 3, 1001])
def test_cells__are_digits_in_mixed_radix(rows, codes, cells):
    given = columns(rows, codes)
    folded, largest = fold(given, np.zeros(rows, cells))
    assert np.array_equal(folded, np.ravel_multi_index([c.astype(int) for c in given], SIZES))
    assert largest == [int(c.max(initial=0)) for c in given]
    if rows > 1:  # the columns in another order are another number
        assert not np.array_equal(folded, np.ravel_multi_index([c.astype(int) for c in given[::-1]], SIZES[::-1]))


@pytest.mark.parametrize(("keys", "codes", "cells"), [("u1", "u1", "u1"), ("u1", "u1", "u2"), ("u2", "u1", "u4")])
@pytest.mark.parametrize("rows", [0, 1, 1001])
def test_appended__are_digits_too_and_leave_the_keys(rows, keys, codes, cells):
    given = columns(rows, codes)
    first, out = given[0].astype(keys), np.empty(rows, cells)
    assert append_codes(first, given[1], out.dtype.type(2), out) == int(given[1].max(initial=0))
    assert np.array_equal(out, given[0].astype(int) * 2 + given[1])
    assert np.array_equal(first, given[0])
    assert largest_code(first) == int(given[0].max(initial=0))


@pytest.mark.parametrize("rows", [0, 1, 7, 1002])
def test_counts__are_those_of_bincount(rows):
    """In four rows together; a row that is left out is missed."""
    cells, counts = fold(columns(rows), np.zeros(rows, "u1"))[0], np.zeros((4, 30), np.int64)
    count_cells(cells, counts)
    assert np.array_equal(counts.sum(axis=0), np.bincount(cells, minlength=30))
    assert rows < 4 or not np.array_equal(counts[:3].sum(axis=0), np.bincount(cells, minlength=30))


def test_weights__are_added_with_their_squares():
    cells, weights, sums = np.array([1, 0, 1], "u1"), np.array([0.5, 2.0, 3.0]), np.zeros((2, 3))
    add_weights(cells, weights, sums)
    assert sums.tolist() == [[2.0, 3.5, 0.0], [4.0, 9.25, 0.0]]
