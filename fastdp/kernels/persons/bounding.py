"""Bound each person's contributions, and add what is left to the sums of its keys.

A part is sorted into buckets of a few rows by the next bits of the persons' images, in the caches. A bucket is ordered
by ranks: each row's place is the number of rows before it, counted without a branch (all pairs of a few rows). What is
kept goes to a list, and is added in a loop of its own, where misses of the caches overlap: 22 -> 7 ns per sum.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.persons.buckets import fill_buckets, order_bucket
from fastdp.kernels.persons.steps import NULL, SQUARE_BITS

SAMPLE, SCALE_L1, SCALE_L2, ROWS = 0, 1, 2, 3
"""Keep the first groups; scale all groups by limit / groups, or by its root; or keep the first rows, group by group."""
FACTOR_BITS = 16
"""Factors are rounded down to multiples of 2**-16, and counts are in such steps where groups are scaled."""
_ONE = np.int64(1 << FACTOR_BITS)
_HALF = np.uint64(32)


@inlined
def toward_zero(value, numerator, denominator):
    """Value * numerator / denominator, rounded toward zero: no norm grows."""
    if value >= 0:
        return value * numerator // denominator
    return -((-value) * numerator // denominator)


@inlined
def _factor(groups, limit, mode):
    """The factor of a person with more groups than the limit, in steps of 2**-16, rounded down."""
    if mode == SCALE_L1:
        return limit * _ONE // groups
    root = np.int64(np.sqrt(np.float64(limit) / np.float64(groups)) * np.float64(_ONE))
    while root * root * groups > limit * _ONE * _ONE:
        root -= 1
    return root


@inlined
def _step(records, row, column):
    if column == 0:
        return np.int64(np.int32(np.uint32(records[row, 2])))
    word = records[row, 3 + (column - 1) // 2]
    if (column - 1) % 2:
        word >>= _HALF
    return np.int64(np.int32(np.uint32(word)))


@inlined
def _merge_group(buffer, order, i, size, limit_rows, widths, kept, held):
    """Add up a group's rows from ``order[i]`` on into entry ``held``; more than ``limit_rows`` count as their mean."""
    first = order[i]
    image, priority, code = buffer[first, 0], buffer[first, 1], buffer[first, 2] >> _HALF
    rows = np.int64(0)
    if widths.size == 1 and widths[0] <= 2:  # the common case, in registers
        count, total = np.int64(0), np.int64(0)
        while i < size:
            row = order[i]
            if buffer[row, 1] != priority or buffer[row, 0] != image or (buffer[row, 2] >> _HALF) != code:
                break
            step = np.int64(np.int32(np.uint32(buffer[row, 2])))
            is_value = step != np.int64(NULL)
            count += np.int64(is_value)
            total += step if is_value else np.int64(0)
            rows += 1
            i += 1
        kept[held, 3] = count
        kept[held, 2 + widths[0]] = total
        if count > limit_rows:
            kept[held, 2 + widths[0]] = toward_zero(total, limit_rows, count)
            if widths[0] == 2:
                kept[held, 3] = limit_rows
    else:
        while i < size:
            row = order[i]
            if buffer[row, 1] != priority or buffer[row, 0] != image or (buffer[row, 2] >> _HALF) != code:
                break
            rows += 1
            i += 1
        place = 3
        begin = i - rows
        for j in range(widths.size):
            count, total, squares = np.int64(0), np.int64(0), np.int64(0)
            for k in range(begin, i):
                step = _step(buffer, order[k], j)
                if step != np.int64(NULL):
                    count += 1
                    total += step
                    squares += (step * step) >> SQUARE_BITS
            if count > limit_rows:
                total = toward_zero(total, limit_rows, count)
                squares = toward_zero(squares, limit_rows, count)
                count = limit_rows
            if widths[j] == 1:
                kept[held, place] = total
            else:
                kept[held, place] = count
                kept[held, place + 1] = total
                if widths[j] == 3:
                    kept[held, place + 2] = squares
            place += widths[j]
    kept[held, 0] = np.int64(code)
    kept[held, 2] = min(rows, limit_rows)
    return i


@inlined
def _scale_entry(kept, entry, factor, widths):
    """Rows and counts in steps of 2**-16, exactly; sums in their own steps, rounded toward zero."""
    kept[entry, 2] *= factor
    place = 3
    for j in range(widths.size):
        if widths[j] > 1:
            kept[entry, place] *= factor
            place += 1
        for _ in range(max(np.int64(1), widths[j] - 1)):
            kept[entry, place] = toward_zero(kept[entry, place], factor, _ONE)
            place += 1


@kernel
def bound_part(
    records, firsts, lasts, bits, bucket_bits, tags, seeds, key, priority_key, limit, limit_rows, mode, widths, starts,
    buffer, spare, counts, short, order, kept,
):  # fmt: skip
    """Write what a part's persons may contribute to ``kept``: code, persons, rows, then the columns' places.

    ``limit`` groups per person (SAMPLE, SCALE_L1, SCALE_L2) and ``limit_rows`` rows per group; or ``limit`` rows per
    person in all (ROWS). Where groups are scaled, rows and counts are in steps of 2**-16.

    Pre:  as for `fill_buckets`; spare is as large as buffer; order and kept hold as many rows as the part has.
    Post: returns the number of entries.
    """
    size = 1 << bucket_bits
    fill_buckets(records, firsts, lasts, bits, bucket_bits, tags, seeds, key, priority_key, starts, buffer)
    taken = np.uint64(bits + bucket_bits)
    held = np.int64(0)
    first = np.int64(0)
    for b in range(size):
        last = starts[b]
        rows = last - first
        if rows == 0:
            continue
        order_bucket(buffer, spare, first, last, taken, counts, short, order)
        i = np.int64(0)
        while i < rows:
            image = buffer[order[i], 0]
            mine = held
            left = limit
            while i < rows and buffer[order[i], 0] == image:
                if mode == ROWS:
                    i = _merge_group(buffer, order, i, rows, limit_rows, widths, kept, held)
                    kept[held, 2] = min(kept[held, 2], left)
                    left -= kept[held, 2]
                    held += np.int64(kept[held, 2] > 0)
                else:
                    # One entry beyond the limit is written over by the next: no branch in the common case.
                    i = _merge_group(buffer, order, i, rows, limit_rows, widths, kept, held)
                    kept[held, 1] = np.int64(left > 0)
                    held += np.int64((left > 0) | (mode != SAMPLE))
                    left -= 1
            if mode == SCALE_L1 or mode == SCALE_L2:
                groups = held - mine
                factor = _ONE if groups <= limit else _factor(groups, limit, mode)
                for entry in range(mine, held):
                    _scale_entry(kept, entry, factor, widths)
        first = last
    return held


@kernel
def keep_rows(
    records, firsts, lasts, bits, bucket_bits, tags, seeds, key, priority_key, limit, starts, buffer, spare, counts,
    short, order, kept,
):  # fmt: skip
    """Write the rows of each person's first ``limit`` groups to ``kept``: code, step, number and priority of the group.

    Rows of one group follow one another and have one number; those without a value are left out.

    Pre:  as for `bound_part`, with one column; kept is int64[rows + 1, 4 or more].
    Post: returns the number of rows.
    """
    size = 1 << bucket_bits
    fill_buckets(records, firsts, lasts, bits, bucket_bits, tags, seeds, key, priority_key, starts, buffer)
    taken = np.uint64(bits + bucket_bits)
    held, groups, first = np.int64(0), np.int64(0), np.int64(0)
    for b in range(size):
        last = starts[b]
        rows = last - first
        if rows:
            order_bucket(buffer, spare, first, last, taken, counts, short, order)
            image, priority, code, left = np.uint64(0), np.uint64(0), np.uint64(0), np.int64(-1)
            for i in range(rows):
                row = order[i]
                is_new = left < 0 or buffer[row, 0] != image
                if is_new:
                    left = np.int64(limit) + 1
                if is_new or buffer[row, 1] != priority or (buffer[row, 2] >> _HALF) != code:
                    left -= np.int64(left > 0)
                    groups += 1
                image, priority, code = buffer[row, 0], buffer[row, 1], buffer[row, 2] >> _HALF
                step = np.int64(np.int32(np.uint32(buffer[row, 2])))
                if left > 0 and step != np.int64(NULL):
                    kept[held, 0] = np.int64(code)
                    kept[held, 1] = step
                    kept[held, 2] = groups
                    kept[held, 3] = np.int64(priority)
                    held += 1
        first = last
    return held


@kernel
def add_kept(kept, count, sums):
    """Add entries to the sums of their keys; sums is int64[keys, kept.shape[1] - 1]."""
    places = sums.shape[1]
    for i in range(count):
        code = kept[i, 0]
        for place in range(places):
            sums[code, place] += kept[i, place + 1]
