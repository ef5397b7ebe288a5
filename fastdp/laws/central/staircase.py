"""The staircase law: uniform steps whose height falls by e**-epsilon once per sensitivity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from fastdp import rounding
from fastdp.kernels.cell_tables import TAIL_DOWN, TAIL_UP, CellTable
from fastdp.kernels.central import per_record as each
from fastdp.kernels.central.staircase import fill_stairs
from fastdp.kernels.stream.words import Scratch
from fastdp.laws import cell_tables as cells
from fastdp.laws.fixed_point import PRECISION, exp_fixed, multiply_fixed
from fastdp.laws.law import Fill
from fastdp.laws.loss_atoms import atomic, statement, symmetric_pairs
from fastdp.laws.rate import Rate, rates_below
from fastdp.losses import AtomicLoss

INDEX_BITS = 12


class Pieces(NamedTuple):
    """Runs of equally likely integers, by side (0: z >= 0, 1: z < 0, by magnitude) and number."""

    table: CellTable
    first: np.ndarray  # int64[2, n]
    length: np.ndarray  # uint64[2, n]


@dataclass(frozen=True, slots=True)
class StaircaseLaw:
    """P(z) = h for |z| < tread, h e**-rate up to ``steps``, and P(|z| + steps) = e**-rate P(|z|).

    [Geng, Kairouz, Oh, Viswanath 2015, the discrete form]
    """

    rate: Rate
    steps: int
    tread: int

    def cost(self) -> float:
        """The epsilon of one shift by ``steps``, as the table realises it, rounded up.

        Pieces are rounded down by at most three units of the residue, the tails up; the smallest piece is one integer
        of the last period, one height below its first.
        """
        smallest = 2.0 ** -(cells.TAIL_BITS + 1) * math.exp(-float(self.rate.exact)) / (self._one_over_peak() + 1)
        return rounding.float_up(self.rate.exact + Fraction(8 / smallest) / 2**cells.RESIDUE_BITS)

    def loss(self) -> AtomicLoss:
        """The privacy loss of a shift by ``steps``, which dominates smaller shifts: plus or minus the rate, or 0.

        Left of 0 every place is one height above the place ``steps`` further on, and so is each on the first tread
        that is not on the other law's; the other way round the same holds. The rest is equally likely.
        """
        ratio = Fraction(exp_fixed(self.rate.numerator, self.rate.shift), 1 << PRECISION)
        side = (self.tread + (self.steps - self.tread) * ratio) / (1 - ratio)
        p = (side + min(self.tread - 1, self.steps - self.tread)) / (2 * side - 1)
        slots, residues, ambiguous = cells.realise(piece_weights(self)[0], (TAIL_UP, TAIL_DOWN), INDEX_BITS)
        return atomic(symmetric_pairs(p, p * ratio), margin=3 * cells.largest_error(slots, residues, ambiguous))

    def periods(self) -> list[list[tuple[int, int, int]]]:
        """(first, length, heights fallen) of one period's pieces: z >= 0, and magnitudes of z < 0, which start at 1."""
        up = [(0, self.tread, 0), (self.tread, self.steps - self.tread, 1)]
        down = [(1, self.tread - 1, 0), (self.tread, self.steps - self.tread, 1), (self.steps, 1, 1)]
        return [[piece for piece in side if piece[1]] for side in (up, down)]

    @property
    def variance(self) -> float:
        """In squared steps: the sum of the squares of each period, exactly, weighted by its height."""
        return self._expectation(lambda low, high: (high**3 - low**3) / 3 - (high**2 - low**2) / 2 + (high - low) / 6)

    def _expectation(self, sum_over: Any) -> float:
        ratio = math.exp(-float(self.rate.exact))
        total = mass = 0.0
        for k in range(math.ceil(60 / float(self.rate.exact)) + 1):
            height = ratio**k
            for start, stop, fall in ((0, self.tread, 0), (self.tread, self.steps, 1)):
                low, high = k * self.steps + start, k * self.steps + stop
                total += 2 * height * ratio**fall * float(sum_over(low, high))
                mass += 2 * height * ratio**fall * (high - low)
        return total / (mass - 1)

    def log_pmf(self, z: np.ndarray) -> np.ndarray:
        """Ln P(z), z in whole steps."""
        period, rest = np.divmod(np.abs(z), self.steps)
        falls = period + (rest >= self.tread)
        logs: np.ndarray = -float(self.rate.exact) * falls - math.log(self._one_over_peak())
        return logs

    def cdf(self, z: np.ndarray) -> np.ndarray:
        """P(noise <= z), z in whole steps."""
        ratio, z = math.exp(-float(self.rate.exact)), np.asarray(z, np.float64)
        inside = np.where(z < 0, -z - 1, z)  # P(|noise| <= inside), from the geometric sum of whole periods
        period, rest = np.divmod(inside + 1, self.steps)
        whole = self.tread + ratio * (self.steps - self.tread)
        own = np.minimum(rest, self.tread) + ratio * np.maximum(rest - self.tread, 0)
        side = whole * (1 - ratio**period) / (1 - ratio) + ratio**period * own
        within = (2 * side - 1) / self._one_over_peak()
        return np.where(z < 0, np.where(inside < 0, 0.0, (1 - within) / 2), (1 + within) / 2)

    def half_width(self, level: float) -> int:
        """The smallest w with P(|z| <= w) >= level."""
        low, high = -1, self.steps
        while self._mass_up_to(high) < level:
            low, high = high, high * 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._mass_up_to(middle) >= level else (middle, high)
        return high

    def _mass_up_to(self, width: int) -> float:
        return self._expectation(lambda low, high: max(0, min(high, width + 1) - low)) - 1 / self._one_over_peak()

    def _one_over_peak(self) -> float:
        """Total mass relative to P(0)."""
        ratio = math.exp(-float(self.rate.exact))
        return (2 * (self.tread + (self.steps - self.tread) * ratio) / (1 - ratio)) - 1

    def sampler(self) -> Fill:
        pieces = build(self)
        return lambda key, slot, _first, _steps, scratch, out: fill_stairs(key, slot, *pieces, scratch, out)


class StaircaseEach:
    """A staircase law of its own for each record."""

    def __init__(self, rates: np.ndarray, steps: np.ndarray, treads: np.ndarray) -> None:
        self._numerators, self._shifts = rates_below(rates)
        self._steps, self._treads = steps.astype(np.uint64), treads.astype(np.uint64)
        self.rates = np.ldexp(self._numerators.astype(np.float64), -self._shifts.astype(np.int64))

    def _each(self, statistic: Callable[[StaircaseLaw], float]) -> np.ndarray:
        """A number of each record's law, computed once per different law."""
        laws = np.stack([self._numerators, self._shifts, self._steps, self._treads])
        different, where = np.unique(laws, axis=1, return_inverse=True)
        values = [statistic(StaircaseLaw(Rate(int(n), int(s)), int(d), int(t))) for n, s, d, t in different.T]
        return np.array(values, np.float64)[where.reshape(-1)]

    def cost(self) -> float:
        """The worst record's epsilon, rounded up."""
        return rounding.up(float(self.rates.max(initial=0.0)))

    def loss(self) -> AtomicLoss:
        """The privacy loss of any law of the worst record's epsilon."""
        return statement(self.cost())

    @property
    def variance(self) -> np.ndarray:
        return self._each(lambda law: law.variance)

    def half_width(self, level: float) -> np.ndarray:
        return self._each(lambda law: law.half_width(level))

    def sampler(self) -> Fill:
        def fill(key: np.ndarray, slot: Any, first: int, _steps: Any, scratch: Scratch, out: np.ndarray) -> None:
            chosen = slice(first, first + out.size)
            parameters = (part[chosen] for part in (self._numerators, self._shifts, self._steps, self._treads))
            each.fill_stairs_each(key, slot, *parameters, scratch, out)

        return fill


def piece_weights(law: StaircaseLaw) -> tuple[dict[int, int], int, list[list[tuple[int, int, int]]]]:
    """Weights of all pieces and tails as integers, the number of periods up to the tails, and the pieces in order."""
    ratio = exp_fixed(law.rate.numerator, law.rate.shift)
    periods = max(1, math.ceil(cells.TAIL_BITS * math.log(2) / float(law.rate.exact)))
    weights: dict[int, int] = {}
    runs: list[list[tuple[int, int, int]]] = [[], []]
    sums = [0, 0]
    height = 1 << PRECISION
    for k in range(periods):
        for side, period in enumerate(law.periods()):
            for first, length, fall in period:
                weight = length * (multiply_fixed(height, ratio) if fall else height)
                number = len(runs[side])
                weights[~number if side else number] = weight
                sums[side] += weight if k == 0 else 0
                runs[side].append((k * law.steps + first, length, fall))
        height = multiply_fixed(height, ratio)
    rest = (1 << PRECISION) - ratio
    for side, tail in enumerate((TAIL_UP, TAIL_DOWN)):
        weights[tail] = multiply_fixed(sums[side], height) * (1 << PRECISION) // rest
    return weights, periods, runs


@lru_cache(maxsize=16)
def build(law: StaircaseLaw) -> Pieces:
    weights, periods, runs = piece_weights(law)
    slots, residues, _ = cells.realise(weights, (TAIL_UP, TAIL_DOWN), INDEX_BITS)
    numbers = [0, 0, 0, law.rate.numerator, law.rate.shift, 0, periods * law.steps, 16 - INDEX_BITS]
    count = max(len(side) for side in runs)
    first, length = np.zeros((2, count), np.int64), np.ones((2, count), np.uint64)
    for side in (0, 1):
        first[side, : len(runs[side])] = [run[0] for run in runs[side]]
        length[side, : len(runs[side])] = [run[1] for run in runs[side]]
    return Pieces(cells.arrange(numbers, slots, residues), first, length)
