"""Steps of correlated noise: fresh integers and old ones, with the coefficients of a stream."""

from __future__ import annotations

from fastdp.kernels.jit import kernel

TILE = 2048
"""Coordinates that stay in the first-level cache while all terms are added to them."""


@kernel
def solve_banded(fresh, coefficients, ring, newest, scale, out):
    """Write one row of C^-1 z for a banded Toeplitz C, and put it in the ring: n_t = z_t - sum_j c_j n_(t-j).

    Pre:  fresh is int64[d]; coefficients is float64[b], the first 1; ring is float32[b - 1, d], the row of step t at
          t modulo (b - 1), zeros before the first step; newest is t; out is float32[d].
    Post: out and ring[t modulo (b - 1)] are the row. Sums are in float32, in the order of j: the noise was drawn.
    """
    bands = coefficients.size
    for low in range(0, out.size, TILE):
        high = min(low + TILE, out.size)
        here = out[low:high]
        drawn = fresh[low:high]
        kind = out.dtype.type
        for i in range(here.size):
            here[i] = kind(drawn[i] * scale)
        for j in range(1, bands):
            old = ring[(newest - j) % (bands - 1), low:high]
            c = kind(coefficients[j])
            for i in range(here.size):
                here[i] -= c * old[i]
        if bands > 1:
            kept = ring[newest % (bands - 1), low:high]
            for i in range(here.size):
                kept[i] = here[i]


@kernel
def add_scaled(drawn, factor, out):
    """Add ``factor`` times the integers ``drawn`` to ``out``, float64."""
    for i in range(out.size):
        out[i] += drawn[i] * factor
