"""Build the two tables that ``kernels.digits`` draws from."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fastdp.kernels.cells import AMBIGUOUS
from fastdp.kernels.digits import UNDECIDED
from fastdp.noise import cells
from fastdp.noise.rates import Rate
from fastdp.noise.weights import PRECISION, exp_fixed, multiply_fixed

SMALLEST_SCALE = cells.SMALLEST_WIDE_SCALE
LARGEST_SCALE = 2048
COARSE_SCALE = 16
"""Cells per scale are kept below this; more cells would leave more entries of the coarse table ambiguous, fewer would
need more digits in the fine one."""


TAIL_BITS = 11
"""The coarse table ends early enough for its cells to fit a byte."""


class Digits(NamedTuple):
    """The coarse cells and the fine digits of one law, and the entries of both tables as bytes."""

    coarse: cells.Realised
    fine: cells.Realised
    coarse_bytes: np.ndarray
    fine_bytes: np.ndarray


def serves(rate: Rate) -> bool:
    """Whether two tables are the best way to draw the discrete Laplace of this rate."""
    return SMALLEST_SCALE <= 1 / float(rate.exact) < LARGEST_SCALE


@lru_cache(maxsize=64)
def build(rate: Rate) -> Digits:
    """The tables of a discrete Laplace law; about 2 ms, cached.

    Post: coarse cells as in ``noise.cells``. Fine digits are rounded down by less than 3 * 2**-128, and what is left
          over goes to the two largest: outward.
    """
    m = int(math.log2(1 / float(rate.exact) / COARSE_SCALE)) + 1
    step = exp_fixed(rate.numerator, rate.shift)
    weights, weight = {}, 1 << PRECISION
    for digit in range(1 << m):
        weights[digit] = weight
        weight = multiply_fixed(weight, step)
    largest = max(weights)
    fine = cells.realised(rate, weights, (largest, largest - 1), m=0, wrap=0)
    coarse = cells.build_laplace(rate, m, tail_bits=TAIL_BITS)
    return Digits(coarse, fine, as_bytes(coarse.table.cells), as_bytes(fine.table.cells))


def as_bytes(entries: np.ndarray) -> np.ndarray:
    """Table entries as int8, for tables whose outcomes fit."""
    return np.where(entries == AMBIGUOUS, UNDECIDED, entries).astype(np.int8)
