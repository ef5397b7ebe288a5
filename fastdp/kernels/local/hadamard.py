"""Hadamard response: a uniform index, moved to the wanted half of the true value's row; and the counting of indices.

Row r of the Sylvester matrix has sign (-1)**parity(y & r) at index y. A uniform y lies in either half with probability
1/2; flipping the lowest bit of r in y changes the half and leaves y uniform within it.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.stream.lanes import FULL, enqueue, private_lanes
from fastdp.kernels.stream.words import HALVES, fill_tile, find_flagged, locate, next_word

OUT_OF_DOMAIN = 1

_U = np.uint64


@inlined
def _respond(halves, draws, codes, k, edge, mask, flags, out):
    """Write indices whose sign is that of the coin, flag undecided coins; whether any code is out of the domain."""
    word = draws.dtype.type
    bad = np.uint8(0)
    for lane in range(out.size):
        code = codes[lane]
        half = halves[lane]
        bad |= np.uint8(_U(np.int64(code)) >= k)
        row = word(np.int64(code) + 1)
        index = word(draws[lane] & mask)
        odd = word(index & row)
        odd = word(odd ^ (odd >> 16))
        odd = word(odd ^ (odd >> 8))
        odd = word(odd ^ (odd >> 4))
        odd = word(odd ^ (odd >> 2))
        odd = word(odd ^ (odd >> 1))
        flip = word((odd & 1) ^ (half >= edge))
        lowest = word(row & (~row + 1))
        out[lane] = word(index ^ (lowest & (~flip + 1)))
        flags[lane] = half == edge
    return bad


@private_lanes
def _finish(lane, key, work, blocks, high, low, codes, out):
    """Toss the coin of a flagged lane, whose index was written as if it were tails."""
    place = lane[0]
    first = ((high >> _U(48)) << _U(48)) | (next_word(key, work, blocks) >> _U(16))
    heads = first < high or (first == high and next_word(key, work, blocks) < low)
    if heads:
        row = np.int64(codes[place]) + 1
        out[place] ^= row & -row


@kernel
def fill_hadamard(key, start, high, low, k, mask, plane, draws_raw, draws, codes, scratch, out):
    """Write one index per code, at slots start, start + 1, ...

    Pre:  threshold = high * 2**64 + low of a coin; mask = K - 1 for a power of two K > k; draws has the type of out and
          holds the words of ``plane`` for a tile, draws_raw is the same memory as uint32.
    Post: out[i] is uniform on the indices below K at which row codes[i] + 1 of the Hadamard matrix is 1, with
          probability threshold / 2**128, else on those at which it is -1; the result is OUT_OF_DOMAIN if any code is
          not in [0, k), and outputs are then meaningless.
    Bits: out[i] reads the half-word plane and ``plane`` at slot start + i, and the private stream of that slot where
          the half word equals the threshold's.
    """
    edge = np.uint16(high >> _U(48))
    bad = np.uint8(0)
    waiting = done = 0
    while done < out.size:
        slot, tile, lane, count = locate(start, done, out.size)
        fill_tile(key, HALVES, tile, scratch, scratch.halves_raw)
        fill_tile(key, plane, tile, scratch, draws_raw)
        halves, words = scratch.halves[lane : lane + count], draws[lane : lane + count]
        bad |= _respond(
            halves, words, codes[done : done + count], k, edge, mask, scratch.flags, out[done : done + count]
        )
        for i in range(find_flagged(scratch, count)):
            place = scratch.places[i]
            enqueue(waiting, slot + _U(place), done + place, scratch, 0)
            waiting = _finish(waiting + 1, FULL, key, scratch, high, low, codes, out)
        done += count
    _finish(waiting, 1, key, scratch, high, low, codes, out)
    return bad


@kernel
def count_indices(indices, size, counts):
    """Add the number of times each index occurs to ``counts``; OUT_OF_DOMAIN if any is not below ``size``."""
    bad = np.uint8(0)
    for i in range(indices.size):
        index = np.int64(indices[i])
        if index < size:
            counts[index] += 1
        else:
            bad = np.uint8(OUT_OF_DOMAIN)
    return bad
