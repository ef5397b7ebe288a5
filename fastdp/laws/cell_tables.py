"""Build the tables that ``kernels.cells`` draws from, with what they realise in exact integers.

The discrete Laplace of rate r has P(z) ~ e**(-|z| * r), the discrete Gaussian P(z) ~ e**(-z**2 * r). Rates are dyadic
(``noise.rates``), so both the tables and the kernel's coin flips work with the very same number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np

from fastdp import rounding
from fastdp.kernels.cell_tables import AMBIGUOUS, TAIL_DOWN, TAIL_UP, CellTable
from fastdp.laws.fixed_point import PRECISION, exp_fixed, multiply_fixed
from fastdp.laws.rate import Rate

RESIDUE_BITS = 128
TAIL_BITS = 20
"""A Laplace table ends where 2**-TAIL_BITS of its side is left; beyond it the law repeats itself."""
GAUSSIAN_TAIL_BITS = 130
"""A Gaussian table ends where less than 2**-GAUSSIAN_TAIL_BITS of the peak is left, and nothing lies beyond."""
SMALLEST_WIDE_SCALE = 128
"""From this scale on, cells are 2**m wide, with 64 to 128 cells per scale: wider ones would reject more fine bits,
narrower ones leave more table entries ambiguous."""
SMALLEST_LONG_TABLE = 4
"""Below this scale there are few outcomes, and a table of 2**12 entries, in the first-level cache, serves them best."""
LARGEST_SCALE = 2.0**38
"""In steps; a wider law needs a coarser grid."""
LARGEST_RATE = 40
"""Per step; beyond it, 128 bits no longer resolve the small probabilities well enough."""


@dataclass(frozen=True, slots=True)
class Realised:
    """What a table realises: outcome v has probability (slots + ambiguous * residue / 2**128) / entries."""

    rate: Rate
    quadratic: bool
    m: int
    wrap: int
    entries: int
    ambiguous: int
    slots: dict[int, int]
    residues: dict[int, int]
    table: CellTable

    def probability(self, cell: int) -> Fraction:
        """The exact probability of a cell, TAIL_UP and TAIL_DOWN among them."""
        residue = Fraction(self.ambiguous * self.residues.get(cell, 0), 1 << RESIDUE_BITS)
        return (self.slots.get(cell, 0) + residue) / self.entries

    @property
    def margin(self) -> float:
        """The largest absolute logarithm of a realised probability over that of the weights, rounded up."""
        return largest_error(self.slots, self.residues, self.ambiguous)


def _laplace_weights(rate: Rate, m: int, wrap: int) -> dict[int, int]:
    """Weights of ``wrap`` cells on both sides, and of the two tails beyond them."""
    step = exp_fixed(rate.numerator << m, rate.shift)
    weights: dict[int, int] = {}
    up, down = 1 << PRECISION, exp_fixed(rate.numerator, rate.shift)
    for cell in range(wrap):
        weights[cell], weights[~cell] = up, down
        up, down = multiply_fixed(up, step), multiply_fixed(down, step)
    rest = (1 << PRECISION) - step
    weights[TAIL_UP], weights[TAIL_DOWN] = (up << PRECISION) // rest, (down << PRECISION) // rest
    return weights


def _gaussian_weights(rate: Rate, m: int) -> dict[int, int]:
    """Weights of the cells on both sides; outside them less than 2**-GAUSSIAN_TAIL_BITS of the peak is left."""
    weights: dict[int, int] = {}
    for sign in (0, 1):
        # The exponent at magnitude c * 2**m + sign grows quadratically: two running products give all of them.
        weight = exp_fixed(rate.numerator * sign, rate.shift)
        ratio = exp_fixed(rate.numerator * ((1 << 2 * m) + (sign << m + 1)), rate.shift)
        bend = exp_fixed(rate.numerator << 2 * m + 1, rate.shift)
        cell = 0
        while cell == 0 or weight.bit_length() > PRECISION - GAUSSIAN_TAIL_BITS:
            weights[~cell if sign else cell] = weight
            weight, ratio = multiply_fixed(weight, ratio), multiply_fixed(ratio, bend)
            cell += 1
    return weights


def realise(
    weights: dict[int, int], outermost: tuple[int, int], bits: int, entries: np.ndarray | None = None
) -> tuple[dict[int, int], dict[int, int], int]:
    """Slots and residues of each outcome, and the number of ambiguous entries of a table of 2**bits entries.

    Pre:  ``entries``, if the table is given, hold no outcome more often than its share of them.
    Post: every outcome but the outermost two is rounded down by less than 3 * 2**-128 of the ambiguous part, and what
          is left over goes to the outermost: rounding makes more noise, never less.
    """
    total = sum(weights.values())
    if entries is None:
        slots = {v: 0 if v in (TAIL_UP, TAIL_DOWN) else (w << bits) // total for v, w in weights.items()}
    else:
        slots = {v: int(np.count_nonzero(entries == v)) for v in weights}
    ambiguous = (1 << bits) - sum(slots.values())
    residues = {
        v: (((w << bits) - slots[v] * total) << RESIDUE_BITS) // (ambiguous * total) for v, w in weights.items()
    }
    largest = max(residues, key=residues.__getitem__)
    residues[largest] -= 2
    left_over = (1 << RESIDUE_BITS) - sum(residues.values())
    residues[outermost[0]] += left_over // 2
    residues[outermost[1]] += left_over - left_over // 2
    return slots, residues, ambiguous


def largest_error(slots: dict[int, int], residues: dict[int, int], ambiguous: int) -> float:
    """How far rounding can move the logarithm of any outcome's probability, either way.

    Outcomes are rounded down by less than three units of the residue, or, the outermost, up by all that these leave.
    """
    smallest = min((slots[v] << RESIDUE_BITS) + ambiguous * residues[v] for v in slots)
    moved = (3 * len(slots) + 2) * ambiguous
    return rounding.float_up(Fraction(2 * moved, max(1, smallest - moved)))


def cell_bits(scale: float) -> int:
    """The m of cells of 2**m steps for a law of this scale."""
    return 0 if scale < SMALLEST_WIDE_SCALE else int(math.log2(scale / SMALLEST_WIDE_SCALE)) + 1


def cells_of(rate: float, m: int, tail_bits: int = TAIL_BITS) -> int:
    """The number of cells on either side, before the tail."""
    return max(1, math.ceil(tail_bits * math.log(2) / (rate * 2.0**m)))


def laplace_margin(rate: float, m: int, wrap: int) -> float:
    """A bound on the margin of `build_laplace`, in closed form: its smallest outcome is the last lower cell or tail.

    >>> 1e-32 < laplace_margin(0.01, 0, cells_of(0.01, 0)) < 1e-25
    True
    """
    step = math.exp(-rate * 2.0**m)
    smallest = math.exp(-rate * (1 + 2.0**m * (wrap - 1))) * min(1 - step, step) / (1 + math.exp(-rate))
    return margin_bound(2 * wrap + 2, smallest)


def margin_bound(outcomes: int, smallest: float) -> float:
    """A bound on `largest_error` of so many outcomes, the smallest of which has at least this probability."""
    moved = (3 * outcomes + 4) * 2.0**-RESIDUE_BITS / smallest * (1 + 1e-6)
    return 2 * moved / max(1 - 2 * moved, 1e-300)


@lru_cache(maxsize=64)
def build(rate: Rate, *, quadratic: bool) -> Realised:
    """The table of a discrete Laplace (or, if quadratic, Gaussian) law of the given rate; 1 to 10 ms, cached.

    Pre:  scale at most LARGEST_SCALE; Laplace rate at most LARGEST_RATE.
    """
    value = float(rate.exact)
    scale = math.sqrt(0.5 / value) if quadratic else 1 / value
    m = cell_bits(scale)
    assert m <= 32, "a law this wide must be refused before"
    bits = 12 if scale < SMALLEST_LONG_TABLE else 16
    if not quadratic:
        return build_laplace(rate, m, bits)
    weights = _gaussian_weights(rate, m)
    return realised(rate, weights, (max(weights), min(weights)), m=m, wrap=0, bits=bits, quadratic=True)


def build_laplace(rate: Rate, m: int, bits: int = 16, tail_bits: int | None = None) -> Realised:
    """The table of the discrete Laplace in cells of 2**m, up to where 2**-tail_bits of a side is left."""
    wrap = cells_of(float(rate.exact), m, tail_bits or TAIL_BITS)
    return realised(rate, _laplace_weights(rate, m, wrap), (TAIL_UP, TAIL_DOWN), m=m, wrap=wrap, bits=bits)


def realised(
    rate: Rate,
    weights: dict[int, int],
    outermost: tuple[int, int],
    *,
    m: int,
    wrap: int,
    bits: int = 16,
    quadratic: bool = False,
    entries: np.ndarray | None = None,
) -> Realised:
    """The integers that a table of 2**bits entries makes of the weights, and the table; or those of given entries."""
    slots, residues, ambiguous = realise(weights, outermost, bits, entries)
    table = arrange(_law(rate, quadratic, m, wrap, bits), slots, residues)
    if entries is not None:
        table = table._replace(cells=entries)
    return Realised(rate, quadratic, m, wrap, 1 << bits, ambiguous, slots, residues, table)


def _law(rate: Rate, quadratic: bool, m: int, wrap: int, bits: int) -> list[int]:
    """The law's numbers for the kernel; the coin's bound lies above gamma * 2**16 for all fine bits of a cell."""
    base = slope = 0
    if m:
        width = 1 << m
        linear = rate.exact * width * (width + 2 if quadratic else 1)
        base = math.ceil(linear * 65536) + int(quadratic)
        slope = math.ceil(rate.exact * 2 * width * width * 2**32) if quadratic else 0
    return [m, base, slope, rate.numerator, rate.shift, int(quadratic), wrap, 16 - bits]


def arrange(law: list[int], slots: dict[int, int], residues: dict[int, int]) -> CellTable:
    """The realised integers as the arrays that the kernel reads."""
    cells = np.full(1 << (16 - law[7]), AMBIGUOUS, np.int16)
    filled = np.repeat(np.array(list(slots), np.int16), np.array(list(slots.values()), np.int64))
    cells[: filled.size] = filled
    thresholds = list(accumulate(residues.values()))
    thresholds[-1] -= 1  # 2**128 has no place in two words; the last outcome takes all that is left anyway
    residue_high = np.array([threshold >> 64 for threshold in thresholds], np.uint64)
    guide = np.searchsorted(residue_high, np.arange(4096, dtype=np.uint64) << np.uint64(52), side="right")
    return CellTable(
        cells=cells,
        residue_high=residue_high,
        residue_low=np.array([threshold & (1 << 64) - 1 for threshold in thresholds], np.uint64),
        residue_cell=np.array(list(residues), np.int16),
        residue_guide=np.minimum(guide, len(residues) - 1).astype(np.int32),
        law=np.array(law, np.uint64),
    )
