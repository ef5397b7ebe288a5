"""Counts of cells, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.synthesis.marginals import AT_ONCE, count_cells


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("rows", [0, 1, AT_ONCE, 2 * AT_ONCE + 7])
def test_count_cells__counts_every_row_once(rows, kind):
    source, sizes = np.random.default_rng(rows), [3, 5, 4, 2]
    codes = np.stack([source.integers(0, size, rows) for size in sizes]).astype(kind)
    chosen = [0, 1, 3]
    counts = np.ones(30, np.int64)
    count_cells(codes, np.array(chosen), np.array([10, 2, 1]), np.empty(AT_ONCE, np.int64), counts)
    flat = np.ravel_multi_index([codes[c].astype(int) for c in chosen], [3, 5, 2])
    assert np.array_equal(counts - 1, np.bincount(flat, minlength=30))
