"""Order statistics without sorting: counts of cells of equal width, and the rows of the few cells that matter."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import kernel


@kernel
def count_cells(steps, shift, tables):
    """Add the number of steps in each cell of 2**shift steps to ``tables``; negative ones, nulls, are passed over.

    Pre:  steps are int32, below tables.shape[1] << shift; tables is int64[4, cells + 1], the last one for nulls: four
          of them take turns, so that equal neighbours do not wait for one another.
    """
    last = np.int64(tables.shape[1] - 1)
    for i in range(steps.size):
        cell = np.int64(steps[i]) >> shift
        tables[i & 3, cell if cell >= 0 else last] += 1


@kernel
def gather_cells(steps, shift, wanted, out):
    """Write the steps whose cell is wanted to ``out``, and return how many they are.

    Pre:  wanted is uint8[cells + 1], its last entry 0, for nulls; out has room for all of them, and for one more.
    """
    last = np.int64(wanted.size - 1)
    found = 0
    for i in range(steps.size):
        step = steps[i]
        cell = np.int64(step) >> shift
        out[found] = step
        found += np.int64(wanted[cell if cell >= 0 else last])
    return found
