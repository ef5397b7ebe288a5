"""Grouping of 64-bit keys: a partition into buckets by hash, then a small hash table per bucket.

The hash is a bijection of the key, so that equal hashes are equal keys and no key is stored beside its hash. A bucket
of some 4,096 rows has its table in the first caches; a plain scatter beats write-combining buffers by a sixth and more.
The table of a bucket is as large as its rows ask for: one frequent key makes one large bucket, not many large tables.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel

FIRST = np.uint64(0x9E3779B97F4A7C15)
SECOND = np.uint64(0xD6E8FEB86659FD93)
HALF = np.uint64(32)


@inlined
def mix(key):
    """A bijection of 64-bit words whose top bits depend on every bit."""
    word = key * FIRST
    word ^= word >> HALF
    return word * SECOND


@inlined
def table_mask(count):
    """One less than the power of two that is at least 1.5 times ``count``."""
    mask = np.int64(15)
    while mask < count + (count >> 1):
        mask = 2 * mask + 1
    return mask


@inlined
def find_slot(word, table, used, free, mask):
    """Where a hash is in a bucket's table, or where it goes; ``used`` is ``free`` in empty slots."""
    s = np.int64(word) & mask
    while used[s] != free and table[s] != word:
        s = (s + 1) & mask
    return s


@kernel
def count_buckets(keys, shift, counts):
    """Add the number of keys of each bucket, which is the top bits of their hash, to ``counts``."""
    for i in range(keys.size):
        counts[np.int64(mix(np.uint64(keys[i])) >> shift)] += 1


@kernel
def scatter(keys, shift, start, hashes):
    """Write the hashes bucket by bucket.

    Pre:  start[b] is where bucket b begins, by :func:`count_buckets`.
    Post: start[b] is where bucket b ends.
    """
    for i in range(keys.size):
        word = mix(np.uint64(keys[i]))
        b = np.int64(word >> shift)
        hashes[start[b]] = word
        start[b] += 1


@kernel
def scatter_rows(keys, shift, start, hashes, rows):
    """As :func:`scatter`, with the number of each key's row beside its hash."""
    for i in range(keys.size):
        word = mix(np.uint64(keys[i]))
        b = np.int64(word >> shift)
        p = start[b]
        hashes[p] = word
        rows[p] = i
        start[b] = p + 1


@kernel
def scatter_pairs(keys, values, shift, start, hashes, beside):
    """As :func:`scatter`, with the value of each key's row beside its hash."""
    for i in range(keys.size):
        word = mix(np.uint64(keys[i]))
        b = np.int64(word >> shift)
        p = start[b]
        hashes[p] = word
        beside[p] = values[i]
        start[b] = p + 1


@kernel
def size_classes(hashes, ends, table, counts, sizes):
    """Count the rows of every class.

    Pre:  bucket b ends at ends[b]; table and counts have room for the mask of the largest bucket; counts is zero.
    Post: returns the number of classes; sizes has theirs; counts is zero again.
    """
    one = counts.dtype.type(1)
    classes, begin = 0, 0
    for b in range(ends.size):
        end = ends[b]
        mask = table_mask(end - begin)
        for i in range(begin, end):
            word = hashes[i]
            s = find_slot(word, table, counts, 0, mask)
            table[s] = word
            counts[s] += one
        if end > begin:
            for s in range(mask + 1):
                if counts[s]:
                    sizes[classes] = counts[s]
                    classes += 1
                    counts[s] = 0
        begin = end
    return classes


@kernel
def number_classes(hashes, rows, ends, table, numbers, ids, first):
    """Number the classes, and give every row the number of its class.

    Pre:  as :func:`size_classes`; numbers is -1 everywhere.
    Post: returns the number of classes; ids[row] is the class of the row, first[c] a row of class c, the earliest.
    """
    classes, begin = 0, 0
    for b in range(ends.size):
        end = ends[b]
        mask = table_mask(end - begin)
        for i in range(begin, end):
            word = hashes[i]
            s = find_slot(word, table, numbers, -1, mask)
            if numbers[s] < 0:
                table[s] = word
                numbers[s] = classes
                first[classes] = rows[i]
                classes += 1
            ids[rows[i]] = numbers[s]
        if end > begin:
            for s in range(mask + 1):
                numbers[s] = -1
        begin = end
    return classes


@kernel
def list_entries(hashes, beside, ends, table, numbers, ids, order, starts, row, offsets, values, weights):
    """List the values of every class with how often each occurs, classes one after another.

    Pre:  as :func:`number_classes`; ids and order have room for the largest bucket, starts for one more; row is zero
          and has a place for every value.
    Post: returns the number of classes; the values of class c, ascending, are at offsets[c] to offsets[c + 1].
    """
    classes, begin, filled = 0, 0, 0
    offsets[0] = 0
    for b in range(ends.size):
        end = ends[b]
        count = end - begin
        mask = table_mask(count)
        found = 0
        for i in range(count):
            word = hashes[begin + i]
            s = find_slot(word, table, numbers, -1, mask)
            if numbers[s] < 0:
                table[s] = word
                numbers[s] = found
                starts[found] = 0
                found += 1
            ids[i] = numbers[s]
            starts[numbers[s]] += 1
        place = 0
        for c in range(found):
            size = starts[c]
            starts[c] = place
            place += size
        for i in range(count):
            order[starts[ids[i]]] = beside[begin + i]
            starts[ids[i]] += 1
        place = 0
        for c in range(found):
            opened = filled
            for j in range(place, starts[c]):
                value = order[j]
                if row[value] == 0:
                    values[filled] = value
                    filled += 1
                row[value] += 1
            place = starts[c]
            sort_values(values, opened, filled)
            for e in range(opened, filled):
                weights[e] = row[values[e]]
                row[values[e]] = 0
            offsets[classes + 1] = filled
            classes += 1
        if count:
            for s in range(mask + 1):
                numbers[s] = -1
        begin = end
    return classes


@kernel
def sort_values(values, begin, end):
    """Sort a slice in place, ascending: by insertion where it is short, else by heaps, which is never quadratic."""
    if end - begin <= 24:
        for i in range(begin + 1, end):
            value = values[i]
            j = i
            while j > begin and values[j - 1] > value:
                values[j] = values[j - 1]
                j -= 1
            values[j] = value
        return
    count = end - begin
    for top in range(count // 2 - 1, -1, -1):
        sift(values, begin, top, count)
    for last in range(count - 1, 0, -1):
        value = values[begin]
        values[begin] = values[begin + last]
        values[begin + last] = value
        sift(values, begin, 0, last)


@inlined
def sift(values, begin, top, count):
    """Let the value at ``top`` sink until the heap is in order."""
    value = values[begin + top]
    while True:
        child = 2 * top + 1
        if child >= count:
            break
        if child + 1 < count and values[begin + child + 1] > values[begin + child]:
            child += 1
        if values[begin + child] <= value:
            break
        values[begin + top] = values[begin + child]
        top = child
    values[begin + top] = value
