"""Counts of cells and the rows of chosen cells, nulls passed over."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.persons.order_statistics import count_cells, gather_cells
from fastdp.kernels.persons.steps import NULL


def test_cells__hold_every_row_once():
    steps = np.random.default_rng(1).integers(0, 1 << 10, 5001).astype(np.int32)
    steps[::50] = NULL
    tables = np.zeros((4, 65), np.int64)
    count_cells(steps, 4, tables)
    known = steps[steps != NULL]
    np.testing.assert_array_equal(tables.sum(axis=0)[:-1], np.bincount(known >> 4, minlength=64))

    wanted = np.zeros(65, np.uint8)
    wanted[[0, 7, 63]] = 1
    out = np.empty(5002, np.int32)
    found = gather_cells(steps, 4, wanted, out)
    np.testing.assert_array_equal(out[:found], known[np.isin(known >> 4, [0, 7, 63])])
