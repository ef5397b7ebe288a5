"""Strict Mondrian: cut the widest column at its median until no part can be cut, records moved in place."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.classes.diversity import FIGURES, measure_class
from fastdp.kernels.jit import inlined, kernel


@inlined
def side_fits(
    records, begin, end, column, cut, left, known, low, high, depth, shares, row, values, counts, largest, figures
):
    """Whether the rows on one side of a cut have all figures of their sensitive column within the limits."""
    last = records.shape[1] - 1
    for s in range(known):
        row[s] = 0
    for i in range(begin, end):
        if (records[i, column] <= cut) == left:
            row[records[i, last]] += 1
    found = 0
    for s in range(known):
        if row[s]:
            values[found] = s
            counts[found] = row[s]
            found += 1
    measure_class(values, counts, 0, found, depth, shares[0], shares[1], shares[2], shares[3], largest, figures)
    for j in range(FIGURES):
        if not (low[j] <= figures[j] <= high[j]):
            return False
    return True


@kernel
def cut_parts(
    records, index, k, columns, widths, known, low, high, depth, shares, stack, spans, tried, histogram, row, values,
    counts, largest, figures, ends,
):  # fmt: skip
    """Cut the records into parts of at least k; returns how many.

    Pre:  records[i] has the codes of row index[i], those of the ``columns`` first and, where ``known`` > 0, that of the
          sensitive column last; histogram has room for the widest column; stack for records / k + 2.
    Post: part t is records[ends[t - 1]:ends[t]]; within low and high by the sensitive column if the whole is.
    """
    parts, top = np.int64(0), 1
    stack[0, 0], stack[0, 1] = 0, records.shape[0]
    while top:
        top -= 1
        begin, end = stack[top, 0], stack[top, 1]
        split, cut = -1, np.int64(0)
        if end - begin >= 2 * k:
            for j in range(columns):
                spans[j, 0], spans[j, 1] = 1 << 40, -1
                tried[j] = 0
            for i in range(begin, end):
                for j in range(columns):
                    code = np.int64(records[i, j])
                    spans[j, 0] = min(spans[j, 0], code)
                    spans[j, 1] = max(spans[j, 1], code)
            for _ in range(columns):
                best, width = -1, 0.0
                for j in range(columns):
                    if not tried[j] and (spans[j, 1] - spans[j, 0]) / widths[j] > width:
                        best, width = j, (spans[j, 1] - spans[j, 0]) / widths[j]
                if best < 0:
                    break
                tried[best] = 1
                cut = median_cut(records, begin, end, best, spans[best, 0], spans[best, 1], k, histogram)
                if cut < 0:
                    continue
                if known > 0 and not (
                    side_fits(
                        records, begin, end, best, cut, True, known, low, high, depth, shares, row, values, counts,
                        largest, figures,
                    )
                    and side_fits(
                        records, begin, end, best, cut, False, known, low, high, depth, shares, row, values, counts,
                        largest, figures,
                    )
                ):  # fmt: skip
                    continue
                split = best
                break
        if split < 0:
            ends[parts] = end
            parts += 1
            continue
        middle = partition(records, index, begin, end, split, cut)
        # the later part waits on the stack: parts come out in the order of the records
        stack[top, 0], stack[top, 1] = middle, end
        stack[top + 1, 0], stack[top + 1, 1] = begin, middle
        top += 2
    return parts


@inlined
def median_cut(records, begin, end, column, least, most, k, histogram):
    """The code whose records and those below are nearest to half, with k on both sides; -1 where there is none."""
    for v in range(most - least + 1):
        histogram[v] = 0
    for i in range(begin, end):
        histogram[np.int64(records[i, column]) - least] += 1
    total = end - begin
    run, chosen, nearest = np.int64(0), np.int64(-1), np.int64(1 << 60)
    for v in range(most - least):
        run += histogram[v]
        if run >= k and total - run >= k and abs(2 * run - total) < nearest:
            chosen, nearest = v + least, abs(2 * run - total)
        if 2 * run > total:
            break
    return chosen


@inlined
def partition(records, index, begin, end, column, cut):
    """Move the records up to the cut to the front; returns where the others begin."""
    i, e = begin, end - 1
    while i <= e:
        if records[i, column] <= cut:
            i += 1
        elif records[e, column] > cut:
            e -= 1
        else:
            for j in range(records.shape[1]):
                code = records[i, j]
                records[i, j] = records[e, j]
                records[e, j] = code
            number = index[i]
            index[i] = index[e]
            index[e] = number
            i += 1
            e -= 1
    return i
