"""Noise that is uniform on each of a table of pieces, from private streams."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.cell_tables import draw_cell, leave_tail
from fastdp.kernels.jit import kernel
from fastdp.kernels.stream.lanes import private_draws
from fastdp.kernels.stream.words import draw_below


@private_draws
def _fill_pieces(_i, key, work, blocks, table, first_step, steps):
    """A piece by the table, and a uniform step of it."""
    cell, wrapped = leave_tail(draw_cell(table, key, work, blocks), table, key, work, blocks)
    side = 0 if cell >= 0 else 1
    piece = cell if cell >= 0 else ~cell
    within = np.int64(draw_below(steps[side, piece], key, work, blocks))
    magnitude = first_step[side, piece] + wrapped + within
    return magnitude if side == 0 else -magnitude


@kernel
def fill_stairs(key, start, table, first_step, steps, scratch, out):
    """Write one draw of a law that is uniform on each of a table of pieces, one per slot start, start + 1, ...

    Post: the distance from the law is that of the table's integer weights, below 2**-100; within pieces it is exact.

    Pre:  cells of the table number the pieces: piece v >= 0 is first_step[0, v] + [0, steps[0, v]), piece ~v the
          negatives of first_step[1, v] + [0, steps[1, v]); the table's wrap is in steps.
    Bits: the private stream of slot start + i.
    """
    _fill_pieces(key, start, scratch, out, table, first_step, steps)
