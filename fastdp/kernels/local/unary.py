"""Unary encodings: a packed set of bits per record, each bit a coin of its own; and the counting of such sets."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.stream.bits import BIT_PLANES, BYTE_PLANES, TILE_WORDS, fill_bit_tile
from fastdp.kernels.stream.words import locate

OUT_OF_DOMAIN = 1
_TILE_BYTES = 8 * TILE_WORDS
_TILE_LANES = 64 * TILE_WORDS
_NEAR = 1 << 14
"""Bytes of reports whose truths are set while they are still in the first-level cache."""
_U = np.uint64


@inlined
def _flip_bytes(key, start, high, low, kept, scratch, out):
    """Flip all bits of ``out`` by coins, at byte slots start, start + 1, ..., and first clear those not in ``kept``."""
    done = 0
    while done < out.size:
        _, tile, first, count = locate(start, done, out.size, _TILE_BYTES)
        fill_bit_tile(key, BYTE_PLANES, tile, high, low, scratch, scratch.tile)
        source, target = scratch.tile_bytes[first : first + count], out[done : done + count]
        for i in range(count):
            target[i] = (target[i] & kept) ^ source[i]
        done += count


@kernel
def fill_unary(key, start, q_high, q_low, p_high, p_low, codes, k, scratch, out):
    """Write one set of k bits per code: bit codes[i] is a coin of p, all others are coins of q.

    Pre:  out holds (k + 7) // 8 bytes per code; p and q as in fill_bit_tile.
    Post: bits beyond k are 0; the result is OUT_OF_DOMAIN if any code is not in [0, k), and outputs are then
          meaningless.
    Bits: byte slots start, start + 1, ..., one per byte of a report; and of each report the bit slot with the number of
          its first byte slot, for the coin of p.
    """
    width = (k + 7) // 8
    unused = np.uint8(0xFF >> (8 * width - k))
    near = max(1, _NEAR // width)
    truth_tile = ~_U(0)
    bad = np.uint8(0)
    done = 0
    while done < codes.size:
        count = min(near, codes.size - done)
        first = start + _U(done * width)
        reports = out[done * width : (done + count) * width]
        _flip_bytes(key, first, q_high, q_low, np.uint8(0), scratch, reports)
        for i in range(count):
            code = _U(np.int64(codes[done + i]))
            if code >= _U(k):
                bad = np.uint8(OUT_OF_DOMAIN)
                continue
            slot = first + _U(i * width)
            if slot // _U(_TILE_LANES) != truth_tile:
                truth_tile = slot // _U(_TILE_LANES)
                fill_bit_tile(key, BIT_PLANES, truth_tile, p_high, p_low, scratch, scratch.truth)
            lane = slot % _U(_TILE_LANES)
            truth = (scratch.truth[np.int64(lane >> _U(6))] >> (lane & _U(63))) & _U(1)
            reports[i * width + width - 1] &= unused
            place, shift = i * width + np.int64(code >> _U(3)), code & _U(7)
            reports[place] = np.uint8((_U(reports[place]) & ~(_U(1) << shift)) | (truth << shift))
        done += count
    return bad


@kernel
def flip_sets(key, start, high, low, k, scratch, sets):
    """Flip each bit of the packed sets of k bits with probability (high * 2**64 + low) / 2**128, in place.

    Post: bits beyond k are 0. Bits: byte slots start, start + 1, ..., one per byte.
    """
    width = (k + 7) // 8
    unused = np.uint8(0xFF >> (8 * width - k))
    _flip_bytes(key, start, high, low, np.uint8(0xFF), scratch, sets)
    for last in range(width - 1, sets.size, width):
        sets[last] &= unused


@kernel
def count_bits(reports, width, columns, lanes, counts):
    """Add to ``counts`` how often each bit is set; the result is the number of padding bits that are.

    Pre:  reports holds ``width`` bytes per report; lanes is uint8[8, width * columns] of scratch, counts int64[k].

    Bytes of ``columns`` reports are counted side by side in single-byte counters, one row per bit of a byte, and moved
    to the counts before they overflow.
    """
    row = width * columns
    k = counts.size
    padding = 0
    done = 0
    while done < reports.size:
        rows = min(255, (reports.size - done + row - 1) // row)
        for bit in range(8):
            lane = lanes[bit]
            for i in range(row):
                lane[i] = 0
        for _ in range(rows):
            part = reports[done : min(done + row, reports.size)]
            for bit in range(8):
                lane = lanes[bit, : part.size]
                for i in range(part.size):
                    lane[i] += (part[i] >> np.uint8(bit)) & np.uint8(1)
            done += part.size
        for bit in range(8):
            for i in range(row):
                value = (i % width) * 8 + bit
                if value < k:
                    counts[value] += np.int64(lanes[bit, i])
                else:
                    padding += np.int64(lanes[bit, i])
    return padding
