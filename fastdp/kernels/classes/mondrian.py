"""Strict Mondrian: cut the widest column at its median until no part can be cut, rows moved in place.

Rows are stored column by column, and a column that has one value in a part is neither read nor moved any more: of ten
million rows of five columns most cuts touch two.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.classes.diversity import FIGURES, list_counts, measure_class
from fastdp.kernels.jit import inlined, kernel

FEW = 64
"""Rows up to which comparing all with all beats counting."""
LEAST_BINS = 256


@inlined
def values_fit(codes, side, left, shares, low, high, depth, row, values, counts, largest, figures):
    """Whether the rows on one side of a cut have all figures of a sensitive column within the limits."""
    known = shares[0].size
    for s in range(known):
        row[s] = 0
    for i in range(codes.size):
        if (side[i] == 0) == left:
            row[codes[i]] += 1
    found = list_counts(row[:known], values, counts)
    measure_class(values, counts, 0, found, depth, shares[0], shares[1], shares[2], shares[3], largest, figures)
    for j in range(FIGURES):
        if not (low[j] <= figures[j] <= high[j]):
            return False
    return True


@inlined
def all_fit(records, side, starts, shares, low, high, depth, row, values, counts, largest, figures):
    """Whether both sides of a cut have all figures of every sensitive column within the limits."""
    for s in range(starts.size - 1):
        a, b = starts[s], starts[s + 1]
        own = (shares[0][a:b], shares[1][a:b], shares[2][a:b], shares[3][a + s : b + s + 1])
        for left in (True, False):
            if not values_fit(records[s], side, left, own, low, high, depth, row, values, counts, largest, figures):
                return False
    return True


@kernel
def cut_parts(
    records, index, k, columns, widths, starts, low, high, depth, shares, stack, varies, spans, tried, histogram, side,
    spare, spare_index, row, values, counts, largest, figures, ends,
):  # fmt: skip
    """Cut the rows into parts of at least k; returns how many.

    Pre:  records[j, i] is the code of row index[i] in column j, those of the ``columns`` first and then those of the
          sensitive columns; their shares are laid out one after another from ``starts``. stack and varies have rows / k
          + 2 places, the first of varies ones; side, spare and spare_index have one place per row, and histogram as
          many, and 256 more.
    Post: part t is the rows ends[t - 1] to ends[t]; all within low and high by every sensitive column if the whole is.
    """
    parts, top = np.int64(0), 1
    stack[0, 0], stack[0, 1] = 0, records.shape[1]
    while top:
        top -= 1
        begin, end = stack[top, 0], stack[top, 1]
        moving = varies[top]
        split = -1
        if end - begin >= 2 * k:
            for j in range(columns):
                tried[j] = 1
                if moving[j]:
                    spans[j, 0], spans[j, 1] = span_of(records[j, begin:end])
                    if spans[j, 0] == spans[j, 1]:
                        moving[j] = 0
                    else:
                        tried[j] = 0
            for _ in range(columns):
                best, width = -1, 0.0
                for j in range(columns):
                    if not tried[j] and (spans[j, 1] - spans[j, 0]) / widths[j] > width:
                        best, width = j, (spans[j, 1] - spans[j, 0]) / widths[j]
                if best < 0:
                    break
                tried[best] = 1
                codes = records[best, begin:end]
                cut = median_cut(codes, spans[best, 0], spans[best, 1], k, histogram)
                if cut < 0:
                    continue
                mark(codes, cut, side)
                if starts.size > 1 and not all_fit(
                    records[columns:, begin:end], side, starts, shares, low, high, depth, row, values, counts, largest,
                    figures,
                ):  # fmt: skip
                    continue
                split = best
                break
        if split < 0:
            ends[parts] = end
            parts += 1
            continue
        for j in range(records.shape[0]):
            if j >= columns or moving[j]:
                move_up(records[j, begin:end], side, spare)
        middle = begin + move_up(index[begin:end], side, spare_index)
        # the later part waits on the stack: parts come out in the order of the records
        for j in range(columns):
            varies[top + 1, j] = moving[j]
        stack[top, 0], stack[top, 1] = middle, end
        stack[top + 1, 0], stack[top + 1, 1] = begin, middle
        top += 2
    return parts


@inlined
def span_of(codes):
    """The least and the largest code."""
    least, most = codes[0], codes[0]
    for i in range(codes.size):
        least = min(least, codes[i])
        most = max(most, codes[i])
    return np.int64(least), np.int64(most)


@inlined
def median_cut(codes, least, most, k, histogram):
    """The cut nearest to half with k rows on both sides, as the largest code below it; -1 where there is none."""
    total = codes.size
    rank = total >> 1
    middle, below, upto = np.int64(least), np.int64(0), np.int64(0)
    if total <= FEW:  # no branch to mispredict: every code is compared with all
        for i in range(total):
            below, upto = counts_at(codes, codes[i])
            if below <= rank < upto:
                middle = np.int64(codes[i])
                break
    else:
        middle = code_at(codes, rank, least, most, histogram)
        below, upto = counts_at(codes, codes.dtype.type(middle))
    before = below >= k and total - below >= k
    after = upto >= k and total - upto >= k
    if before and (not after or total - 2 * below <= 2 * upto - total):
        return middle - 1
    return middle if after else np.int64(-1)


@inlined
def counts_at(codes, code):
    """How many codes are below a code, and up to it."""
    below, upto = np.int64(0), np.int64(0)
    for i in range(codes.size):
        below += codes[i] < code
        upto += codes[i] <= code
    return below, upto


@inlined
def code_at(codes, rank, least, most, histogram):
    """The code of a rank, by counting the digits of those that are left."""
    width = np.uint64(most - least + 1)
    low = np.uint64(least)
    while True:
        shift = np.uint64(0)
        while (width - np.uint64(1)) >> shift >= np.uint64(max(codes.size, LEAST_BINS)):
            shift += np.uint64(1)
        for b in range(((width - np.uint64(1)) >> shift) + np.uint64(1)):
            histogram[b] = 0
        for i in range(codes.size):
            apart = np.uint64(codes[i]) - low
            if apart < width:
                histogram[apart >> shift] += 1
        b = np.uint64(0)
        while rank >= histogram[b]:
            rank -= histogram[b]
            b += np.uint64(1)
        low += b << shift
        if shift == np.uint64(0):
            return np.int64(low)
        width = min(np.uint64(1) << shift, np.uint64(most) + np.uint64(1) - low)


@inlined
def mark(codes, cut, side):
    """Write 1 for every row beyond the cut, and 0 for the others."""
    limit = codes.dtype.type(cut)
    for i in range(codes.size):
        side[i] = codes[i] > limit


@inlined
def move_up(codes, side, spare):
    """Move the rows marked 0 to the front, in order, and the others behind them; returns how many are in front."""
    front, back = np.uint64(0), np.uint64(0)  # unsigned: no index counts from the end
    for i in range(codes.size):
        code = codes[i]
        codes[front] = code
        spare[back] = code
        beyond = np.uint64(side[i])
        back += beyond
        front += np.uint64(1) - beyond
    rest = codes[front:]
    for i in range(rest.size):
        rest[i] = spare[i]
    return np.int64(front)
