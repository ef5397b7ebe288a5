"""Rates of noise as dyadic numbers, rounded toward more noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

RATE_BITS = 32
EACH_RATE_BITS = 24
EACH_SIGMA_BITS = 26

SLACK = Fraction(1, 2**40)
"""Asked rates are cut by this part before they are rounded, so that a guarantee rounded up is still what was asked."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The number numerator / 2**shift, its numerator of at most 32 bits.

    >>> float(Rate.below(Fraction(1, 3)).exact) <= 1 / 3
    True
    """

    numerator: int
    shift: int

    @classmethod
    def below(cls, value: Fraction) -> Rate:
        """The largest such number with a numerator of 32 bits that is at most ``value`` less its slack."""
        value *= 1 - SLACK
        shift = RATE_BITS + 1 - (value.numerator.bit_length() - value.denominator.bit_length())
        numerator = int(value * Fraction(2) ** shift)
        extra = numerator.bit_length() - RATE_BITS
        return cls(numerator >> extra, shift - extra)

    @property
    def exact(self) -> Fraction:
        return Fraction(self.numerator, 1 << self.shift)


def rates_below(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numerators of 24 bits and shifts of the largest rates below each value, for ``kernels.each``."""
    mantissa, exponent = np.frexp(values * (1 - float(SLACK)))
    numerators = np.floor(np.ldexp(mantissa, EACH_RATE_BITS)).astype(np.uint64)
    return numerators, (EACH_RATE_BITS - exponent).astype(np.uint64)


def sigmas_above(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numerators of at most 26 bits and shifts of the smallest sigmas above each value, for ``kernels.each``."""
    values = values * (1 + float(SLACK))
    exponent = np.frexp(values)[1]
    shifts = np.clip(EACH_SIGMA_BITS - 1 - exponent, 0, 32)
    return np.ceil(np.ldexp(values, shifts)).astype(np.uint64), shifts.astype(np.uint64)
