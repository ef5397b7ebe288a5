"""Frequent strings: a keyed hash of a prefix of each string, randomized by k-ary randomized response; and counts.

A string is a few 64-bit words, its first byte the highest, with zeros behind its end. The seed of a report says which
prefix it is about and which hash function it is: x = (a v + b) mod 2**64, cut to 16 bits and to g parts, for a and b
mixed from the seed and v, 48 bits mixed from the prefix.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.local.krr import KEEP, UNDECIDED, draw_entries, finish_entry
from fastdp.kernels.local.permanent import _load, _word
from fastdp.kernels.splitmix import mix
from fastdp.kernels.stream.keystream import GROUP_BLOCKS, fill_group
from fastdp.kernels.stream.lanes import FULL, enqueue, private_lanes
from fastdp.kernels.stream.words import EIGHTHS, HALVES, fill_tile, find_flagged, locate

LOWER = np.uint32(103)
"""Plane of 32-bit words: the lower halves of seeds."""
UPPER = np.uint32(104)
"""The upper halves."""
SEEDS = np.uint32(1 << 19)
"""The plane of permanent seeds."""
BAD_VALUE = 1
_LEVEL, _SLOPE, _OFFSET = (
    np.uint64(0x632BE59BD9B4E019), np.uint64(0xA0761D6478BD642F), np.uint64(0xE7037ED1A0B428DB)
)  # fmt: skip
_U = np.uint64


@inlined
def _find_level(seed, ends):
    """The level of a seed: ``ends`` are the running shares of levels, out of 2**32."""
    word = mix(seed ^ _LEVEL) >> _U(32)
    level = 0
    while level < ends.size - 1 and word >= ends[level]:
        level += 1
    return level


@inlined
def _fold(words, row, bits):
    """48 bits mixed from the first bits of a string."""
    found = _U(bits)
    for w in range(words.shape[1]):
        left = bits - 64 * w
        if left <= 0:
            break
        word = words[row, w]
        if left < 64:
            word = (word >> _U(64 - left)) << _U(64 - left)
        found = mix(found ^ word) + _U(w + 1)
    return mix(found) >> _U(16)


@inlined
def _hash(seed, folded, g):
    """The hash of a folded prefix by the function of a seed."""
    number = mix(seed ^ _SLOPE) * folded + mix(seed ^ _OFFSET)
    return ((number >> _U(48)) * g) >> _U(16)


@kernel
def pack_texts(offsets, data, words):
    """Write each text as words, cut or filled with zeros: the first byte is the highest of the first word."""
    width = words.shape[1]
    for row in range(words.shape[0]):
        start, stop = np.int64(offsets[row]), np.int64(offsets[row + 1])
        for w in range(width):
            word = _U(0)
            first = start + 8 * w
            for b in range(min(max(stop - first, 0), 8)):
                word |= _U(data[first + b]) << _U(56 - 8 * b)
            words[row, w] = word


@kernel
def fill_folds(words, bits, out):
    """Write the folded prefix of so many bits of each string."""
    for row in range(out.size):
        out[row] = _fold(words, row, bits)


@kernel
def fill_levels(seeds, ends, out):
    """Write the level of each seed."""
    for i in range(out.size):
        out[i] = np.uint8(_find_level(seeds[i], ends))


@kernel
def fill_string_hashes(words, seeds, ends, prefix_bits, g, out):
    """Write the hash of each string's prefix, of its seed's level, by its seed."""
    for i in range(out.size):
        bits = prefix_bits[_find_level(seeds[i], ends)]
        out[i] = np.uint16(_hash(seeds[i], _fold(words, i, bits), _U(g)))


@private_lanes
def _finish(lane, key, work, blocks, bits, high, low, edge, slope, shift, hashes, out):
    """The report of a flagged lane: the hash, or another."""
    place, draw = lane[0], _U(lane[1])
    entry = finish_entry(draw, bits, high, low, edge, slope, shift, key, work, blocks)
    out[place] = hashes[place] if entry == KEEP else entry


@inlined
def _draw_at(place, lane, bits, scratch):
    """The draw of one lane of the tile."""
    draw = np.int64(scratch.halves[lane + place])
    return (draw << 8) | np.int64(scratch.bytes[lane + place]) if bits > _U(16) else draw


@kernel
def fill_strings(
    key, start, bits, high, low, slope, shift, margin, g, words, ends, prefix_bits, scratch, upper, hashes, seeds, out
):  # fmt: skip
    """Write one seed and one randomized hash per string, at slots start, start + 1, ...

    Pre:  bounds as built by ``fastdp.laws.local.krr`` for g values; upper is uint32[1024] of scratch and hashes
          uint16[strings].
    Post: seeds[i] is uniform, and out[i] is the hash of the prefix of string i by it, randomized as in fill_krr.
    Bits: the planes of seeds and what fill_krr reads at slot start + i.
    """
    edge = high[0] >> (_U(64) - bits)
    waiting = done = 0
    while done < out.size:
        slot, tile, lane, count = locate(start, done, out.size)
        fill_tile(key, LOWER, tile, scratch, scratch.words)
        fill_tile(key, UPPER, tile, scratch, upper)
        for i in range(count):
            seeds[done + i] = _U(scratch.words[lane + i]) | (_U(upper[lane + i]) << _U(32))
        fill_tile(key, HALVES, tile, scratch, scratch.halves_raw)
        if bits > _U(16):
            fill_tile(key, EIGHTHS, tile, scratch, scratch.coins_raw[:256])
        halves, eighths = scratch.halves[lane : lane + count], scratch.bytes[lane : lane + count]
        draw_entries(halves, eighths, bits, edge, slope, shift, margin, scratch.found[:count])
        for i in range(count):
            at = done + i
            seed = seeds[at]
            hashed = np.uint16(_hash(seed, _fold(words, at, prefix_bits[_find_level(seed, ends)]), _U(g)))
            hashes[at] = hashed
            entry = scratch.found[i]
            out[at] = hashed if entry == KEEP else np.uint16(entry)
            scratch.flags[i] = entry == UNDECIDED
        for i in range(find_flagged(scratch, count)):
            place = scratch.places[i]
            enqueue(waiting, slot + _U(place), done + place, scratch, _draw_at(place, lane, bits, scratch))
            waiting = _finish(
                waiting + 1, FULL, key, scratch, bits, high, low, edge, slope, shift, hashes, out
            )  # fmt: skip
        done += count
    _finish(waiting, 1, key, scratch, bits, high, low, edge, slope, shift, hashes, out)


@kernel
def fill_permanent_seeds(key, persons, scratch, out):
    """Write each person's permanent seed, a function of the key and the person."""
    for first in range(0, persons.size, GROUP_BLOCKS):
        count = _load(first, persons, persons, scratch)
        fill_group(key, scratch.counters, SEEDS, np.uint32(0), scratch.blocks, 0)
        for lane in range(count):
            out[first + lane] = _word(scratch.blocks, lane, 0)


@inlined
def _open(seed, value, starts, widths):
    """Slope and first number of a report's line, from the start of its bucket; a bad bucket has no width."""
    bucket, bad = np.int64(value), np.uint8(0)
    if bucket >= starts.size:
        bucket, bad = 0, np.uint8(BAD_VALUE)
    first = mix(seed ^ _OFFSET) - starts[bucket]
    return mix(seed ^ _SLOPE), first, _U(0) if bad else widths[bucket], bad


@kernel
def count_candidates(seeds, values, starts, widths, folded, counts):
    """Add to ``counts`` (int64) how many reports support each candidate; BAD_VALUE if any hash is not below g.

    Pre:  bucket y of the hashes is the numbers from starts[y] to starts[y] + widths[y], modulo 2**64.

    Four reports at a time, so that candidates are read and counts written once for all of them.
    """
    bad = np.uint8(0)
    whole = seeds.size - seeds.size % 4
    for i in range(0, whole, 4):
        slope0, first0, width0, bad0 = _open(seeds[i], values[i], starts, widths)
        slope1, first1, width1, bad1 = _open(seeds[i + 1], values[i + 1], starts, widths)
        slope2, first2, width2, bad2 = _open(seeds[i + 2], values[i + 2], starts, widths)
        slope3, first3, width3, bad3 = _open(seeds[i + 3], values[i + 3], starts, widths)
        bad |= (bad0 | bad1) | (bad2 | bad3)
        for c in range(counts.size):
            number = folded[c]
            even = np.int64(slope0 * number + first0 < width0) + np.int64(slope1 * number + first1 < width1)
            odd = np.int64(slope2 * number + first2 < width2) + np.int64(slope3 * number + first3 < width3)
            counts[c] += even + odd
    for i in range(whole, seeds.size):
        slope, first, width, is_bad = _open(seeds[i], values[i], starts, widths)
        bad |= is_bad
        for c in range(counts.size):
            counts[c] += np.int64(slope * folded[c] + first < width)
    return bad
