"""Noise in the plane on a grid: offset z with probability proportional to e**(-rate |z|), |z| its length in steps.

Two coordinates are proposed from the cells of a discrete Laplace of rate r = rate / sqrt(2) with uniform fine bits, and
accepted with probability e**-gamma, gamma = r * (sqrt(2) |z| - a - b), where a and b are the lengths at which their
cells begin: since |z_1| + |z_2| <= sqrt(2) |z|, gamma is never negative, and 78 of 100 proposals are accepted. Nothing
here is continuous: no sine, no logarithm, and the accepted offsets have integer weights.

The acceptance is an integer threshold: e**-gamma, computed in float64 by operations that IEEE 754 rounds in one way
only, times 2**64 and rounded down; for gamma above LARGEST_STEP, several of them in a row for equal parts of gamma. So
each offset's weight is known exactly, and ``noise.planar`` says how far from the ideal it can be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastdp.kernels.cells import AMBIGUOUS, TAIL_DOWN, TAIL_UP, draw_residue, leave_tail, look_up
from fastdp.kernels.chacha import GROUP_BLOCKS, fill_plane
from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.words import (
    COINS,
    HALVES,
    TILE,
    WORDS,
    find_flagged,
    locate,
    next_word,
    open_privates,
    select_private,
)

ACCEPT = np.uint32(6)
"""Plane of 32-bit words that decide acceptance."""
REJECTED, UNDECIDED = 1, 2
AHEAD = 2
"""Further proposals that are made for all flagged lanes at once, from the first words of their private blocks."""
LARGEST_STEP = 8.0
LARGEST_FINE_BITS = 16
SERIES = np.array([(-1.0) ** k / float(np.prod(np.arange(1.0, k + 1))) / 16.0**k for k in range(15)])
"""Coefficients of e**(-x / 16) by powers of x; for x <= 8 what is left out is below 2**-55 of the sum."""
BELOW_2_64 = 18446744073709549568.0
"""The largest float64 below 2**64."""

_U = np.uint64


class Lanes(NamedTuple):
    """Working memory of one thread beyond its scratch."""

    accept: np.ndarray  # uint32[TILE]
    pending: np.ndarray  # int64[16, 6]: place, two cells, fine bits, coin and flag of the flagged lanes
    across: np.ndarray  # int16[16 * AHEAD]: the proposals made ahead
    down: np.ndarray  # int16[16 * AHEAD]
    fine: np.ndarray  # uint32[16 * AHEAD]
    coins: np.ndarray  # uint32[16 * AHEAD]
    flags: np.ndarray  # uint8[16 * AHEAD]
    first: np.ndarray  # int64[16 * AHEAD]
    second: np.ndarray  # int64[16 * AHEAD]


def make_lanes() -> Lanes:
    """Fresh working memory for one thread."""
    ahead = GROUP_BLOCKS * AHEAD
    return Lanes(
        accept=np.zeros(TILE, np.uint32),
        pending=np.zeros((GROUP_BLOCKS, 6), np.int64),
        across=np.zeros(ahead, np.int16),
        down=np.zeros(ahead, np.int16),
        fine=np.zeros(ahead, np.uint32),
        coins=np.zeros(ahead, np.uint32),
        flags=np.zeros(ahead, np.uint8),
        first=np.zeros(ahead, np.int64),
        second=np.zeros(ahead, np.int64),
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
def _propose(across, down, words, coins, m, rate, series, flags, first, second):
    """Write the offsets that cells and fine bits stand for; flag them: 0 if accepted, REJECTED or UNDECIDED.

    Lanes are 32 bits wide, since few CPUs have vectors that turn 64-bit integers into floats; 31 bits of a coin do.
    """
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
        gamma = exponent(np.float64(a), np.float64(b), np.float64(np.int32(a_begins + b_begins)), rate)
        small = gamma if gamma < LARGEST_STEP else LARGEST_STEP
        chance = exp_minus(small, series) * 2147483648.0
        coin = np.float64(np.int32(coins[lane] >> np.uint32(1)))
        below, above = coin + 1.0 <= chance, coin > chance
        unsure = (not (below | above)) | (gamma >= LARGEST_STEP)
        outside = (c <= TAIL_DOWN) | (d <= TAIL_DOWN) | (c == TAIL_UP) | (d == TAIL_UP)  # AMBIGUOUS is below TAIL_DOWN
        left = np.uint8(UNDECIDED) if unsure | outside else np.uint8(above)
        flags[lane] = left


@inlined
def _finish(c, d, f, g, uniform, table, rate, series, key, work, blocks):
    """The exact draw of a lane from its first words, redrawn from its private stream until one is accepted."""
    m = np.int64(table.law[0])
    drop = _U(16) - table.law[0]
    while True:
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
        # One word for cells and fine bits: a block of the private stream then lasts for three more proposals, and
        # opening a further one costs as much as ten.
        word = next_word(key, work, blocks)
        c = np.int64(table.cells[np.int64((word & _U(0xFFFF)) >> table.law[7])])
        d = np.int64(table.cells[np.int64(((word >> _U(16)) & _U(0xFFFF)) >> table.law[7])])
        f, g = np.int64(((word >> _U(32)) & _U(0xFFFF)) >> drop), np.int64((word >> _U(48)) >> drop)
        uniform = next_word(key, work, blocks)


@kernel
def _finish_pending(count, table, rate, series, key, scratch, lanes, first, second):
    """Finish up to sixteen flagged lanes; their slots wait in ``scratch.work[32:48]``.

    A lane whose proposal was rejected takes the first of the next that is accepted. Those made ahead need three words
    of 32 bits each, which stand side by side in the private blocks of sixteen lanes.
    """
    work, blocks, pending = scratch.work, scratch.blocks, lanes.pending
    m, index_shift = table.law[0], np.uint32(table.law[7])
    drop = np.uint32(16 - m)
    open_privates(key, work, blocks)
    for ahead in range(AHEAD):
        start = GROUP_BLOCKS * ahead
        words = blocks[3 * start : 3 * start + 3 * GROUP_BLOCKS]
        across, down = lanes.across[start : start + GROUP_BLOCKS], lanes.down[start : start + GROUP_BLOCKS]
        fine, coins = lanes.fine[start : start + GROUP_BLOCKS], lanes.coins[start : start + GROUP_BLOCKS]
        for i in range(GROUP_BLOCKS):
            across[i] = table.cells[np.int64(np.uint32(words[i] & np.uint32(0xFFFF)) >> index_shift)]
            down[i] = table.cells[np.int64(np.uint32(words[i] >> np.uint32(16)) >> index_shift)]
            fine[i], coins[i] = words[GROUP_BLOCKS + i], words[2 * GROUP_BLOCKS + i]
    _propose(lanes.across, lanes.down, lanes.fine, lanes.coins, m, rate, series, lanes.flags, lanes.first, lanes.second)
    for i in range(count):
        place = pending[i, 0]
        c, d, word, coin = pending[i, 1], pending[i, 2], np.uint32(pending[i, 3]), _U(pending[i, 4])
        state = pending[i, 5]
        for ahead in range(AHEAD):
            at = GROUP_BLOCKS * ahead + i
            if state == REJECTED:
                state = np.int64(lanes.flags[at])
                first[place], second[place] = lanes.first[at], lanes.second[at]
                c, d = np.int64(lanes.across[at]), np.int64(lanes.down[at])
                word, coin = lanes.fine[at], _U(lanes.coins[at])
        if state != 0:
            select_private(work[32 + i], i, work)
            for _ in range((3 * AHEAD + 1) // 2):
                next_word(key, work, blocks)
            f, g = (
                np.int64(np.uint32(word & np.uint32(0xFFFF)) >> drop),
                np.int64(np.uint32(word >> np.uint32(16)) >> drop),
            )
            uniform = (coin << _U(32)) | (next_word(key, work, blocks) >> _U(32))
            first[place], second[place] = _finish(c, d, f, g, uniform, table, rate, series, key, work, blocks)


@kernel
def fill_planar(key, start, table, rate, series, scratch, lanes, first, second):
    """Write the two coordinates of one offset per slot start, start + 1, ...

    Pre:  table is that of a discrete Laplace of rate r with at most LARGEST_FINE_BITS fine bits, rate the float64 r;
          series is SERIES; scratch and lanes are working memory; first and second are int64.
    Post: offset z has a probability proportional to its exact proposal times its integer thresholds of acceptance.
    Bits: offset i reads four planes at slot start + i, and the private stream of that slot.
    """
    counters = scratch.work[16:32]
    m, index_shift = table.law[0], np.uint16(table.law[7])
    accept, pending = lanes.accept, lanes.pending
    waiting = 0
    done = 0
    while done < first.size:
        slot, tile, lane, count = locate(start, done, first.size)
        fill_plane(key, HALVES, tile * _U(TILE // 512), counters, scratch.halves_raw)
        fill_plane(key, COINS, tile * _U(TILE // 512), counters, scratch.coins_raw)
        if m > _U(0):
            fill_plane(key, WORDS, tile * _U(TILE // 256), counters, scratch.words)
        fill_plane(key, ACCEPT, tile * _U(TILE // 256), counters, accept)
        across, down = scratch.found[:count], scratch.digits[:count]
        words, coins = scratch.words[lane : lane + count], accept[lane : lane + count]
        look_up(scratch.halves[lane : lane + count], table.cells, index_shift, across)
        look_up(scratch.coins[lane : lane + count], table.cells, index_shift, down)
        flags = scratch.flags[:count]
        here, there = first[done : done + count], second[done : done + count]
        _propose(across, down, words, coins, m, rate, series, flags, here, there)
        for i in range(find_flagged(scratch, count)):
            place = scratch.places[i]
            pending[waiting, 0] = done + place
            pending[waiting, 1], pending[waiting, 2] = np.int64(across[place]), np.int64(down[place])
            pending[waiting, 3], pending[waiting, 4] = np.int64(words[place]), np.int64(coins[place])
            pending[waiting, 5] = np.int64(flags[place])
            scratch.work[32 + waiting] = slot + _U(place)
            waiting += 1
            if waiting == GROUP_BLOCKS:
                _finish_pending(waiting, table, rate, series, key, scratch, lanes, first, second)
                waiting = 0
        done += count
    if waiting > 0:
        _finish_pending(waiting, table, rate, series, key, scratch, lanes, first, second)
