"""Records of one bucket in order: each person's rows together, its groups by priority, equal keys side by side.

Which person comes first does not matter, for what becomes of them is added up in integers.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, part

RADIX_BITS = 11
RADIX = 1 << RADIX_BITS
FEW = 64
_MASK = np.uint64(RADIX - 1)
_HALF = np.uint64(32)


@inlined
def _before(a, i, b, j):
    """Whether record i of ``a`` comes before record j of ``b``: by person, priority and code."""
    if a[i, 0] != b[j, 0]:
        return a[i, 0] < b[j, 0]
    if a[i, 1] != b[j, 1]:
        return a[i, 1] < b[j, 1]
    return (a[i, 2] >> _HALF) < (b[j, 2] >> _HALF)


@inlined
def _copy(a, i, b, j):
    for k in range(a.shape[1]):
        b[j, k] = a[i, k]


@inlined
def _swap(a, i, j):
    for k in range(a.shape[1]):
        word = a[i, k]
        a[i, k] = a[j, k]
        a[j, k] = word


@inlined
def _sift(a, first, root, count):
    while True:
        child = 2 * root + 1
        if child >= count:
            return
        if child + 1 < count and _before(a, first + child, a, first + child + 1):
            child += 1
        if not _before(a, first + root, a, first + child):
            return
        _swap(a, first + root, first + child)
        root = child


@part
def sort_few(records, first, last):
    """Heap sort of records first:last: no memory, and never quadratic."""
    count = last - first
    for root in range(count // 2 - 1, -1, -1):
        _sift(records, first, root, count)
    for end in range(count - 1, 0, -1):
        _swap(records, first, first + end)
        _sift(records, first, 0, end)


@inlined
def _is_one_group(records, first, last):
    for i in range(first + 1, last):
        if records[i, 1] != records[first, 1] or (records[i, 2] >> _HALF) != (records[first, 2] >> _HALF):
            return False
    return True


@inlined
def _scatter(source, first, last, shift, counts, target):
    """Records by RADIX_BITS bits of their priority; afterwards counts[b] is where bucket b ends."""
    for b in range(RADIX):
        counts[b] = 0
    for i in range(first, last):
        counts[(source[i, 1] >> shift) & _MASK] += 1
    at = first
    for b in range(RADIX):
        count = counts[b]
        counts[b] = at
        at += count
    for i in range(first, last):
        b = (source[i, 1] >> shift) & _MASK
        _copy(source, i, target, counts[b])
        counts[b] += 1


@inlined
def _sort_person(records, spare, first, last, counts):
    """Two passes by the leading bits of the priority, the second in the caches; what is left is few or equal."""
    _scatter(records, first, last, np.uint64(64 - RADIX_BITS), counts[0], spare)
    start = first
    for b in range(RADIX):
        stop = counts[0, b]
        if stop - start > FEW and not _is_one_group(spare, start, stop):
            _scatter(spare, start, stop, np.uint64(64 - 2 * RADIX_BITS), counts[1], records)
            low = start
            for c in range(RADIX):
                high = counts[1, c]
                if high - low > 1 and not _is_one_group(records, low, high):
                    sort_few(records, low, high)
                low = high
        else:
            for i in range(start, stop):
                _copy(spare, i, records, i)
            if stop - start > 1 and not _is_one_group(records, start, stop):
                sort_few(records, start, stop)
        start = stop


@part
def sort_many(records, spare, first, last, counts):
    """Order a bucket of many records: those of a person with many rows by radix, what is left by heap sort.

    Pre:  spare is as large as records; counts is int64[2, RADIX].
    """
    tries = 0
    while last - first > FEW and tries < 8:
        person = records[(first + last) // 2, 0]
        mine, others = first, last
        for i in range(first, last):
            if records[i, 0] == person:
                _copy(records, i, spare, mine)
                mine += 1
            else:
                others -= 1
                _copy(records, i, spare, others)
        for i in range(first, last):
            _copy(spare, i, records, i)
        if mine - first > FEW:
            _sort_person(records, spare, first, mine, counts)
        else:
            sort_few(records, first, mine)
        first = mine
        tries += 1
    sort_few(records, first, last)
