"""Noise in the plane on a grid: offset z with probability proportional to e**(-rate |z|), |z| its length in steps.

Two coordinates are proposed from the cells of a discrete Laplace of rate r = rate / sqrt(2) with uniform fine bits, and
accepted with probability e**-gamma, gamma = r * (sqrt(2) |z| - a - b), where a and b are the lengths at which their
cells begin: since |z_1| + |z_2| <= sqrt(2) |z|, gamma is never negative, and 78 of 100 proposals are accepted. Nothing
here is continuous: no sine, no logarithm, and the accepted offsets have integer weights.

The acceptance is an integer threshold: e**-gamma, computed in float64 by operations that IEEE 754 rounds in one way
only, times 2**64 and rounded down; for gamma above LARGEST_STEP, several of them in a row for equal parts of gamma. So
each offset's weight is known exactly, and ``laws.metric.planar`` bounds its distance from the ideal. Most lanes are
decided by the first 16 bits of their uniform number against a float32 that is within SLACK of the threshold.

A tile is drawn as a whole, in rounds: lanes whose proposal was rejected move together, and the n-th of them reads the
n-th words of a further stream under the round's number. Lanes that are undecided, and those rejected ROUNDS times, go
on with the private streams of their slots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastdp.kernels.cell_tables import TAIL_DOWN, TAIL_UP, look_up
from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.memory import zeros_aligned
from fastdp.kernels.metric.planar_exact import LARGEST_STEP, REJECTED, UNDECIDED, finish_offsets
from fastdp.kernels.stream.keystream import GROUP_WORDS, fill_attempt
from fastdp.kernels.stream.lanes import FULL, enqueue
from fastdp.kernels.stream.words import COINS, HALVES, TILE, WORDS, count_trailing_zeros, fill_tile, locate

ACCEPT = np.uint32(6)
"""Plane of 16-bit words that decide acceptance."""
ROUNDS = 4
"""Proposals that a lane reads from planes: of the lanes, one in three hundred is rejected so often."""
LARGEST_FINE_BITS = 16
SLACK = 1.0
"""How far a float32 chance out of 2**16 can be from the threshold: for lengths up to 32 / rate its gamma is off by
32 * 3.5 * 2**-24, and its power by 16 * 2**-23 of itself, 9e-6 in all; SLACK is 15e-6."""

_U = np.uint64
_STEP32, _HALVES32, _TWO32, _ZERO32 = np.float32(LARGEST_STEP), np.float32(65536), np.float32(2), np.float32(0)
_BELOW32, _ABOVE32 = np.float32(1 + SLACK), np.float32(SLACK)

CURVE = np.array([
    1.0, -0.06249992176890373, 0.0019530118443071842,
    -4.062907100887969e-05, 6.207611136233027e-07, -6.203181524000456e-09
], np.float32)  # fmt: skip
"""Coefficients of e**(-x / 16) for 0 <= x <= 8, off by less than 2**-23: a polynomial through Chebyshev's nodes. Which
lanes they leave undecided is part of the format, so they are written down, not computed."""


class PointScratch(NamedTuple):
    """Working memory of one thread beyond its scratch; two names for one buffer where it is read at two widths."""

    accept: np.ndarray  # uint16[TILE]
    accept_raw: np.ndarray  # the same, as uint32
    more: np.ndarray  # uint32[3 * TILE]: words of a further round
    first: np.ndarray  # int64[TILE]: proposals of a round
    second: np.ndarray  # int64[TILE]
    tile_first: np.ndarray  # int64[TILE]: a tile of which not all is asked for
    tile_second: np.ndarray  # int64[TILE]


def make_point_scratch() -> PointScratch:
    """Fresh working memory for one thread."""
    accept_raw = zeros_aligned(TILE // 2, np.uint32)
    return PointScratch(
        accept=accept_raw.view(np.uint16),
        accept_raw=accept_raw,
        more=zeros_aligned(3 * TILE, np.uint32),
        first=zeros_aligned(TILE, np.int64),
        second=zeros_aligned(TILE, np.int64),
        tile_first=zeros_aligned(TILE, np.int64),
        tile_second=zeros_aligned(TILE, np.int64),
    )


@inlined
def _power(x, curve):
    """e**-x for 0 <= x <= 8 in float32."""
    second = x * x
    total = (curve[0] + curve[1] * x) + (curve[2] + curve[3] * x) * second
    total += (curve[4] + curve[5] * x) * (second * second)
    total *= total
    total *= total
    total *= total
    return total * total


@inlined
def _propose(across, down, words, coins, m, rate, curve, flags, first, second):
    """Write the offsets that cells and fine bits stand for; flag them: 0 if accepted, REJECTED or UNDECIDED."""
    fine_shift, wide, sign = np.uint32(16 - m), np.int32(m), np.int32(31)
    for lane in range(flags.size):
        word = words[lane]
        f = np.int32(np.uint32(word & np.uint32(0xFFFF)) >> fine_shift)
        g = np.int32(np.uint32(word >> np.uint32(16)) >> fine_shift)
        c, d = np.int32(across[lane]), np.int32(down[lane])
        s, t = np.int32(c >> sign), np.int32(d >> sign)  # -1 for negative coordinates, whose lengths begin at 1
        a_begins = np.int32(np.int32(np.int32(c ^ s) << wide) - s)
        b_begins = np.int32(np.int32(np.int32(d ^ t) << wide) - t)
        a, b = np.int32(a_begins + f), np.int32(b_begins + g)
        first[lane] = np.int32(np.int32(a ^ s) - s)
        second[lane] = np.int32(np.int32(b ^ t) - t)
        x, y = np.float32(a), np.float32(b)
        gamma = rate * (np.sqrt(_TWO32 * (x * x + y * y)) - np.float32(np.int32(a_begins + b_begins)))
        small = min(max(gamma, _ZERO32), _STEP32)
        chance = _power(small, curve) * _HALVES32
        coin = np.float32(np.int32(coins[lane]))
        below, above = (coin + _BELOW32 <= chance) & (gamma < _STEP32), coin >= chance + _ABOVE32
        outside = (c <= TAIL_DOWN) | (d <= TAIL_DOWN) | (c == TAIL_UP) | (d == TAIL_UP)  # AMBIGUOUS is below TAIL_DOWN
        left = np.uint8(UNDECIDED) if outside | (not (below | above)) else np.uint8(above)
        flags[lane] = left


@inlined
def _fill_first(key, tile, m, scratch, lanes):
    """The words of a tile's first proposals."""
    fill_tile(key, HALVES, tile, scratch, scratch.halves_raw)
    fill_tile(key, COINS, tile, scratch, scratch.coins_raw)
    fill_tile(key, ACCEPT, tile, scratch, lanes.accept_raw)
    if m > _U(0):
        fill_tile(key, WORDS, tile, scratch, scratch.words)


@inlined
def _fill_further(key, tile, attempt, count, scratch, lanes):
    """The words of ``count`` further proposals: three of 32 bits for each, from one plane."""
    more = lanes.more
    groups = (3 * count + GROUP_WORDS - 1) // GROUP_WORDS
    fill_attempt(key, WORDS, attempt, tile * _U(3 * TILE // GROUP_WORDS), groups, scratch.work[16:32], more)
    cells, fine, coins = more[:count], more[count : 2 * count], more[2 * count : 3 * count]
    for lane in range(count):
        scratch.halves[lane], scratch.coins[lane] = np.uint16(cells[lane]), np.uint16(cells[lane] >> np.uint32(16))
        scratch.words[lane], lanes.accept[lane] = fine[lane], np.uint16(coins[lane])


@inlined
def _await(waiting, tile, place, lane, flag, scratch, lanes):
    """Put a lane among those to finish: its two cells, fine bits, coin and flag."""
    across, down = np.int64(scratch.found[lane]), np.int64(scratch.digits[lane])
    fine, coin = np.int64(scratch.words[lane]), np.int64(lanes.accept[lane])
    enqueue(waiting, tile * _U(TILE) + _U(place), place, scratch, across, down, fine, coin, flag)


@inlined
def _draw_tile(key, tile, table, rate, series, curve, scratch, lanes, first, second):
    """Write the offsets of all slots of a tile."""
    m, index_shift = table.law[0], np.uint16(table.law[7])
    rate32 = np.float32(rate)
    places, flags, flag_words = scratch.places, scratch.flags, scratch.flag_words
    for lane in range(TILE):
        places[lane] = lane
    count, waiting = TILE, 0
    for attempt in range(ROUNDS):
        if attempt == 0:
            _fill_first(key, tile, m, scratch, lanes)
        else:
            _fill_further(key, tile, attempt, count, scratch, lanes)
        across, down = scratch.found[:count], scratch.digits[:count]
        look_up(scratch.halves[:count], table.cells, index_shift, across)
        look_up(scratch.coins[:count], table.cells, index_shift, down)
        for lane in range(count, min(TILE, count + 8)):
            flags[lane] = 0
        if attempt == 0:
            _propose(across, down, scratch.words, lanes.accept, m, rate32, curve, flags, first, second)
        else:
            _propose(
                across, down, scratch.words, lanes.accept, m, rate32, curve, flags[:count], lanes.first, lanes.second
            )
            for lane in range(count):
                first[places[lane]], second[places[lane]] = lanes.first[lane], lanes.second[lane]
        last = np.uint8(REJECTED if attempt == ROUNDS - 1 else 0)
        marks = _U(np.uint8(UNDECIDED) | last) * _U(0x0101010101010101)
        for word in range((count + 7) // 8):
            marked = flag_words[word] & marks
            while marked != _U(0):
                lane = word * 8 + (count_trailing_zeros(marked) >> 3)
                _await(waiting, tile, places[lane], lane, np.int64(flags[lane]), scratch, lanes)
                waiting = finish_offsets(waiting + 1, FULL, key, scratch, table, rate, series, first, second)
                marked &= marked - _U(1)
        rejected = 0
        for lane in range(count):  # without a branch, which would be guessed wrongly for one lane in four
            places[rejected] = places[lane]
            rejected += np.int64(flags[lane] & np.uint8(REJECTED))
        count = rejected
    finish_offsets(waiting, 1, key, scratch, table, rate, series, first, second)


@kernel
def fill_planar(key, start, table, rate, series, curve, scratch, lanes, first, second):
    """Write the two coordinates of one offset per slot start, start + 1, ...

    Pre:  table is that of a discrete Laplace of rate r with at most LARGEST_FINE_BITS fine bits, rate the float64 r;
          series is SERIES, curve is CURVE; scratch and lanes are working memory; first and second are int64.
    Post: offset z has a probability proportional to its exact proposal times its integer thresholds of acceptance.
    Bits: four planes at the slots of each tile, attempts 1 to ROUNDS - 1 of the WORDS plane at three times as many
          counters, and the private streams of the slots.
    """
    done = 0
    while done < first.size:
        _, tile, lane, count = locate(start, done, first.size)
        if count == TILE:
            here, there = first[done : done + TILE], second[done : done + TILE]
            _draw_tile(key, tile, table, rate, series, curve, scratch, lanes, here, there)
        else:
            _draw_tile(key, tile, table, rate, series, curve, scratch, lanes, lanes.tile_first, lanes.tile_second)
            for i in range(count):
                first[done + i], second[done + i] = lanes.tile_first[lane + i], lanes.tile_second[lane + i]
        done += count
