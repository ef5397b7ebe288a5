"""Probabilities as integers out of 2**128: rows of a channel, and offsets of a noise on a grid.

A share SPARE / 2**128 of every law goes to a uniform outcome, with all that rounding leaves over. A mixture of a law
with one that depends on nothing is no less private, and no probability is then so small that rounding could change its
logarithm by much.
"""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np

from fastdp.kernels.metric.probability_rows import Rows

ONE = 1 << 128
SPARE = 1 << 72
"""The uniform outcome's least share out of 2**128: 2**-56."""
LARGEST_GUIDE = 1 << 24
GUIDE_SHARE = 8
"""Entries of a row's guide for each outcome: more would decide a little more, and miss the cache."""
FRACTION_BITS = 160


def as_integers(masses: np.ndarray) -> list[int]:
    """Non-negative float64 as integers out of 2**FRACTION_BITS, exactly down to 2**-108, below that rounded down."""
    mantissas, exponents = np.frexp(masses)
    whole = np.ldexp(mantissas, 53).astype(np.int64).tolist()
    return [
        value << shift if (shift := exponent - 53 + FRACTION_BITS) >= 0 else value >> -shift
        for value, exponent in zip(whole, exponents.tolist(), strict=True)
    ]


def realise_offsets(masses: np.ndarray) -> list[int]:
    """Integers out of 2**128 in proportion to the masses, rounded down; the last is the uniform outcome's."""
    weights = as_integers(masses)
    total = sum(weights)
    shares = [weight * (ONE - SPARE) // total for weight in weights]
    return [*shares, ONE - sum(shares)]


def realise_row(masses: np.ndarray, possible: np.ndarray) -> list[int]:
    """Integers out of 2**128 in proportion to the masses, each with its part of SPARE; 0 where not ``possible``."""
    weights = as_integers(masses)
    total, least = sum(weights), SPARE // int(possible.sum())
    left = ONE - least * int(possible.sum())
    shares = [
        weight * left // total + least if here else 0 for weight, here in zip(weights, possible.tolist(), strict=True)
    ]
    shares[max(range(len(shares)), key=shares.__getitem__)] += ONE - sum(shares)
    return shares


def arrange(shares: list[list[int]], uniform: int = 0) -> Rows:
    """Rows of integers that sum to 2**128 as the kernel reads them."""
    count, size = len(shares), len(shares[0])
    bits = min(16, max(8, (GUIDE_SHARE * size - 1).bit_length()))
    while bits > 8 and count << bits > LARGEST_GUIDE:
        bits -= 1
    high, low = np.empty((count, size), np.uint64), np.empty((count, size), np.uint64)
    guide = np.empty((count, 1 << bits), np.int32)
    first = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
    final = first | np.uint64((1 << 64 - bits) - 1)
    for x, row in enumerate(shares):
        ends = list(accumulate(row))
        ends[-1] -= 1  # 2**128 has no place in two words; the last outcome takes all that is left anyway
        high[x] = [end >> 64 for end in ends]
        low[x] = [end & (1 << 64) - 1 for end in ends]
        here, there = (np.searchsorted(high[x], first, "left"), np.searchsorted(high[x], final, "right"))
        guide[x] = np.where(here == there, here, ~here)
    return Rows(guide, high, low, np.uint64(uniform))


def to_floats(shares: list[int]) -> np.ndarray:
    """Integers out of 2**128 as probabilities, each off by at most 2**-53 of itself."""
    return np.array([math.ldexp(float(share), -128) for share in shares])
