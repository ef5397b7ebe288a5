"""Build the table and the curve that ``kernels.digits`` draws from."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fastdp.kernels.cell_tables import AMBIGUOUS
from fastdp.kernels.central.two_digits import UNDECIDED, fill_digits
from fastdp.laws import cell_tables as cells
from fastdp.laws.fixed_point import PRECISION, exp_fixed, multiply_fixed
from fastdp.laws.rate import Rate

SMALLEST_SCALE = cells.SMALLEST_WIDE_SCALE
LARGEST_SCALE = 2048
COARSE_SCALE = 16
"""Cells per scale are kept below this; more cells would leave more entries of the coarse table ambiguous, fewer would
need more digits in the fine one."""


TAIL_BITS = 11
"""The coarse table ends early enough for its cells to fit a byte."""


class Digits(NamedTuple):
    """The coarse cells and the fine digits of one law; the cells' entries as bytes, and the curve of the digits'."""

    coarse: cells.Realised
    fine: cells.Realised
    coarse_bytes: np.ndarray
    curve: np.ndarray


@lru_cache(maxsize=256)
def serves(rate: Rate) -> bool:
    """Whether two tables are the best way to draw the discrete Laplace of this rate."""
    return SMALLEST_SCALE <= 1 / float(rate.exact) < LARGEST_SCALE


def digit_bits(rate: float) -> int:
    """The number of bits of a fine digit."""
    return int(math.log2(1 / rate / COARSE_SCALE)) + 1


def margin(rate: float) -> float:
    """A bound on the margins of both tables together, in closed form."""
    m = digit_bits(rate)
    smallest = math.exp(-rate * (2**m - 1)) * math.expm1(-rate) / math.expm1(-rate * 2**m)
    return cells.laplace_margin(rate, m, cells.cells_of(rate, m, TAIL_BITS)) + cells.margin_bound(2**m, smallest)


@lru_cache(maxsize=64)
def build(rate: Rate) -> Digits:
    """The tables of a discrete Laplace law; about 10 ms, cached.

    Post: coarse cells as in ``noise.cells``. Fine digits are rounded down by less than 3 * 2**-128, and what is left
          over goes to the two largest: outward.
    """
    m = digit_bits(float(rate.exact))
    step = exp_fixed(rate.numerator, rate.shift)
    weights, weight = {}, 1 << PRECISION
    for digit in range(1 << m):
        weights[digit] = weight
        weight = multiply_fixed(weight, step)
    largest = max(weights)
    curve, entries = _fit(weights)
    fine = cells.realised(rate, weights, (largest, largest - 1), m=0, wrap=0, entries=entries)
    coarse = cells.build_laplace(rate, m, tail_bits=TAIL_BITS)
    return Digits(coarse, fine, as_bytes(coarse.table.cells), curve)


def _fit(weights: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """A curve through the digits' cumulative weights, and the entries that it makes of all half words.

    Post: no digit has more entries than its share of them; the others, about one for each digit, are AMBIGUOUS. Any
          curve would do: what its entries leave of a digit's weight is drawn from the residues.
    """
    size, total = len(weights), sum(weights.values())
    most = np.array([(weight << 16) // total for weight in weights.values()])
    ends = np.cumsum(np.array([weight / total for weight in weights.values()])) * 65536
    coefficients = _cubic((ends / 65536).tolist(), (np.arange(1, size + 1) / ends).tolist())
    entries = np.empty(1 << 16, np.int16)
    # A word per digit is enough in exact arithmetic; the curve is off by a little, so it may take a little more.
    for words in np.arange(1.0, 8.0, 0.02):
        close = 1 - words / most.min()
        curve = np.array([*(c / 65536.0**power for power, c in enumerate(coefficients)), close], np.float32)
        fill_digits(curve, entries)
        decided = entries != UNDECIDED
        found = np.bincount(entries[decided], minlength=size)
        if found.size == size and (found <= most).all():
            return curve, np.where(decided, entries, AMBIGUOUS).astype(np.int16)
    raise AssertionError("no curve fits the digits")


def _cubic(x: list[float], y: list[float]) -> list[float]:
    """The polynomial through four of the points, near Chebyshev's nodes, by powers of x.

    In exact arithmetic: draws are the same on every machine, so a fit that some library rounds as it likes will not do.
    """
    nodes = [x[0] + (x[-1] - x[0]) * share for share in (0.0381, 0.3087, 0.6913, 0.9619)]
    places = [min(range(len(x)), key=lambda i: abs(x[i] - node)) for node in nodes]
    total = [Fraction(0)] * 4
    for here in places:
        term = [Fraction(y[here])]
        for other in places:
            if other != here:
                apart = Fraction(x[here]) - Fraction(x[other])
                shifted, padded = [Fraction(0), *term], [*term, Fraction(0)]
                term = [(up - Fraction(x[other]) * same) / apart for up, same in zip(shifted, padded, strict=True)]
        total = [a + b for a, b in zip(total, term, strict=True)]
    return [float(part) for part in total]


def as_bytes(entries: np.ndarray) -> np.ndarray:
    """Table entries as int8, for tables whose outcomes fit."""
    return np.where(entries == AMBIGUOUS, UNDECIDED, entries).astype(np.int8)
