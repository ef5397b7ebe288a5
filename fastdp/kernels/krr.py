"""k-ary randomized response: one draw decides whether the truth is kept, and which value is reported instead.

Small domains look 16 bits up in a table of bytes that says "keep" or names the report; larger ones invert 24 bits by
arithmetic (1.0 against 1.3 ns per record with a table of two-byte entries, k = 1,000). Draws that further bits would
have to decide are flagged and finish from private streams. The largest domains take a draw for each question.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.cells import draw_residue, look_up
from fastdp.kernels.chacha import GROUP_BLOCKS, fill_plane
from fastdp.kernels.digits import UNDECIDED
from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.words import (
    EIGHTHS,
    HALVES,
    TILE,
    WORDS,
    draw_below,
    find_flagged,
    locate,
    next_word,
    open_privates,
    select_private,
)

KEEP = -1
OUT_OF_DOMAIN = 1

_U = np.uint64


@inlined
def _select(found, codes, k, flags, out):
    """Write the kept codes and the named reports, flag the undecided lanes; whether any code is out of the domain."""
    bad = np.uint8(0)
    for lane in range(out.size):
        entry = found[lane]
        code = codes[lane]
        bad |= np.uint8(_U(np.int64(code)) >= k)
        flags[lane] = entry == UNDECIDED
        out[lane] = code if entry == KEEP else entry
    return bad


@kernel
def _finish_pending(count, table, key, scratch, codes, out):
    """Finish up to sixteen flagged lanes; their slots wait in ``scratch.work[32:48]``."""
    work, blocks, pending = scratch.work, scratch.blocks, scratch.pending
    open_privates(key, work, blocks)
    for i in range(count):
        select_private(work[32 + i], i, work)
        entry = draw_residue(table, key, work, blocks)
        place = pending[i, 0]
        if entry == KEEP:
            out[place] = codes[place]
        else:
            out[place] = entry


@kernel
def fill_krr(key, start, table, entries, k, codes, scratch, out):
    """Write one k-RR report per code, at slots start, start + 1, ...

    Pre:  table and entries as built by ``fastdp.noise.krr``; out holds codes below k.
    Post: out[i] is codes[i] with the table's probability of KEEP, else a report with its probability, the same for all
          codes; the result is OUT_OF_DOMAIN if any code is not in [0, k), and outputs are then of no meaning.
    Bits: out[i] reads the half-word plane at slot start + i, and the private stream of that slot. Which lanes are
          finished late depends on the random bits alone.
    """
    counters = scratch.work[16:32]
    bad = np.uint8(0)
    waiting = 0
    done = 0
    while done < out.size:
        slot, tile, lane, count = locate(start, done, out.size)
        fill_plane(key, HALVES, tile * _U(TILE // 512), counters, scratch.halves_raw)
        look_up(scratch.halves[lane : lane + count], entries, np.uint16(0), scratch.found)
        target, source = out[done : done + count], codes[done : done + count]
        bad |= _select(scratch.found, source, k, scratch.flags, target)
        for i in range(find_flagged(scratch, count)):
            place = scratch.places[i]
            scratch.pending[waiting, 0] = done + place
            scratch.work[32 + waiting] = slot + _U(place)
            waiting += 1
            if waiting == GROUP_BLOCKS:
                _finish_pending(waiting, table, key, scratch, codes, out)
                waiting = 0
        done += count
    if waiting > 0:
        _finish_pending(waiting, table, key, scratch, codes, out)
    return bad


@inlined
def _invert(halves, eighths, codes, k, edge, slope, shift, margin, flags, out):
    """Write the kept codes and the reports that 24-bit words stand for, flag words near an edge; whether a code is bad.

    Values share the words from ``edge`` on evenly, so that a report is the whole part of a product. The product is
    never too large; a word whose product is so close below a whole number that further bits could reach it is flagged.
    """
    bad = np.uint8(0)
    after = edge + np.uint32(1)
    close = (_U(1) << shift) - margin
    below = (_U(1) << shift) - _U(1)
    for lane in range(out.size):
        word = (np.uint32(halves[lane]) << np.uint32(8)) | np.uint32(eighths[lane])
        code = codes[lane]
        bad |= np.uint8(_U(np.int64(code)) >= k)
        product = _U(np.uint32(word - after)) * slope
        kept = word < edge
        flags[lane] = (word == edge) | ((not kept) & ((product & below) >= close))
        out[lane] = np.int64(code) if kept else np.int64(product >> shift)
    return bad


@kernel
def _finish_wide(count, bounds_high, bounds_low, edge, slope, shift, key, scratch, codes, out):
    """Finish up to sixteen flagged lanes: 104 further bits of their uniform number, against the exact bounds."""
    work, blocks, pending = scratch.work, scratch.blocks, scratch.pending
    open_privates(key, work, blocks)
    most = bounds_high.size - 2
    for i in range(count):
        select_private(work[32 + i], i, work)
        place, word = pending[i, 0], _U(pending[i, 1])
        high = (word << _U(40)) | (next_word(key, work, blocks) >> _U(24))
        low = next_word(key, work, blocks)
        if high < bounds_high[0] or (high == bounds_high[0] and low < bounds_low[0]):
            out[place] = codes[place]
            continue
        report = min(np.int64(((word - edge - _U(1)) * slope) >> shift), most) if word > edge else np.int64(0)
        while report < most and (
            high > bounds_high[report + 1] or (high == bounds_high[report + 1] and low >= bounds_low[report + 1])
        ):
            report += 1
        while high < bounds_high[report] or (high == bounds_high[report] and low < bounds_low[report]):
            report -= 1
        out[place] = report


@kernel
def fill_krr_wide(key, start, bounds_high, bounds_low, slope, shift, margin, codes, scratch, out):
    """As fill_krr for domains whose table would be large: one 24-bit draw, inverted by arithmetic.

    Pre:  k + 1 bounds out of 2**128, slope, shift and margin as built by ``fastdp.noise.krr``.
    Post: out[i] is codes[i] with probability bounds[0] / 2**128, else report x with (bounds[x+1] - bounds[x]) / 2**128.
    Bits: out[i] reads the half-word and the byte plane at slot start + i, and the private stream of that slot.
    """
    counters = scratch.work[16:32]
    k = _U(bounds_high.size - 1)
    edge = np.uint32(bounds_high[0] >> _U(40))
    bad = np.uint8(0)
    waiting = 0
    done = 0
    while done < out.size:
        slot, tile, lane, count = locate(start, done, out.size)
        fill_plane(key, HALVES, tile * _U(TILE // 512), counters, scratch.halves_raw)
        fill_plane(key, EIGHTHS, tile * _U(TILE // 1024), counters, scratch.coins_raw[:256])
        halves, eighths = scratch.halves[lane : lane + count], scratch.bytes[lane : lane + count]
        source, target = codes[done : done + count], out[done : done + count]
        bad |= _invert(halves, eighths, source, k, edge, slope, shift, margin, scratch.flags, target)
        for i in range(find_flagged(scratch, count)):
            place = scratch.places[i]
            scratch.pending[waiting, 0] = done + place
            scratch.pending[waiting, 1] = (np.int64(halves[place]) << 8) | np.int64(eighths[place])
            scratch.work[32 + waiting] = slot + _U(place)
            waiting += 1
            if waiting == GROUP_BLOCKS:
                _finish_wide(waiting, bounds_high, bounds_low, _U(edge), slope, shift, key, scratch, codes, out)
                waiting = 0
        done += count
    if waiting > 0:
        _finish_wide(waiting, bounds_high, bounds_low, _U(edge), slope, shift, key, scratch, codes, out)
    return bad


@kernel
def _finish_large(count, keep_high, keep_low, k, key, scratch, codes, out):
    work, blocks, pending = scratch.work, scratch.blocks, scratch.pending
    open_privates(key, work, blocks)
    for i in range(count):
        select_private(work[32 + i], i, work)
        place = pending[i, 0]
        first = (_U(pending[i, 1]) << _U(48)) | (next_word(key, work, blocks) >> _U(16))
        kept = first < keep_high or (first == keep_high and next_word(key, work, blocks) < keep_low)
        if kept:
            out[place] = codes[place]
        else:
            out[place] = np.int64(draw_below(k, key, work, blocks))


@kernel
def fill_krr_large(key, start, keep_high, keep_low, k, codes, scratch, out):
    """As fill_krr for a domain of any size: the truth with probability keep / 2**128, else a uniform value.

    Pre:  1 <= k < 2**32; keep = keep_high * 2**64 + keep_low.
    Bits: also the word plane at slot start + i. Words that would make k-ths of 2**32 uneven are drawn anew.
    """
    counters = scratch.work[16:32]
    edge = keep_high >> _U(48)
    size = np.uint64(k)
    uneven = _U(1 << 32) % size
    bad = np.uint8(0)
    waiting = 0
    done = 0
    while done < out.size:
        slot, tile, lane, count = locate(start, done, out.size)
        fill_plane(key, HALVES, tile * _U(TILE // 512), counters, scratch.halves_raw)
        fill_plane(key, WORDS, tile * _U(TILE // 256), counters, scratch.words)
        for place in range(count):
            code = codes[done + place]
            half = _U(scratch.halves[lane + place])
            product = _U(scratch.words[lane + place]) * size
            bad |= np.uint8(_U(np.int64(code)) >= size)
            report = np.int64(product >> _U(32))
            if half < edge:
                report = np.int64(code)
            out[done + place] = report
            if half == edge or (half > edge and (product & _U(0xFFFFFFFF)) < uneven):
                scratch.pending[waiting, 0] = done + place
                scratch.pending[waiting, 1] = np.int64(half)
                scratch.work[32 + waiting] = slot + _U(place)
                waiting += 1
                if waiting == GROUP_BLOCKS:
                    _finish_large(waiting, keep_high, keep_low, size, key, scratch, codes, out)
                    waiting = 0
        done += count
    if waiting > 0:
        _finish_large(waiting, keep_high, keep_low, size, key, scratch, codes, out)
    return bad
