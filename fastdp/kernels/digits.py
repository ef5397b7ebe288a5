"""Discrete Laplace noise of middle scales from two tables: a coarse cell and a fine digit.

The magnitude of the law is geometric, and a geometric number's upper and lower digits are independent. So a draw is
``z = cell * 2**m + fine`` with the cell from one table and the fine digit from another, both exact, and nothing is
rejected. With 8 to 16 cells per scale and up to 7 fine bits, 3 lanes in 1,000 are undecided after four bytes; one table
of cells with uniform fine bits leaves 16. Entries are single bytes: a lookup costs 0.37 ns against 0.47 with two, for
it is the traffic from the second-level cache that limits it.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.cells import draw_residue, leave_tail, look_up
from fastdp.kernels.chacha import GROUP_BLOCKS, fill_plane
from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.words import (
    COINS,
    HALVES,
    TILE,
    find_flagged,
    locate,
    open_privates,
    select_private,
)

UNDECIDED = -128
"""A byte entry that says AMBIGUOUS."""

_U = np.uint64


@inlined
def _combine(cells, digits, m, flags, out):
    """Write the draws, flag the lanes of which a table did not decide its part."""
    mask = np.int32((1 << m) - 1)
    for lane in range(out.size):
        cell, digit = np.int32(cells[lane]), np.int32(digits[lane])
        complement = cell >> np.int32(31)
        flags[lane] = (cell == UNDECIDED) | (digit == UNDECIDED)
        out[lane] = (np.int64(cell) << m) + np.int64(digit ^ (complement & mask))


@kernel
def _finish_pending(count, coarse, fine, key, scratch, out):
    """Finish up to sixteen flagged lanes; their slots wait in ``scratch.work[32:48]``."""
    m = np.int64(coarse.law[0])
    work, blocks, pending = scratch.work, scratch.blocks, scratch.pending
    open_privates(key, work, blocks)
    for i in range(count):
        select_private(work[32 + i], i, work)
        cell, digit = pending[i, 1], pending[i, 2]
        if cell == UNDECIDED:
            cell = draw_residue(coarse, key, work, blocks)
        cell, wrapped = leave_tail(cell, coarse, key, work, blocks)
        if digit == UNDECIDED:
            digit = draw_residue(fine, key, work, blocks)
        magnitude = (((cell if cell >= 0 else ~cell) + wrapped) << m) + digit
        out[pending[i, 0]] = magnitude if cell >= 0 else ~magnitude


@kernel
def fill_digit_noise(key, start, coarse, fine, coarse_bytes, fine_bytes, scratch, out):
    """Write one draw of the law of both tables per slot start, start + 1, ...

    Pre:  tables as built by ``fastdp.noise.digits``, both of 2**16 entries, and the same entries as int8.
    Post: out[i] follows the law within 2**-100 in statistical distance, and the ratios of its probabilities are those
          that the tables' integer weights state.
    Bits: out[i] reads the half-word planes at slot start + i, and the private stream of that slot.
    """
    m = np.int64(coarse.law[0])
    counters = scratch.work[16:32]
    waiting = 0
    done = 0
    while done < out.size:
        slot, tile, lane, count = locate(start, done, out.size)
        fill_plane(key, HALVES, tile * _U(TILE // 512), counters, scratch.halves_raw)
        fill_plane(key, COINS, tile * _U(TILE // 512), counters, scratch.coins_raw)
        look_up(scratch.halves[lane : lane + count], coarse_bytes, np.uint16(0), scratch.found)
        look_up(scratch.coins[lane : lane + count], fine_bytes, np.uint16(0), scratch.digits)
        _combine(scratch.found, scratch.digits, m, scratch.flags, out[done : done + count])
        for i in range(find_flagged(scratch, count)):
            place = scratch.places[i]
            scratch.pending[waiting, 0] = done + place
            scratch.pending[waiting, 1] = np.int64(scratch.found[place])
            scratch.pending[waiting, 2] = np.int64(scratch.digits[place])
            scratch.work[32 + waiting] = slot + _U(place)
            waiting += 1
            if waiting == GROUP_BLOCKS:
                _finish_pending(waiting, coarse, fine, key, scratch, out)
                waiting = 0
        done += count
    if waiting > 0:
        _finish_pending(waiting, coarse, fine, key, scratch, out)
