"""Bounds per person and sums per key in one go, for counts and one column, where a random few groups are kept.

The common case of `bounding`. A part goes through three passes in the caches, each a loop over all of its rows without
a branch that depends on them: into buckets of a few rows; each row to its rank in its bucket, by a short order of ten
bits of the person and sixteen of the priority; and groups of equal rows to entries, which are then added to the sums.
Where the short order does not tell two persons or groups apart, the bucket is sorted by all bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastdp.kernels.jit import inlined, intrinsic, ir, kernel, part, types
from fastdp.kernels.persons.bounding import toward_zero
from fastdp.kernels.persons.buckets import priority_of
from fastdp.kernels.persons.ordering import sort_many
from fastdp.kernels.persons.steps import NULL

LANES = 32
"""Rows of a bucket that are compared at once; a bucket of more is sorted."""
ENTRIES = 1024
"""Groups that are collected before they are added: they stay in the first-level cache."""
BUCKETS = 64
"""Buckets that are collected in one loop."""
_HALF = np.uint64(32)
_ROWS, _BOTH = np.int64((1 << 32) - 1), np.int64((1 << 32) + 1)
_PERSON, _PRIORITY = np.uint64(54), np.uint64(48)
_PERSON_AT, _PRIORITY_AT, _ROW = np.uint64(22), np.uint64(6), np.uint64(63)


@intrinsic
def _count_below(_context: Any, words: Any, first: Any, size: Any, word: Any) -> Any:
    """How many of ``size`` words from ``first`` on, LANES at the most, are below ``word``."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        lane, bits, wide = ir.IntType(32), ir.IntType(LANES), ir.IntType(64)
        vector = ir.VectorType(lane, LANES)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        start = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
        loaded = builder.load(start, align=4)
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), arguments[3], ir.Constant(lane, 0))
        splat = builder.shuffle_vector(one, one, ir.Constant(vector, [0] * LANES))
        below = builder.zext(builder.bitcast(builder.icmp_unsigned("<", loaded, splat), bits), wide)
        first_bits = builder.sub(builder.shl(ir.Constant(wide, 1), arguments[2]), ir.Constant(wide, 1))
        return builder.ctpop(builder.and_(below, first_bits))

    return types.int64(words, types.int64, types.int64, types.uint32), generate


@part
def _fill(
    records, firsts, lasts, bits, bucket_bits, tags, seeds, key, priority_key, starts, buffer, short
):  # fmt: skip
    """Copy a part to ``buffer``, bucket by bucket of the persons' next bits; bucket b ends at starts[b + 1]."""
    size = 1 << bucket_bits
    up, down, taken = np.uint64(bits), np.uint64(64 - bucket_bits), np.uint64(bits + bucket_bits)
    for b in range(size + 2):
        starts[b] = 0
    for k in range(firsts.size):
        for i in range(firsts[k], lasts[k]):
            starts[np.int64((records[i, 0] << up) >> down) + 2] += 1
    for b in range(size):
        starts[b + 2] += starts[b + 1]
    for k in range(firsts.size):
        for i in range(firsts[k], lasts[k]):
            image, word = records[i, 0], records[i, 1]
            b = np.int64((image << up) >> down) + 1
            at = starts[b]
            starts[b] = at + 1
            priority = priority_of(image, word >> _HALF, tags, seeds, key, priority_key)
            person = ((image << taken) >> _PERSON) << _PERSON_AT
            short[at] = np.uint32(person | ((priority >> _PRIORITY) << _PRIORITY_AT) | (np.uint64(at) & _ROW))
            buffer[at, 0] = image
            buffer[at, 1] = word


@inlined
def _rank(buffer, short, starts, bits, bucket_bits, ordered, ranked):
    """Each row, and its short order, to its place in its bucket: the number of rows of lower ones.

    Buckets of more than LANES rows become anything.
    """
    up, down = np.uint64(bits), np.uint64(64 - bucket_bits)
    for i in range(starts[1 << bucket_bits]):
        image = buffer[i, 0]
        b = np.int64((image << up) >> down)
        first = starts[b]
        at = first + _count_below(short, first, min(starts[b + 1] - first, np.int64(LANES)), short[i])
        ordered[at, 0] = image
        ordered[at, 1] = buffer[i, 1]
        ranked[at] = short[i]


@part
def _sort(ordered, first, last, tags, seeds, key, priority_key, wide, spare, counts):
    """Sort rows first:last by all bits: persons together, groups by priority, equal keys together."""
    for i in range(first, last):
        image, word = ordered[i, 0], ordered[i, 1]
        wide[i, 0], wide[i, 2] = image, word
        wide[i, 1] = priority_of(image, word >> _HALF, tags, seeds, key, priority_key)
    sort_many(wide, spare, first, last, counts)
    for i in range(first, last):
        ordered[i, 0], ordered[i, 1] = wide[i, 0], wide[i, 2]


@part
def _sort_large(buffer, starts, first, last, ordered, tags, seeds, key, priority_key, wide, spare, counts):
    """Sort those of the buckets first:last that are too large for ranks."""
    for b in range(first, last):
        if starts[b + 1] - starts[b] > LANES:
            for i in range(starts[b], starts[b + 1]):
                ordered[i, 0], ordered[i, 1] = buffer[i, 0], buffer[i, 1]
            _sort(ordered, starts[b], starts[b + 1], tags, seeds, key, priority_key, wide, spare, counts)


@part
def _sort_mixed(starts, first, last, ordered, ranked, tags, seeds, key, priority_key, wide, spare, counts):
    """Sort those of the buckets first:last in which the short order does not tell all persons and groups apart."""
    for b in range(first, last):
        mixed = False
        for i in range(starts[b] + 1, starts[b + 1]):
            mixed |= _is_mixed(
                ordered[i, 0] == ordered[i - 1, 0], (ordered[i, 1] ^ ordered[i - 1, 1]) >> _HALF == np.uint64(0),
                ranked[i] ^ ranked[i - 1],
            )  # fmt: skip
        if mixed and starts[b + 1] - starts[b] <= LANES:
            _sort(ordered, starts[b], starts[b + 1], tags, seeds, key, priority_key, wide, spare, counts)


@part
def _add(entries, held, limit_rows, widths, sums):
    """Add collected groups to the sums of their keys: persons, rows, and the column's count and total."""
    if widths.size == 0:
        for i in range(held):
            code = entries[i, 0]
            sums[code, 0] += 1
            sums[code, 1] += min(entries[i, 1] & _ROWS, limit_rows)
        return
    at, step = np.int64(1 + widths[0]), np.int64(widths[0] == 2)
    for i in range(held):
        code, total = entries[i, 0], entries[i, 2]
        rows, count = entries[i, 1] & _ROWS, entries[i, 1] >> 32
        if count > limit_rows:
            total = toward_zero(total, limit_rows, count)
            count = limit_rows
        sums[code, 0] += 1
        sums[code, 1] += min(rows, limit_rows)
        sums[code, 2] += count * step
        sums[code, at] += total


@inlined
def _is_mixed(same_person, same_group, differ):
    """Whether the short orders of neighbours, which differ in these bits, are equal though they should not be.

    Rows of one person, or group, may then lie among those of another: nobody's must be bounded before a whole order
    has parted them.
    """
    alike = differ < np.uint32(1 << 6) if same_person else differ < np.uint32(1 << 22)
    return alike & (not same_group)


@inlined
def _collect(ordered, ranked, first, last, limit, entries, held):
    """Write the code, rows and values, and total of each person's first ``limit`` groups to ``entries``.

    Returns the number of entries, and whether rows may not be in order.
    """
    last_image, last_code, last_short, mixed = ~ordered[first, 0], np.uint64(0), ~ranked[first], False
    groups, rows, total, kept = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for i in range(first, last):
        image, word = ordered[i, 0], ordered[i, 1]
        code = word >> _HALF
        same_person = image == last_image
        is_same = same_person & (code == last_code)
        mixed |= _is_mixed(same_person, is_same, ranked[i] ^ last_short)
        held += kept * np.int64(not is_same)
        groups = (groups if same_person else np.int64(0)) + np.int64(not is_same)
        step = np.int64(np.int32(np.uint32(word)))
        is_value = step != np.int64(NULL)
        rows = (rows if is_same else np.int64(0)) + (_BOTH if is_value else np.int64(1))
        total = (total if is_same else np.int64(0)) + (step if is_value else np.int64(0))
        entries[held, 0] = np.int64(code)
        entries[held, 1] = rows
        entries[held, 2] = total
        kept = np.int64(groups <= limit)
        last_image, last_code, last_short = image, code, ranked[i]
    return held + kept, mixed


@kernel
def sum_part(
    records, firsts, lasts, bits, bucket_bits, tags, seeds, key, priority_key, limit, limit_rows, widths, starts,
    buffer, short, ordered, ranked, wide, spare, counts, entries, sums,
):  # fmt: skip
    """Add what a part's persons may contribute to ``sums``: ``limit`` groups each, at random, ``limit_rows`` rows each.

    Pre:  as for `buckets.fill_buckets`; at most one column, without squares; buffer and ordered are uint64[rows, 2],
          short and ranked uint32[rows + LANES], wide and spare uint64[rows, 3], starts is int64[2**bucket_bits + 2],
          entries int64[ENTRIES + rows + 1, 3], sums int64[keys, 2 + sum(widths)].
    """
    _fill(records, firsts, lasts, bits, bucket_bits, tags, seeds, key, priority_key, starts, buffer, short)
    _rank(buffer, short, starts, bits, bucket_bits, ordered, ranked)
    names = tags, seeds, key, priority_key
    held, buckets = np.int64(0), np.int64(1 << bucket_bits)
    for b in range(0, buckets, BUCKETS):
        end = min(b + BUCKETS, buckets)
        first, last = starts[b], starts[end]
        largest = np.int64(0)
        for one in range(b, end):
            largest = max(largest, starts[one + 1] - starts[one])
        if largest == 0:
            continue
        if largest > LANES:
            _sort_large(buffer, starts, b, end, ordered, *names, wide, spare, counts)
        after, mixed = _collect(ordered, ranked, first, last, limit, entries, held)
        if mixed:
            _sort_mixed(starts, b, end, ordered, ranked, *names, wide, spare, counts)
            after, mixed = _collect(ordered, ranked, first, last, limit, entries, held)
        held = after
        if held >= ENTRIES:
            _add(entries, held, limit_rows, widths, sums)
            held = np.int64(0)
    _add(entries, held, limit_rows, widths, sums)
