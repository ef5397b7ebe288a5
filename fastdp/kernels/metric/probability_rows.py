"""Draw an outcome from one of several tables of probabilities: the rows of a channel, or the offsets of a noise.

A row's outcomes share the numbers below 2**128 in consecutive intervals. A guide maps the first bits of a draw
to the interval it lies in, or to the one where the search begins. Draws whose 16 bits lie in one interval, whatever
bits follow, have their outcome; the few others go on to 128 bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.stream.lanes import FULL, enqueue, private_lanes
from fastdp.kernels.stream.words import HALVES, draw_below, fill_tile, find_flagged, locate, next_word

_U = np.uint64


class Rows(NamedTuple):
    """Tables of probabilities in integers, as the kernel reads them."""

    guide: np.ndarray  # int32[rows, 2**bits]: the outcome of all draws with these first bits; else ~ of their first one
    high: np.ndarray  # uint64[rows, outcomes]: upper half of where each outcome's interval ends
    low: np.ndarray  # uint64[rows, outcomes]: lower half; the last outcome takes all that is left
    uniform: np.uint64  # if not 0, the last outcome stands for so many equally likely ones


@inlined
def _scan(high, guess, half):
    """The outcome of all draws that begin with these 16 bits, at ``guess`` or beyond; -1 if they have several."""
    while (high[guess] >> _U(48)) < half:
        guess += 1
    return guess if (high[guess] >> _U(48)) > half else -1


@inlined
def _find(high, low, first, second):
    """The first outcome whose interval ends above the number with these two words."""
    below, most = 0, high.size - 1
    while below < most:
        middle = (below + most) >> 1
        if first < high[middle] or (first == high[middle] and second < low[middle]):
            most = middle
        else:
            below = middle + 1
    return below


@private_lanes
def _finish(lane, key, work, blocks, rows, out):
    """The outcome of a flagged lane by 128 bits."""
    last = rows.high.shape[1] - 1
    place, row, half = lane[0], lane[1], _U(lane[2])
    first = (half << _U(48)) | (next_word(key, work, blocks) >> _U(16))
    outcome = _find(rows.high[row], rows.low[row], first, next_word(key, work, blocks))
    if outcome == last and rows.uniform != _U(0):
        outcome += np.int64(draw_below(rows.uniform, key, work, blocks))
    out[place] = outcome


@kernel
def fill_rows(key, start, codes, rows, scratch, out):
    """Write an outcome of row codes[i] to out[i], at slots start, start + 1, ...

    Pre:  out is int64 of the size of codes, which are int64.
    Post: out[i] has the probabilities of its row, exactly; the result is 1 if any code is no row, and outputs are then
          meaningless.
    Bits: out[i] reads the half-word plane at slot start + i, and the private stream of that slot. Which lanes are
          finished late depends on the random bits and the code.
    """
    shift = np.uint16(0)
    while (rows.guide.shape[1] << np.int64(shift)) < 65536:
        shift += np.uint16(1)
    last = rows.high.shape[1] - 1
    bad = 0
    waiting = done = 0
    while done < out.size:
        slot, tile, lane, count = locate(start, done, out.size)
        fill_tile(key, HALVES, tile, scratch, scratch.halves_raw)
        halves = scratch.halves[lane : lane + count]
        source, target = codes[done : done + count], out[done : done + count]
        for place in range(count):
            code = source[place]
            if code < 0 or code >= rows.guide.shape[0]:
                bad, code = 1, 0
            outcome = rows.guide[code, halves[place] >> shift]
            target[place] = outcome
            scratch.flags[place] = outcome < 0
        for i in range(find_flagged(scratch, count)):
            place = scratch.places[i]
            row = source[place] if bad == 0 else 0
            outcome = _scan(rows.high[row], ~target[place], _U(halves[place])) if bad == 0 else 0
            if outcome >= 0 and (outcome < last or rows.uniform == _U(0)):
                target[place] = outcome
                continue
            enqueue(waiting, slot + _U(place), done + place, scratch, row, np.int64(halves[place]))
            waiting = _finish(waiting + 1, FULL, key, scratch, rows, out)
        done += count
    _finish(waiting, 1, key, scratch, rows, out)
    return bad


@kernel
def add_offsets(codes, offsets, down, across, rows, columns, out):
    """Write the cells that are ``offsets[i]`` away from codes[i], row and column each clamped; 1 if a code is bad.

    Pre:  offset z < down.size moves by down[z] rows and across[z] columns; others name the cell z - down.size itself.
    """
    bad = 0
    for i in range(codes.size):
        code, offset = codes[i], offsets[i]
        if code < 0 or code >= rows * columns:
            bad, code = 1, 0
        if offset >= down.size:
            out[i] = offset - down.size
        else:
            row = code // columns
            s = min(max(row + down[offset], 0), rows - 1)
            t = min(max(code - row * columns + across[offset], 0), columns - 1)
            out[i] = s * columns + t
    return bad
