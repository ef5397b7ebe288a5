"""Integer noise from a table of cells and uniform fine bits: the discrete Laplace and the discrete Gaussian.

A draw is ``z = cell * 2**m + fine``. The cell comes from a table of 2**16 entries indexed by random bits; an entry that
cannot be one cell for all further bits is AMBIGUOUS and is decided by up to 128 more. The fine bits are uniform and
kept with probability e**-gamma(cell, fine), the exact ratio of the wanted probability to the cell's largest; a
16-bit coin settles nearly all lanes without computing gamma. Undecided lanes (about 2 %) are flagged, and finish one
by one from the private streams of their slots. Negative draws are the bitwise complement of non-negative ones, so that
zero is not counted twice: z = ~(c * 2**m + f), which is cell ~c with the fine bits complemented.

``law`` is uint64[8]: [m, coin_base, coin_slope, rate, rate_shift, quadratic, wrap, index_shift], where
  gamma = rate / 2**rate_shift * f                                     (Laplace: quadratic = 0)
  gamma = rate / 2**rate_shift * f * (2 * (c * 2**m + [z < 0]) + f)    (Gaussian: quadratic = 1)
and gamma < f / 2**m * (coin_base + coin_slope * c / 2**16) / 2**16, so a coin above that bound keeps the lane.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.stream.bernoulli import draw_bernoulli_exp
from fastdp.kernels.stream.lanes import FULL, enqueue, private_lanes
from fastdp.kernels.stream.words import (
    COINS,
    HALVES,
    WORDS,
    fill_tile,
    find_flagged,
    locate,
    multiply_high,
    next_word,
)

AMBIGUOUS = -32768
TAIL_UP = 32767
TAIL_DOWN = -32767
SHORT_FINE_BITS = 6
"""Up to this many fine bits, they and the coin share one half word; up to 16, one word."""

_U = np.uint64


class CellTable(NamedTuple):
    """A law in integers, as the kernel reads it."""

    cells: np.ndarray  # int16[2**bits]: cell by index, or AMBIGUOUS
    residue_high: np.ndarray  # uint64[n]: upper half of the cumulative thresholds of the ambiguous entries
    residue_low: np.ndarray  # uint64[n]: lower half
    residue_cell: np.ndarray  # int16[n]: whose threshold it is; the last one takes what is left
    residue_guide: np.ndarray  # int32[4096]: the first threshold that a uniform with these upper bits can lie below
    law: np.ndarray  # uint64[8]


@inlined
def draw_residue(table, key, work, blocks):
    """The cell of an ambiguous entry: the first whose 128-bit cumulative threshold lies above a fresh uniform."""
    uniform = next_word(key, work, blocks)
    low = np.int64(table.residue_guide[np.int64(uniform >> _U(52))])
    while low < table.residue_high.size - 1 and uniform >= table.residue_high[low]:
        low += 1
    if low > 0 and uniform == table.residue_high[low - 1]:
        # The first 64 bits meet a threshold: 64 more decide, among the thresholds that share those bits.
        further = next_word(key, work, blocks)
        while low > 0 and uniform == table.residue_high[low - 1] and further < table.residue_low[low - 1]:
            low -= 1
    return np.int64(table.residue_cell[low])


@inlined
def draw_cell(table, key, work, blocks):
    """A cell of the table, TAIL_UP and TAIL_DOWN among them, from the private stream."""
    index = next_word(key, work, blocks) >> (_U(48) + table.law[7])
    cell = np.int64(table.cells[np.int64(index)])
    if cell == AMBIGUOUS:
        cell = draw_residue(table, key, work, blocks)
    return cell


@inlined
def leave_tail(cell, table, key, work, blocks):
    """A cell of the table and the distance wrapped: beyond the table the law repeats itself one wrap further out."""
    wrapped = np.int64(0)
    upward = cell >= 0
    while cell == TAIL_UP or cell == TAIL_DOWN:
        wrapped += np.int64(table.law[6])
        cell = draw_cell(table, key, work, blocks)
        while (cell >= 0) != upward:
            cell = draw_cell(table, key, work, blocks)
    return cell, wrapped


@inlined
def keep(high, low, law, first, key, work, blocks):
    """True with probability e**-((high * 2**64 + low) * rate / 2**rate_shift), an exponent below 1."""
    rate, left = law[3], _U(128) - law[4]
    high = high * rate + multiply_high(low, rate)
    low = low * rate
    if left >= _U(64):
        high, low = low << (left - _U(64)), _U(0)
    elif left > _U(0):
        high, low = (high << left) | (low >> (_U(64) - left)), low << left
    return draw_bernoulli_exp(high, low, first, key, work, blocks)


@inlined
def finish(cell, fine, first, table, key, work, blocks):
    """The exact draw of a lane that its first words left open: a cell, fine bits, and 64 bits to keep them or not."""
    m, quadratic = table.law[0], table.law[5] != _U(0)
    if cell == AMBIGUOUS:
        cell = draw_residue(table, key, work, blocks)
    wrapped = np.int64(0)
    while True:
        cell, further = leave_tail(cell, table, key, work, blocks)
        wrapped += further
        upward = cell >= 0
        magnitude = _U(cell if upward else ~cell)
        high, low = _U(0), fine
        if quadratic:
            factor = (((magnitude << m) + _U(0 if upward else 1)) << _U(1)) + fine
            high, low = multiply_high(fine, factor), fine * factor
        if fine == _U(0) or keep(high, low, table.law, first, key, work, blocks):
            value = ((np.int64(magnitude) + wrapped) << np.int64(m)) + np.int64(fine)
            return value if upward else ~value
        if quadratic:
            cell = draw_cell(table, key, work, blocks)
        # A Laplace cell stays: its fine bits are independent of it.
        fine = next_word(key, work, blocks) >> (_U(64) - m)
        first = next_word(key, work, blocks)


@private_lanes
def _finish(lane, key, work, blocks, table, out):
    """The exact draw of a flagged lane; its coin is the first bits of 64."""
    m = table.law[0]
    coin_bits = _U(16) - m if m <= _U(SHORT_FINE_BITS) else _U(16)
    place, cell, fine, coin = lane[0], lane[1], _U(lane[2]), _U(lane[3])
    first = (coin << _U(48)) | (next_word(key, work, blocks) >> coin_bits)
    out[place] = finish(cell, fine, first, table, key, work, blocks)


@inlined
def _flag_narrow(halves, cells, index_shift, flags, out):
    """Cells without fine bits: write the draws, flag the ambiguous."""
    for lane in range(halves.size):
        cell = cells[halves[lane] >> index_shift]
        out[lane] = cell
        flags[lane] = cell == AMBIGUOUS


@inlined
def look_up(halves, cells, index_shift, found):
    """Write the table's entry for each half word."""
    for lane in range(halves.size):
        found[lane] = cells[halves[lane] >> index_shift]


@inlined
def _split_words(words, coins):
    """Fine bits and coin from one word: the upper half is left for up to 16 fine bits, the lower is the coin."""
    for lane in range(words.size):
        coins[lane] = np.uint16(words[lane])


@inlined
def _split_coins(coins, m, words):
    """Fine bits and coin from one half word: its upper m bits, and the others, moved up and followed by zeros."""
    for lane in range(coins.size):
        half = coins[lane]
        words[lane] = np.uint32(half) << np.uint32(16)
        coins[lane] = np.uint16(half << m)


@inlined
def _flag_wide(found, coins, words, law, flags, out):
    """Cells with fine bits: write the draws, flag the ambiguous and those whose coin does not settle them."""
    m = np.int64(law[0])
    fine_shift = np.uint32(32 - m)
    base, slope = np.uint32(law[1]), np.uint32(law[2])
    half, one = np.uint32(16), np.uint32(1)
    for lane in range(found.size):
        cell = np.int32(found[lane])
        word = words[lane]
        complement = cell >> np.int32(31)
        magnitude = np.uint32(cell ^ complement)
        slack = np.uint32(base + np.uint32(np.uint32(slope * magnitude) >> half))
        fine = np.uint32(word ^ np.uint32(complement)) >> half
        bound = np.uint32(np.uint32(slack * np.uint32(fine + one)) >> half)
        flags[lane] = (np.uint32(coins[lane]) <= bound) | (cell == AMBIGUOUS)
        out[lane] = (np.int64(cell) << m) + np.int64(word >> fine_shift)


@kernel
def fill_cell_noise(key, start, table, scratch, out):
    """Write one draw of the table's law per slot start, start + 1, ...

    Pre:  ``table`` as built by ``fastdp.laws.cell_tables``.
    Post: out[i] follows the law within 2**-100 in statistical distance, and the ratios of its probabilities are those
          that the table's integer weights state.
    Bits: out[i] reads the planes at slot start + i, and the private stream of that slot.
    """
    m = table.law[0]
    index_shift = np.uint16(table.law[7])
    waiting = done = 0
    while done < out.size:
        slot, tile, lane, count = locate(start, done, out.size)
        target = out[done : done + count]
        fill_tile(key, HALVES, tile, scratch, scratch.halves_raw)
        halves = scratch.halves[lane : lane + count]
        coins, words = scratch.coins[lane : lane + count], scratch.words[lane : lane + count]
        if m == _U(0):
            _flag_narrow(halves, table.cells, index_shift, scratch.flags, target)
        else:
            if m > _U(16) or m <= _U(SHORT_FINE_BITS):
                fill_tile(key, COINS, tile, scratch, scratch.coins_raw)
            if m > _U(SHORT_FINE_BITS):
                fill_tile(key, WORDS, tile, scratch, scratch.words)
            if m <= _U(SHORT_FINE_BITS):
                _split_coins(scratch.coins, np.uint16(m), scratch.words)
            elif m <= _U(16):
                _split_words(scratch.words, scratch.coins)
            look_up(halves, table.cells, index_shift, scratch.found)
            _flag_wide(scratch.found[:count], coins, words, table.law, scratch.flags, target)
        for i in range(find_flagged(scratch, count)):
            place = scratch.places[i]
            cell = np.int64(table.cells[halves[place] >> index_shift])
            fine = np.int64(0)
            if m > _U(0):
                word = words[place] if cell >= 0 else ~words[place]
                fine = np.int64(np.uint32(word) >> (np.uint32(32) - np.uint32(m)))
            enqueue(waiting, slot + _U(place), done + place, scratch, cell, fine, np.int64(coins[place]))
            waiting = _finish(waiting + 1, FULL, key, scratch, table, out)
        done += count
    _finish(waiting, 1, key, scratch, table, out)
