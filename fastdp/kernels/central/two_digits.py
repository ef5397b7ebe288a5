"""Discrete Laplace noise of middle scales from two draws: a coarse cell and a fine digit.

The magnitude of the law is geometric, and a geometric number's upper and lower digits are independent. So a draw is
``z = cell * 2**m + fine``, both exact, and nothing is rejected. With 8 to 16 cells per scale and up to 7 fine bits, 4
lanes in 1,000 are undecided after four bytes; one table of cells with uniform fine bits leaves 16.

The cell comes from a table of single bytes: a lookup costs 0.37 ns against 0.47 with two, for it is the traffic from
the second-level cache that limits it. The digits are almost equally likely, so that theirs is a step function close to
a short polynomial, which costs a third of a lookup: it defines the table of the digits, and the law is exact all the
same.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.cell_tables import AMBIGUOUS, draw_residue, leave_tail, look_up
from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.stream.lanes import FULL, enqueue, private_lanes
from fastdp.kernels.stream.words import COINS, HALVES, fill_tile, find_flagged, locate

UNDECIDED = -128
"""The byte that stands for AMBIGUOUS."""

_U = np.uint64
_F = np.float32


@inlined
def _place(half, curve):
    """Where a half word lies among the digits; each product and sum is rounded to single precision, on every CPU."""
    x = _F(half)
    inner = _F(curve[2] + _F(x * curve[3]))
    return _F(x * _F(curve[0] + _F(x * _F(curve[1] + _F(x * inner)))))


@inlined
def _combine(cells, halves, m, curve, flags, out):
    """Write the draws, flag the lanes of which the cell or the digit is undecided."""
    mask = np.int32((1 << m) - 1)
    for lane in range(out.size):
        cell, place = np.int32(cells[lane]), _place(halves[lane], curve)
        digit = np.int32(place)
        complement = cell >> np.int32(31)
        flags[lane] = (cell == UNDECIDED) | (_F(place - _F(digit)) >= curve[4])
        out[lane] = (np.int64(cell) << m) + np.int64(digit ^ (complement & mask))


@kernel
def fill_digits(curve, out):
    """Write what the curve makes of every half word: its digit, or UNDECIDED."""
    for half in range(out.size):
        place = _place(np.uint16(half), curve)
        digit = np.int32(place)
        out[half] = UNDECIDED if _F(place - _F(digit)) >= curve[4] else digit


@private_lanes
def _finish(lane, key, work, blocks, coarse, fine, out):
    """Decide the cell and the digit of a flagged lane."""
    m = np.int64(coarse.law[0])
    place, cell, digit = lane[0], lane[1], lane[2]
    if cell == UNDECIDED:
        cell = draw_residue(coarse, key, work, blocks)
    cell, wrapped = leave_tail(cell, coarse, key, work, blocks)
    if digit == AMBIGUOUS:
        digit = draw_residue(fine, key, work, blocks)
    magnitude = (((cell if cell >= 0 else ~cell) + wrapped) << m) + digit
    out[place] = magnitude if cell >= 0 else ~magnitude


@kernel
def fill_digit_noise(key, start, coarse, fine, coarse_bytes, curve, scratch, out):
    """Write one draw of the law of both tables per slot start, start + 1, ...

    Pre:  tables as built by ``fastdp.laws.central.two_digits``, both of 2**16 entries; those of the first also as int8,
          those of the second as the curve that defines them.
    Post: out[i] follows the law within 2**-100 in statistical distance, and the ratios of its probabilities are those
          that the tables' integer weights state.
    Bits: out[i] reads the half-word planes at slot start + i, and the private stream of that slot.
    """
    m = np.int64(coarse.law[0])
    waiting = done = 0
    while done < out.size:
        slot, tile, lane, count = locate(start, done, out.size)
        fill_tile(key, HALVES, tile, scratch, scratch.halves_raw)
        fill_tile(key, COINS, tile, scratch, scratch.coins_raw)
        look_up(scratch.halves[lane : lane + count], coarse_bytes, np.uint16(0), scratch.found)
        _combine(scratch.found, scratch.coins[lane : lane + count], m, curve, scratch.flags, out[done : done + count])
        for i in range(find_flagged(scratch, count)):
            place = scratch.places[i]
            cell, digit = np.int64(scratch.found[place]), np.int64(fine.cells[scratch.coins[lane + place]])
            enqueue(waiting, slot + _U(place), done + place, scratch, cell, digit)
            waiting = _finish(waiting + 1, FULL, key, scratch, coarse, fine, out)
        done += count
    _finish(waiting, 1, key, scratch, coarse, fine, out)
