"""Noise that is uniform on each of a table of pieces, from private streams."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.cell_tables import draw_cell, leave_tail
from fastdp.kernels.jit import kernel
from fastdp.kernels.stream.keystream import GROUP_BLOCKS
from fastdp.kernels.stream.words import draw_below, open_consecutive, select_private

_U = np.uint64


@kernel
def fill_stairs(key, start, table, first_step, steps, scratch, out):
    """Write one draw of a law that is uniform on each of a table of pieces, one per slot start, start + 1, ...

    Post: the distance from the law is that of the table's integer weights, below 2**-100; within pieces it is exact.

    Pre:  cells of the table number the pieces: piece v >= 0 is first_step[0, v] + [0, steps[0, v]), piece ~v the
          negatives of first_step[1, v] + [0, steps[1, v]); the table's wrap is in steps.
    Bits: the private stream of slot start + i.
    """
    work, blocks = scratch.work, scratch.blocks
    for base in range(0, out.size, GROUP_BLOCKS):
        open_consecutive(key, start + _U(base), work, blocks)
        for i in range(base, min(base + GROUP_BLOCKS, out.size)):
            select_private(start + _U(i), i - base, work)
            cell, wrapped = leave_tail(draw_cell(table, key, work, blocks), table, key, work, blocks)
            side = 0 if cell >= 0 else 1
            piece = cell if cell >= 0 else ~cell
            within = np.int64(draw_below(steps[side, piece], key, work, blocks))
            magnitude = first_step[side, piece] + wrapped + within
            out[i] = magnitude if side == 0 else -magnitude
