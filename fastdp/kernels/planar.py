"""Noise in the plane on a grid: offset z with probability proportional to e**(-rate |z|), |z| its length in steps.

Two coordinates are proposed from the cells of a discrete Laplace of rate r = rate / sqrt(2) with uniform fine bits, and
accepted with probability e**-gamma, gamma = r * (sqrt(2) |z| - a - b), where a and b are the lengths at which their
cells begin: since |z_1| + |z_2| <= sqrt(2) |z|, gamma is never negative, and 78 of 100 proposals are accepted. Nothing
here is continuous: no sine, no logarithm, and the accepted offsets have integer weights.

The acceptance is an integer threshold: e**-gamma, computed in float64 by operations that IEEE 754 rounds in one way
only, times 2**64 and rounded down; for gamma above LARGEST_STEP, several of them in a row for equal parts of gamma. So
each offset's weight is known exactly, and ``noise.planar`` says how far from the ideal it can be. Most lanes are
decided by the first 16 bits of their uniform number against a float32 that is within SLACK of the threshold.

A tile is drawn as a whole, in rounds: lanes whose proposal was rejected move together, and the n-th of them reads the
n-th words of a further stream under the round's number. Lanes that are undecided, and those rejected ROUNDS times, go
on with the private streams of their slots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastdp.kernels.cells import AMBIGUOUS, TAIL_DOWN, TAIL_UP, draw_residue, leave_tail, look_up
from fastdp.kernels.chacha import GROUP_BLOCKS, GROUP_WORDS, fill_attempt, fill_plane
from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.words import (
    COINS,
    HALVES,
    TILE,
    WORDS,
    count_trailing_zeros,
    locate,
    next_word,
    open_privates,
    select_private,
)

ACCEPT = np.uint32(6)
"""Plane of 16-bit words that decide acceptance."""
REJECTED, UNDECIDED = 1, 2
ROUNDS = 4
"""Proposals that a lane reads from planes: of the lanes, one in three hundred is rejected so often."""
LARGEST_STEP = 8.0
LARGEST_FINE_BITS = 16
SERIES = np.array([(-1.0) ** k / float(np.prod(np.arange(1.0, k + 1))) / 16.0**k for k in range(15)])
"""Coefficients of e**(-x / 16) by powers of x; for x <= 8 what is left out is below 2**-55 of the sum."""
BELOW_2_64 = 18446744073709549568.0
"""The largest float64 below 2**64."""
SLACK = 1.0
"""How far a float32 chance out of 2**16 can be from the threshold: for lengths up to 32 / rate its gamma is off by
32 * 3.5 * 2**-24, and its power by 16 * 2**-23 of itself, 9e-6 in all; SLACK is 15e-6."""

_U = np.uint64
_STEP32, _HALVES32, _TWO32, _ZERO32 = np.float32(LARGEST_STEP), np.float32(65536), np.float32(2), np.float32(0)
_BELOW32, _ABOVE32 = np.float32(1 + SLACK), np.float32(SLACK)


def _curve() -> np.ndarray:
    """Coefficients of e**(-x / 16) for 0 <= x <= 8, off by less than 2**-25: a polynomial through Chebyshev's nodes."""
    fitted = np.polynomial.Chebyshev.interpolate(lambda x: np.exp(-x / 16), 5, domain=[0, LARGEST_STEP])
    return fitted.convert(kind=np.polynomial.Polynomial).coef.astype(np.float32)


CURVE = _curve()


class Lanes(NamedTuple):
    """Working memory of one thread beyond its scratch; two names for one buffer where it is read at two widths."""

    accept: np.ndarray  # uint16[TILE]
    accept_raw: np.ndarray  # the same, as uint32
    more: np.ndarray  # uint32[3 * TILE]: words of a further round
    pending: np.ndarray  # int64[16, 6]: place, two cells, fine bits, coin and flag of lanes to finish
    first: np.ndarray  # int64[TILE]: proposals of a round
    second: np.ndarray  # int64[TILE]
    tile_first: np.ndarray  # int64[TILE]: a tile of which not all is asked for
    tile_second: np.ndarray  # int64[TILE]


def make_lanes() -> Lanes:
    """Fresh working memory for one thread."""
    accept_raw = np.zeros(TILE // 2, np.uint32)
    return Lanes(
        accept=accept_raw.view(np.uint16),
        accept_raw=accept_raw,
        more=np.zeros(3 * TILE, np.uint32),
        pending=np.zeros((GROUP_BLOCKS, 6), np.int64),
        first=np.zeros(TILE, np.int64),
        second=np.zeros(TILE, np.int64),
        tile_first=np.zeros(TILE, np.int64),
        tile_second=np.zeros(TILE, np.int64),
    )


@inlined
def exp_minus(x, series):
    """e**-x for 0 <= x <= 8, off by less than 2**-46 of itself."""
    # In pairs, so that no long chain of operations waits for its last one.
    second = x * x
    fourth = second * second
    low = (series[0] + series[1] * x) + (series[2] + series[3] * x) * second
    middle = (series[4] + series[5] * x) + (series[6] + series[7] * x) * second
    high = (series[8] + series[9] * x) + (series[10] + series[11] * x) * second
    highest = (series[12] + series[13] * x) + series[14] * second
    total = (low + middle * fourth) + (high + highest * fourth) * (fourth * fourth)
    total *= total
    total *= total
    total *= total
    return total * total


@inlined
def exponent(first, second, begins, rate):
    """The gamma of an offset from its coordinates' lengths and the sum of the lengths at which their cells begin."""
    gamma = rate * (np.sqrt(2.0 * (first * first + second * second)) - begins)
    return gamma if gamma > 0.0 else 0.0


@inlined
def is_accepted(gamma, uniform, series, key, work, blocks):
    """True with probability e**-gamma up to its rounding; ``uniform`` is 64 fresh bits."""
    steps = np.int64(gamma / LARGEST_STEP) + 1
    chance = exp_minus(gamma / steps, series) * 18446744073709551616.0
    threshold = _U(chance if chance < BELOW_2_64 else BELOW_2_64)
    while uniform < threshold:
        steps -= 1
        if steps == 0:
            return True
        uniform = next_word(key, work, blocks)
    return False


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
def _finish(rejected, c, d, f, g, uniform, table, rate, series, key, work, blocks):
    """The exact draw of a lane from its last words, redrawn from its private stream until one is accepted."""
    m = np.int64(table.law[0])
    drop = _U(16) - table.law[0]
    while True:
        if not rejected:
            if c == AMBIGUOUS:
                c = draw_residue(table, key, work, blocks)
            if d == AMBIGUOUS:
                d = draw_residue(table, key, work, blocks)
            c, beyond_c = leave_tail(c, table, key, work, blocks)
            d, beyond_d = leave_tail(d, table, key, work, blocks)
            s, t = np.int64(c) >> np.int64(63), np.int64(d) >> np.int64(63)
            a_begins, b_begins = (((c ^ s) + beyond_c) << m) - s, (((d ^ t) + beyond_d) << m) - t
            a, b = a_begins + f, b_begins + g
            gamma = exponent(np.float64(a), np.float64(b), np.float64(a_begins + b_begins), rate)
            if is_accepted(gamma, uniform, series, key, work, blocks):
                return (a ^ s) - s, (b ^ t) - t
        # One word for cells and fine bits: a block of the private stream lasts for four proposals, and opening a
        # further one costs as much as ten.
        rejected = False
        word = next_word(key, work, blocks)
        c = np.int64(table.cells[np.int64((word & _U(0xFFFF)) >> table.law[7])])
        d = np.int64(table.cells[np.int64(((word >> _U(16)) & _U(0xFFFF)) >> table.law[7])])
        f, g = np.int64(((word >> _U(32)) & _U(0xFFFF)) >> drop), np.int64((word >> _U(48)) >> drop)
        uniform = next_word(key, work, blocks)


@kernel
def _finish_pending(count, table, rate, series, key, scratch, pending, first, second):
    """Finish up to sixteen lanes; their slots wait in ``scratch.work[32:48]``."""
    work, blocks = scratch.work, scratch.blocks
    drop = _U(16) - table.law[0]
    open_privates(key, work, blocks)
    for i in range(count):
        place, c, d, rejected = pending[i, 0], pending[i, 1], pending[i, 2], pending[i, 5] == REJECTED
        word, coin = _U(pending[i, 3]), _U(pending[i, 4])
        f, g = np.int64((word & _U(0xFFFF)) >> drop), np.int64((word >> _U(16)) >> drop)
        select_private(work[32 + i], i, work)
        uniform = (coin << _U(48)) | (next_word(key, work, blocks) >> _U(16))
        first[place], second[place] = _finish(rejected, c, d, f, g, uniform, table, rate, series, key, work, blocks)


@inlined
def _fill_first(key, tile, m, scratch, lanes):
    """The words of a tile's first proposals."""
    counters = scratch.work[16:32]
    fill_plane(key, HALVES, tile * _U(TILE // 512), counters, scratch.halves_raw)
    fill_plane(key, COINS, tile * _U(TILE // 512), counters, scratch.coins_raw)
    fill_plane(key, ACCEPT, tile * _U(TILE // 512), counters, lanes.accept_raw)
    if m > _U(0):
        fill_plane(key, WORDS, tile * _U(TILE // 256), counters, scratch.words)


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
    """Put a lane among those to finish."""
    pending = lanes.pending
    pending[waiting, 0], pending[waiting, 5] = place, flag
    pending[waiting, 1], pending[waiting, 2] = np.int64(scratch.found[lane]), np.int64(scratch.digits[lane])
    pending[waiting, 3], pending[waiting, 4] = np.int64(scratch.words[lane]), np.int64(lanes.accept[lane])
    scratch.work[32 + waiting] = tile * _U(TILE) + _U(place)


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
                waiting += 1
                if waiting == GROUP_BLOCKS:
                    _finish_pending(waiting, table, rate, series, key, scratch, lanes.pending, first, second)
                    waiting = 0
                marked &= marked - _U(1)
        rejected = 0
        for lane in range(count):  # without a branch, which would be guessed wrongly for one lane in four
            places[rejected] = places[lane]
            rejected += np.int64(flags[lane] & np.uint8(REJECTED))
        count = rejected
    if waiting > 0:
        _finish_pending(waiting, table, rate, series, key, scratch, lanes.pending, first, second)


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
