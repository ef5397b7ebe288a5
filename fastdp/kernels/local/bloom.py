"""Bloom filters of values, in cohorts."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import kernel
from fastdp.kernels.stream.keystream import fill_plane
from fastdp.kernels.stream.words import HALVES, TILE

OUT_OF_DOMAIN = 1
_U = np.uint64


@kernel
def fill_bloom(key, start, filters, codes, k, scratch, cohorts, out):
    """Write each record's cohort, uniform, and its value's filter in that cohort.

    Pre:  filters is uint8[cohorts, k, width], the number of cohorts a power of two up to 2**16; out holds ``width``
          bytes per code.
    Post: OUT_OF_DOMAIN if any code is not in [0, k). Bits: the half-word plane at every ``width``-th slot from start.
    """
    width = filters.shape[2]
    mask = np.uint16(filters.shape[0] - 1)
    counters = scratch.work[16:32]
    current = ~_U(0)
    bad = np.uint8(0)
    for i in range(codes.size):
        slot = start + _U(i * width)
        if slot // _U(TILE) != current:
            current = slot // _U(TILE)
            fill_plane(key, HALVES, current * _U(TILE // 512), counters, scratch.halves_raw)
        cohort = scratch.halves[np.int64(slot % _U(TILE))] & mask
        cohorts[i] = cohort
        code = _U(np.int64(codes[i]))
        if code < _U(k):
            for byte in range(width):
                out[i * width + byte] = filters[np.int64(cohort), np.int64(code), byte]
        else:
            bad = np.uint8(OUT_OF_DOMAIN)
    return bad


@kernel
def count_cohorts(cohorts, sets, width, counts, sizes):
    """Add to counts[cohort, bit] how often each bit is set among the reports of a cohort, and to sizes their number.

    Post: OUT_OF_DOMAIN if any cohort is not a row of counts, or a bit beyond its columns is set.
    """
    bad = np.uint8(0)
    for i in range(cohorts.size):
        cohort = np.int64(cohorts[i])
        if cohort >= sizes.size:
            return np.uint8(OUT_OF_DOMAIN)
        sizes[cohort] += 1
        for byte in range(width):
            bits = sets[i * width + byte]
            for bit in range(8):
                column = 8 * byte + bit
                if column < counts.shape[1]:
                    counts[cohort, column] += np.int64((bits >> np.uint8(bit)) & np.uint8(1))
                elif (bits >> np.uint8(bit)) & np.uint8(1):
                    bad = np.uint8(OUT_OF_DOMAIN)
    return bad
