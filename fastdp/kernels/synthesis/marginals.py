"""Counts of the cells of a marginal, from columns of codes."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import kernel

AT_ONCE = 4096
"""Rows whose cells are found column by column: their numbers stay in the first-level cache."""


@kernel
def count_cells(codes, chosen, strides, cells, counts):
    """Add to ``counts`` how many rows fall into each cell.

    Pre:  codes holds one row per column; chosen are the numbers of some of them and strides what a step of each is
          worth among the cells; cells is int64[AT_ONCE] of scratch.
    """
    rows = codes.shape[1]
    for start in range(0, rows, AT_ONCE):
        stop = min(start + AT_ONCE, rows)
        size = stop - start
        for i in range(size):
            cells[i] = 0
        for j in range(chosen.size):
            column, stride = codes[chosen[j]], strides[j]
            for i in range(size):
                cells[i] += stride * np.int64(column[start + i])
        for i in range(size):
            counts[cells[i]] += 1
