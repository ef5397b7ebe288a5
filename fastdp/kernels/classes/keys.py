"""Counting keys in a direct table, and the histogram of class sizes."""

from __future__ import annotations

from fastdp.kernels.jit import kernel


@kernel
def count_keys(keys, counts):
    """Add the number of times each key occurs to ``counts``.

    Pre:  every key is below counts.size. One table and not one per lane: it must stay in the second cache.
    """
    one = counts.dtype.type(1)
    for i in range(keys.size):
        counts[keys[i]] += one


@kernel
def count_narrow(keys, low, high):
    """Add the number of times each key occurs to ``high * 256 + low``: a quarter of the memory is touched at random.

    Pre:  every key is below low.size, which is high.size; low is uint8.
    """
    one, zero = low.dtype.type(1), low.dtype.type(0)
    for i in range(keys.size):
        key = keys[i]
        count = low.dtype.type(low[key] + one)
        low[key] = count
        if count == zero:
            high[key] += high.dtype.type(1)


@kernel
def add_weights(keys, weights, counts):
    """Add each row's integer weight to the count of its key.

    Pre:  every key is below counts.size; keys and weights have one length.
    """
    for i in range(keys.size):
        counts[keys[i]] += weights[i]


@kernel
def count_sizes(sizes, histogram, large):
    """Count classes by their size: ``histogram[s]`` classes of size s, and the sizes beyond it one by one.

    Pre:  large has room for every size >= histogram.size. A size of 0 is no class.
    Post: returns how many were written to ``large``.
    """
    found = 0
    for i in range(sizes.size):
        size = sizes[i]
        if size < histogram.size:
            histogram[size] += 1
        else:
            large[found] = size
            found += 1
    return found
