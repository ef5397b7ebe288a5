"""The integers of a window report, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fastdp import rounding
from fastdp.kernels.local.numeric import Window
from fastdp.laws.fixed_point import PRECISION
from fastdp.laws.local.two_point import exp_above
from fastdp.laws.loss_atoms import Pair, symmetric_pairs
from fastdp.laws.rate import Rate

LEAST_BITS, MOST_BITS = 20, 28
LEAST_WIDTH = 4096
"""Cells of a window that make its rounding to whole cells immaterial; large epsilon gets more cells for it."""


@dataclass(frozen=True, slots=True)
class WindowLaw:
    """Report one of the ``width`` cells from u on with probability ``keep`` / 2**64, else one of 2**m other cells.

    The value is an integer u from 0 to U = 2**m; cells are numbered from 0 to U + width - 1.
    """

    rate: Rate  # epsilon, rounded down
    m: int
    width: int

    @classmethod
    def of_share(cls, rate: Rate, share: float, m: int = LEAST_BITS) -> WindowLaw:
        """With a window of an even number of cells, about ``share`` of the U others, and at least 2**m of these."""
        while m < MOST_BITS and share * 2.0**m < LEAST_WIDTH:
            m += 1
        return cls(rate, m, 2 * max(1, round(share * 2.0**m / 2)))

    @property
    def cells(self) -> int:
        """The U cells outside a window."""
        return 1 << self.m

    @property
    def keep(self) -> int:
        """2**64 * w e**epsilon / (w e**epsilon + U), rounded down."""
        return (self.width << 64 + PRECISION) // ((self.width << PRECISION) + (exp_above(self.rate) << self.m))

    @property
    def cost(self) -> float:
        """A cell's probabilities differ by at most e**rate, since keep is rounded down; rounded up."""
        return rounding.float_up(self.rate.exact)

    @property
    def inside(self) -> Fraction:
        """The probability of a report inside the window."""
        return Fraction(self.keep, 1 << 64)

    @property
    def densities(self) -> tuple[Fraction, Fraction]:
        """The probabilities of one cell inside the window, and of one outside, times U."""
        return self.inside * self.cells / self.width, 1 - self.inside

    @property
    def contrast(self) -> Fraction:
        """What the expected cell gains as u grows by one."""
        return self.inside - (1 - self.inside) * self.width / self.cells

    def pairs(self) -> list[Pair]:
        """The probabilities of reports of two values whose windows overlap least: of cells in one and not the other."""
        apart = min(self.width, self.cells)
        return symmetric_pairs(apart * self.inside / self.width, apart * (1 - self.inside) / self.cells)

    def moments(self, u: Fraction) -> tuple[Fraction, Fraction]:
        """The mean and variance of the cell reported for u."""
        inner, outer = self.inside / self.width, (1 - self.inside) / self.cells
        before, until, total = (_power_sums(end) for end in (u, u + self.width, Fraction(self.cells + self.width)))
        mean, square = (inner * (b - a) + outer * (c - b + a) for a, b, c in zip(before, until, total, strict=True))
        return mean, square - mean**2

    def realise(self, low: float, high: float, contrast: Fraction) -> Window:
        """The law for values in [low, high], as the kernel reads it; reports are spread by 1 / ``contrast``."""
        middle, size = (Fraction(low) + Fraction(high)) / 2, Fraction(high) - Fraction(low)
        return Window(
            low=low,
            slope=float(self.cells / size),
            cells=float(self.cells),
            shift=np.uint32(32 - self.m),
            width=np.uint32(self.width),
            uneven=np.uint32((1 << 32) % self.width),
            edge=np.int32(self.keep >> 48),
            keep=np.uint64(self.keep),
            centre=(self.cells + self.width - 1) / 2,
            step=float(size / self.cells / contrast),
            middle=float(middle),
        )


def _power_sums(count: Fraction) -> tuple[Fraction, Fraction]:
    """The sums of i and of i**2 over i < count."""
    return count * (count - 1) / 2, count * (count - 1) * (2 * count - 1) / 6
