"""The likelihood of reports that are sets of values, eight values at a time.

A byte of a set selects one of the 256 sums of eight probabilities, and the way back adds a report's weight to the
byte's place, from where it is dealt out to its values once at the end. Sets lie byte by byte, byte b of all reports
together, and are read four bytes at a time, which wait for each other less.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.local.hashing import _hash_line
from fastdp.kernels.products.likelihood import sum_logs, weigh

BLOCK = 1024
"""Reports whose sums are built together in the first-level cache."""
STRIDE = 4
"""Bytes of a set that are read together; sets are padded to a multiple of it."""

_U = np.uint64


@inlined
def _fill_sums(p, sums):
    """Write all sums of eight values each: entry s has those whose bit is set in s."""
    for byte in range(sums.shape[0]):
        table = sums[byte]
        table[0] = 0.0
        for bit in range(8):
            value = p[8 * byte + bit] if 8 * byte + bit < p.size else 0.0
            for low in range(1 << bit):
                table[(1 << bit) + low] = table[low] + value


@inlined
def _deal_out(places, out):
    """Write for each value the sum of the places whose byte has its bit; ``places`` is used up."""
    for byte in range(places.shape[0]):
        table = places[byte]
        for bit in range(7, -1, -1):
            total = 0.0
            for low in range(1 << bit):
                total += table[(1 << bit) + low]
                table[low] += table[(1 << bit) + low]
            if 8 * byte + bit < out.size:
                out[8 * byte + bit] = total


@inlined
def _add_up(sets, sums, out):
    """Write the sum over each set."""
    out[:] = 0.0
    for byte in range(0, sets.shape[0], STRIDE):
        r0, r1, r2, r3 = sets[byte], sets[byte + 1], sets[byte + 2], sets[byte + 3]
        t0, t1, t2, t3 = sums[byte], sums[byte + 1], sums[byte + 2], sums[byte + 3]
        for i in range(out.size):
            low = t0[np.int64(r0[i])] + t1[np.int64(r1[i])]
            high = t2[np.int64(r2[i])] + t3[np.int64(r3[i])]
            out[i] += low + high


@inlined
def _put_back(sets, weights, places):
    """Add each report's weight to the places of its bytes."""
    for byte in range(0, sets.shape[0], STRIDE):
        r0, r1, r2, r3 = sets[byte], sets[byte + 1], sets[byte + 2], sets[byte + 3]
        t0, t1, t2, t3 = places[byte], places[byte + 1], places[byte + 2], places[byte + 3]
        for i in range(weights.size):
            weight = weights[i]
            t0[np.int64(r0[i])] += weight
            t1[np.int64(r1[i])] += weight
            t2[np.int64(r2[i])] += weight
            t3[np.int64(r3[i])] += weight


@kernel
def apply_forward(sets, p, excess, sums, out):
    """Write p's total and ``excess`` times its sum over each set.

    Pre:  sets is uint8[bytes, reports], with a multiple of four bytes; sums is float64[bytes, 256] of scratch.
    """
    total = 0.0
    for x in range(p.size):
        total += p[x]
    _fill_sums(p, sums)
    for first in range(0, out.size, BLOCK):
        last = min(first + BLOCK, out.size)
        part = out[first:last]
        _add_up(sets[:, first:last], sums, part)
        for i in range(part.size):
            part[i] = total + excess * part[i]


@kernel
def apply_backward(sets, w, excess, places, out):
    """Write for each value w's total and ``excess`` times the sum of w over the sets that hold it."""
    total = 0.0
    for i in range(w.size):
        total += w[i]
    places[:] = 0.0
    for first in range(0, w.size, BLOCK):
        last = min(first + BLOCK, w.size)
        _put_back(sets[:, first:last], w[first:last], places)
    _deal_out(places, out)
    for x in range(out.size):
        out[x] = total + excess * out[x]


@kernel
def step_support(sets, counts, p, excess, sums, places, d, out):
    """As ``step_dense``, with the entries 1 + excess for the values of a set and 1 for others; d is scratch."""
    total = 0.0
    for x in range(p.size):
        total += p[x]
    _fill_sums(p, sums)
    places[:] = 0.0
    likelihood, weights = 0.0, 0.0
    for first in range(0, counts.size, BLOCK):
        last = min(first + BLOCK, counts.size)
        part, here, seen = d[: last - first], sets[:, first:last], counts[first:last]
        _add_up(here, sums, part)
        for i in range(part.size):
            part[i] = total + excess * part[i]
        likelihood += sum_logs(seen, part)
        for i in range(part.size):
            part[i] = weigh(seen[i], part[i])
            weights += part[i]
        _put_back(here, part, places)
    _deal_out(places, out)
    for x in range(out.size):
        out[x] = weights + excess * out[x]
    return likelihood


@kernel
def fill_hashed_sets(seeds, hashes, g, k, out):
    """Write the values below k that each seed's line hashes to the report; out is uint8[bytes, reports], zeros."""
    for i in range(seeds.size):
        seed = seeds[i]
        factor, offset, wanted = np.uint32(seed), np.uint32(seed >> _U(32)), np.uint32(hashes[i])
        for x in range(k):
            out[x >> 3, i] |= np.uint8(_hash_line(factor, offset, x, g) == wanted) << np.uint8(x & 7)
