"""The integers of a two-point report, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fastdp import rounding
from fastdp.kernels.local.numeric import TwoPoint
from fastdp.laws.fixed_point import PRECISION, exp_fixed
from fastdp.laws.loss_atoms import Pair, symmetric_pairs
from fastdp.laws.rate import Rate

BITS = 53
"""Bits of the ends of the threshold: both the least and its complement are float64 numbers."""


def exp_above(rate: Rate) -> int:
    """e**-rate as an integer out of 2**PRECISION, rounded up."""
    return exp_fixed(rate.numerator, rate.shift) + (1 << 8)


@dataclass(frozen=True, slots=True)
class TwoPointLaw:
    """Report the upper value with a probability between a and 1 - a, affine in the value; a = least / 2**53."""

    rate: Rate  # epsilon, rounded down

    @property
    def least(self) -> int:
        """2**53 / (e**epsilon + 1), rounded up."""
        weight = exp_above(self.rate)
        return -(-(weight << BITS) // (weight + (1 << PRECISION)))

    @property
    def cost(self) -> float:
        """(1 - a) / a is at most e**rate, since a is rounded up; rounded up."""
        return rounding.float_up(self.rate.exact)

    @property
    def q(self) -> Fraction:
        """The probability of the upper value at the lower bound."""
        return Fraction(self.least, 1 << BITS)

    @property
    def reach(self) -> Fraction:
        """Half the distance of the two reports when the values lie in [-1, 1]: 1 / (1 - 2a)."""
        return 1 / (1 - 2 * self.q)

    def pairs(self) -> list[Pair]:
        """The probabilities of reports of both bounds; those of other values are mixtures of them."""
        return symmetric_pairs(1 - self.q, self.q)

    def variance(self, t: Fraction) -> Fraction:
        """The variance of the report of a value t in [-1, 1]."""
        return self.reach**2 - t**2

    def realise(self, low: float, high: float) -> TwoPoint:
        """The law for values in [low, high], as the kernel reads it."""
        least, most = float(self.q * 65536), float((1 - self.q) * 65536)
        middle, half = (Fraction(low) + Fraction(high)) / 2, (Fraction(high) - Fraction(low)) / 2
        slope = (most - least) / float(2 * half)
        return TwoPoint(low, slope, least, most, float(middle - self.reach * half), float(middle + self.reach * half))
