"""One planar offset at a time, exactly: where a lane of the fast sampler goes that its first words do not decide."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.cell_tables import AMBIGUOUS, draw_residue, leave_tail
from fastdp.kernels.jit import inlined
from fastdp.kernels.stream.lanes import private_lanes
from fastdp.kernels.stream.words import next_word

REJECTED, UNDECIDED = 1, 2
LARGEST_STEP = 8.0
SERIES = np.array([(-1.0) ** k / float(np.prod(np.arange(1.0, k + 1))) / 16.0**k for k in range(15)])
"""Coefficients of e**(-x / 16) by powers of x; for x <= 8 what is left out is below 2**-55 of the sum."""
BELOW_2_64 = 18446744073709549568.0
"""The largest float64 below 2**64."""

_U = np.uint64


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


@private_lanes
def finish_offsets(lane, key, work, blocks, table, rate, series, first, second):
    """The offset of a lane that was undecided or rejected too often."""
    drop = _U(16) - table.law[0]
    place, c, d, rejected = lane[0], lane[1], lane[2], lane[5] == REJECTED
    word, coin = _U(lane[3]), _U(lane[4])
    f, g = np.int64((word & _U(0xFFFF)) >> drop), np.int64((word >> _U(16)) >> drop)
    uniform = (coin << _U(48)) | (next_word(key, work, blocks) >> _U(16))
    first[place], second[place] = _finish(rejected, c, d, f, g, uniform, table, rate, series, key, work, blocks)
