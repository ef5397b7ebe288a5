"""Counting codes in one pass."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import kernel

OUT_OF_DOMAIN = 1


@kernel
def count_codes(codes, k, counts):
    """Add the number of times each code occurs to ``counts``.

    Pre:  counts is int64[4, k]; four rows, so that equal neighbours do not wait for each other.
    Post: the result is OUT_OF_DOMAIN if any code is not in [0, k); such codes are not counted.
    """
    bad = np.uint8(0)
    for i in range(codes.size):
        code = np.uint64(np.int64(codes[i]))
        if code < k:
            counts[i & 3, np.int64(code)] += 1
        else:
            bad = np.uint8(OUT_OF_DOMAIN)
    return bad
