"""Local hashing: hash a value, randomize the hash by k-ary randomized response; and count what reports support.

Two families of hash functions, both on top of a uniform number x, of which g equal parts are the hashes:
  lines        x = (a v + b) mod 2**32, cut to its upper 16 bits; a and b are the halves of a person's 64-bit seed.
               Two values below 2**17 have independent, uniform x (Dietzfelbinger 1996).
  polynomials  x = (a v**2 + b v + c) mod 2**31 - 1, one for each public cohort; any three values are independent.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.local.krr import KEEP, UNDECIDED, draw_entries, finish_entry
from fastdp.kernels.stream.lanes import FULL, enqueue, private_lanes
from fastdp.kernels.stream.words import EIGHTHS, HALVES, draw_below, fill_tile, find_flagged, locate

FACTORS = np.uint32(100)
"""Plane of 32-bit words: the lower halves of seeds."""
OFFSETS = np.uint32(101)
"""The upper halves."""
COHORTS = np.uint32(102)
"""Plane of 32-bit words that choose cohorts."""
LINE_BITS = 16
PRIME = (1 << 31) - 1

OUT_OF_DOMAIN = 1

_U = np.uint64


@inlined
def _hash_line(factor, offset, code, g):
    """The hash of a value by the line of a seed."""
    mixed = np.uint32(np.uint32(factor * np.uint32(code)) + offset)
    return np.uint32(np.uint32(np.uint32(mixed >> np.uint32(16)) * g) >> np.uint32(16))


@inlined
def _fold(number):
    """The same number modulo the prime, below 2**31 + number / 2**31."""
    return (number & _U(PRIME)) + (number >> _U(31))


@inlined
def _hash_polynomial(square, factor, offset, code, g):
    """The hash of a value below 2**24 by the polynomial of a cohort."""
    slope = _fold(_U(square) * code + _U(factor))
    place = _fold(slope * code + _U(offset))
    place = place - _U(PRIME) if place >= _U(PRIME) else place
    return (place * g) >> _U(31)


@inlined
def _respond(found, factors, offsets, codes, k, g, flags, seeds, out):
    """Write seeds and hashes, kept or drawn, and flag undecided lanes; whether any code is bad."""
    bad = np.uint8(0)
    for lane in range(out.size):
        entry = found[lane]
        code = codes[lane]
        bad |= np.uint8(_U(np.int64(code)) >= k)
        hashed = _hash_line(factors[lane], offsets[lane], code, g)
        seeds[lane] = _U(factors[lane]) | (_U(offsets[lane]) << _U(32))
        out[lane] = np.uint16(hashed) if entry == KEEP else np.uint16(entry)
        flags[lane] = entry == UNDECIDED
    return bad


@inlined
def _draw_tile(key, tile, lane, count, bits, edge, slope, shift, margin, scratch):
    """Write the outcomes of a tile's draws to scratch.found."""
    fill_tile(key, HALVES, tile, scratch, scratch.halves_raw)
    if bits > _U(16):
        fill_tile(key, EIGHTHS, tile, scratch, scratch.coins_raw[:256])
    halves, eighths = scratch.halves[lane : lane + count], scratch.bytes[lane : lane + count]
    draw_entries(halves, eighths, bits, edge, slope, shift, margin, scratch.found[:count])


@inlined
def _draw_at(place, lane, bits, scratch):
    """The draw of one lane of the tile."""
    draw = np.int64(scratch.halves[lane + place])
    return (draw << 8) | np.int64(scratch.bytes[lane + place]) if bits > _U(16) else draw


@private_lanes
def _finish(lane, key, work, blocks, bits, high, low, edge, slope, shift, g, codes, seeds, out):
    """The report of a flagged lane: the hash by its seed, or another."""
    place, draw = lane[0], _U(lane[1])
    entry = finish_entry(draw, bits, high, low, edge, slope, shift, key, work, blocks)
    if entry == KEEP:
        seed = seeds[place]
        out[place] = _hash_line(np.uint32(seed), np.uint32(seed >> _U(32)), codes[place], g)
    else:
        out[place] = entry


@kernel
def fill_hashed(key, start, bits, high, low, slope, shift, margin, k, g, codes, scratch, offsets, seeds, out):
    """Write one seed and one randomized hash per code, at slots start, start + 1, ...

    Pre:  bounds and so on as built by ``fastdp.laws.local.krr`` for g values; offsets is uint32[1024] of scratch.
    Post: seeds[i] is uniform, and out[i] is the hash of codes[i] by it, randomized as in fill_krr; the result is
          OUT_OF_DOMAIN if any code is not in [0, k), and outputs are then meaningless.
    Bits: the planes of seeds and what fill_krr reads at slot start + i.
    """
    bad = np.uint8(0)
    edge = high[0] >> (_U(64) - bits)
    buckets = np.uint32(g)
    waiting = done = 0
    while done < out.size:
        slot, tile, lane, count = locate(start, done, out.size)
        fill_tile(key, FACTORS, tile, scratch, scratch.words)
        fill_tile(key, OFFSETS, tile, scratch, offsets)
        _draw_tile(key, tile, lane, count, bits, edge, slope, shift, margin, scratch)
        bad |= _respond(
            scratch.found,
            scratch.words[lane : lane + count],
            offsets[lane : lane + count],
            codes[done : done + count],
            k,
            buckets,
            scratch.flags,
            seeds[done : done + count],
            out[done : done + count],
        )
        for i in range(find_flagged(scratch, count)):
            place = scratch.places[i]
            enqueue(waiting, slot + _U(place), done + place, scratch, _draw_at(place, lane, bits, scratch))
            waiting = _finish(
                waiting + 1, FULL, key, scratch, bits, high, low, edge, slope, shift, buckets, codes, seeds, out
            )
        done += count
    _finish(waiting, 1, key, scratch, bits, high, low, edge, slope, shift, buckets, codes, seeds, out)
    return bad


@inlined
def _find_polynomials(words, polynomials, chosen):
    """Write the coefficients of each lane's cohort: fetched apart, the rest runs twice as fast."""
    cohorts = _U(polynomials.shape[1])
    for row in range(3):
        source, target = polynomials[row], chosen[row]
        for lane in range(words.size):
            target[lane] = source[np.int64((_U(words[lane]) * cohorts) >> _U(32))]


@inlined
def _respond_in_cohorts(found, words, codes, k, g, cohorts, chosen, uneven, flags, out):
    """Write cohort * g + hash, kept or drawn, and flag what is undecided; whether any code is bad."""
    squares, factors, offsets = chosen[0], chosen[1], chosen[2]
    bad = np.uint8(0)
    for lane in range(out.size):
        entry = found[lane]
        code = _U(np.int64(codes[lane]))
        bad |= np.uint8(code >= k)
        product = _U(words[lane]) * cohorts
        hashed = _hash_polynomial(squares[lane], factors[lane], offsets[lane], code & _U(0xFFFFFF), g)
        value = hashed if entry == KEEP else _U(np.int64(entry))
        out[lane] = np.uint32((product >> _U(32)) * g + value)
        flags[lane] = (entry == UNDECIDED) | (np.uint32(product) < uneven)
    return bad


@private_lanes
def _finish_cohorts(lane, key, work, blocks, bits, high, low, edge, slope, shift, polynomials, g, uneven, codes, out):
    """The report of a flagged lane: an uneven cohort first, then an undecided entry."""
    cohorts = polynomials.shape[1]
    place, word, entry, draw = lane[0], _U(lane[1]), lane[2], _U(lane[3])
    product = word * _U(cohorts)
    cohort = np.int64(product >> _U(32))
    if np.uint32(product) < uneven:
        cohort = np.int64(draw_below(_U(cohorts), key, work, blocks))
    if entry == UNDECIDED:
        entry = finish_entry(draw, bits, high, low, edge, slope, shift, key, work, blocks)
    if entry == KEEP:
        code = _U(np.int64(codes[place])) & _U(0xFFFFFF)
        square, factor, offset = polynomials[0, cohort], polynomials[1, cohort], polynomials[2, cohort]
        entry = np.int64(_hash_polynomial(square, factor, offset, code, g))
    out[place] = np.uint32(cohort * np.int64(g) + entry)


@kernel
def fill_in_cohorts(key, start, bits, high, low, slope, shift, margin, k, g, polynomials, codes, scratch, chosen, out):
    """Write cohort * g + hash per code, at slots start, start + 1, ...

    Pre:  as fill_hashed; polynomials is uint32[3, C], below the prime; C * g <= 2**32 and k <= 2**24;
          chosen is uint32[3, 1024] of scratch.
    Post: the cohort is uniform and the hash of codes[i] by its polynomial is randomized as in fill_krr; the result is
          OUT_OF_DOMAIN if any code is not in [0, k), and outputs are then meaningless.
    Bits: the plane of cohorts and what fill_krr reads at slot start + i.
    """
    edge = high[0] >> (_U(64) - bits)
    cohorts = _U(polynomials.shape[1])
    uneven = np.uint32(_U(1 << 32) % cohorts)
    bad = np.uint8(0)
    waiting = done = 0
    while done < out.size:
        slot, tile, lane, count = locate(start, done, out.size)
        _draw_tile(key, tile, lane, count, bits, edge, slope, shift, margin, scratch)
        fill_tile(key, COHORTS, tile, scratch, scratch.words)
        words, target = scratch.words[lane : lane + count], out[done : done + count]
        source = codes[done : done + count]
        _find_polynomials(words, polynomials, chosen)
        bad |= _respond_in_cohorts(scratch.found, words, source, k, g, cohorts, chosen, uneven, scratch.flags, target)
        for i in range(find_flagged(scratch, count)):
            place = scratch.places[i]
            word, entry, draw = (
                np.int64(words[place]),
                np.int64(scratch.found[place]),
                _draw_at(place, lane, bits, scratch),
            )
            enqueue(waiting, slot + _U(place), done + place, scratch, word, entry, draw)
            waiting = _finish_cohorts(
                waiting + 1, FULL, key, scratch, bits, high, low, edge, slope, shift, polynomials, g, uneven, codes, out
            )
        done += count
    _finish_cohorts(waiting, 1, key, scratch, bits, high, low, edge, slope, shift, polynomials, g, uneven, codes, out)
    return bad


@inlined
def _bucket_line(seed, value, starts, widths):
    """The line of a seed from the start of the bucket reported: its slope, first number, and the bucket's width.

    A bucket that does not exist has no width, and the last result is OUT_OF_DOMAIN.
    """
    bucket, bad = np.int64(value), np.uint8(0)
    if bucket >= starts.size:
        bucket, bad = 0, np.uint8(OUT_OF_DOMAIN)
    first = np.uint32(np.uint32(seed >> _U(32)) - starts[bucket])
    return np.uint32(seed), first, np.uint32(0) if bad else widths[bucket], bad


@inlined
def _count_line(slope, number, width, counts):
    """Add 1 to every value whose number on the line lies within the bucket."""
    for value in range(counts.size):
        counts[value] += np.uint32(number < width)
        number = np.uint32(number + slope)


@kernel
def count_supporters(seeds, values, starts, widths, counts):
    """Add to ``counts`` (uint32) how many reports support each value; OUT_OF_DOMAIN if any hash is not below g.

    Pre:  bucket y of the hashes is the numbers from starts[y] to starts[y] + widths[y], in units of 2**-32; fewer than
          2**32 reports.

    Four reports at a time, so that counts are read and written once for all of them, and numbers by adding the slope,
    which costs less than multiplying by it: together 1.5 times as fast.
    """
    bad = np.uint8(0)
    whole = seeds.size - seeds.size % 4
    for i in range(0, whole, 4):
        slope0, number0, width0, bad0 = _bucket_line(seeds[i], values[i], starts, widths)
        slope1, number1, width1, bad1 = _bucket_line(seeds[i + 1], values[i + 1], starts, widths)
        slope2, number2, width2, bad2 = _bucket_line(seeds[i + 2], values[i + 2], starts, widths)
        slope3, number3, width3, bad3 = _bucket_line(seeds[i + 3], values[i + 3], starts, widths)
        bad |= (bad0 | bad1) | (bad2 | bad3)
        for value in range(counts.size):
            even = np.uint32(np.uint32(number0 < width0) + np.uint32(number2 < width2))
            odd = np.uint32(np.uint32(number1 < width1) + np.uint32(number3 < width3))
            counts[value] += np.uint32(even + odd)
            number0, number1 = np.uint32(number0 + slope0), np.uint32(number1 + slope1)
            number2, number3 = np.uint32(number2 + slope2), np.uint32(number3 + slope3)
    for i in range(whole, seeds.size):
        slope, number, width, is_bad = _bucket_line(seeds[i], values[i], starts, widths)
        bad |= is_bad
        _count_line(slope, number, width, counts)
    return bad


@kernel
def fill_hashes(polynomials, first, g, out):
    """Write the hashes of values first, first + 1, ... by each polynomial, one row for each."""
    for cohort in range(out.shape[0]):
        square, factor, offset = polynomials[0, cohort], polynomials[1, cohort], polynomials[2, cohort]
        row = out[cohort]
        for i in range(row.size):
            row[i] = np.uint16(_hash_polynomial(square, factor, offset, _U(first + i), g))


@kernel
def fold_cohorts(histogram, polynomials, g, counts):
    """Add to ``counts`` how many reports support each value, from the number of times that each report occurs.

    Pre:  histogram is int64[C * g]; C * k steps, whatever the number of reports.
    """
    for cohort in range(polynomials.shape[1]):
        square, factor, offset = polynomials[0, cohort], polynomials[1, cohort], polynomials[2, cohort]
        part = histogram[cohort * np.int64(g) : (cohort + 1) * np.int64(g)]
        for value in range(counts.size):
            counts[value] += part[np.int64(_hash_polynomial(square, factor, offset, _U(value), g))]
