"""Histograms of one record each, side by side."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import kernel

OUT_OF_DOMAIN = 1


@kernel
def set_ones(codes, k, out):
    """Write k entries per code: 1 for the code, 0 for all others; OUT_OF_DOMAIN if any code is not in [0, k)."""
    bad = np.uint8(0)
    for i in range(out.size):
        out[i] = 0.0
    for i in range(codes.size):
        code = np.uint64(np.int64(codes[i]))
        if code < np.uint64(k):
            out[i * k + np.int64(code)] = 1.0
        else:
            bad = np.uint8(OUT_OF_DOMAIN)
    return bad


@kernel
def add_columns(entries, sums):
    """Add the rows of ``entries``, each as long as ``sums``, to it."""
    k = sums.size
    for row in range(entries.size // k):
        part = entries[row * k : (row + 1) * k]
        for i in range(k):
            sums[i] += part[i]
