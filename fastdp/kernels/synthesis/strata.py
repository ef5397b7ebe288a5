"""Rows drawn from conditional distributions in strata: cells get their share of the rows, up to one row.

Drawing synthetic rows is postprocessing, so that the quality of its random words is statistical.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.splitmix import GOLDEN, mix

_U = np.uint64


@inlined
def _uniform(word):
    """A float in [0, 1)."""
    return np.float64(word >> _U(11)) * 2.0**-53


@kernel
def draw_strata(given, ends, cumulative, seed, starts, order, out):
    """Draw one cell per row from the distribution of its group; the rows of a group are a systematic sample of it.

    Pre:  given holds the group of each row; row g of cumulative are the running sums of its weights; starts is
          int64[groups + 1] and order int64[rows] of scratch; ends is int64[groups], zero.
    Post: of m rows in a group, a cell with share s gets floor(m s) or ceil(m s), in random order; where all weights
          are 0, cells are uniform.
    """
    rows, groups, width = given.size, cumulative.shape[0], cumulative.shape[1]
    for i in range(rows):
        ends[given[i]] += 1
    total = 0
    for g in range(groups):
        starts[g] = total
        total += ends[g]
        ends[g] = starts[g]
    starts[groups] = total
    for i in range(rows):
        g = given[i]
        order[ends[g]] = i
        ends[g] += 1
    state = seed
    for g in range(groups):
        first, count = starts[g], starts[g + 1] - starts[g]
        if count == 0:
            continue
        for i in range(count - 1, 0, -1):
            state += GOLDEN
            other = np.int64(_uniform(mix(state)) * (i + 1))
            kept = order[first + i]
            order[first + i] = order[first + other]
            order[first + other] = kept
        sums = cumulative[g]
        weight = sums[width - 1]
        state += GOLDEN
        offset = _uniform(mix(state))
        cell = 0
        for i in range(count):
            share = (i + offset) / count
            if weight > 0.0:
                while cell < width - 1 and sums[cell] <= share * weight:
                    cell += 1
            else:
                cell = min(np.int64(share * width), width - 1)
            out[order[first + i]] = cell


@kernel
def fill_uniforms(seed, out):
    """Write floats in [0, 1), the i-th from the i-th word after ``seed``."""
    state = seed
    for i in range(out.size):
        state += GOLDEN
        out[i] = _uniform(mix(state))
