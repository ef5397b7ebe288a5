"""Rates of noise as dyadic numbers, rounded toward more noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fastdp.errors import ParameterError

RATE_BITS = 32
EACH_RATE_BITS = 24
EACH_SIGMA_BITS = 26

SLACK = Fraction(1, 2**40)
"""Asked rates are cut by this part before they are rounded, so that a guarantee rounded up is still what was asked."""


def check_scale(owner: str, smallest: float, largest: float, allowed_smallest: float, allowed_largest: float) -> None:
    """Refuse a law that its sampler cannot resolve; scales are in steps of the grid."""
    if smallest < allowed_smallest:
        raise ParameterError(
            f"{owner}: a noise scale of {smallest:.6g} steps is below {allowed_smallest:.6g}, the "
            "sampler's resolution; choose a finer granularity or a smaller epsilon"
        )
    if not largest <= allowed_largest:
        raise ParameterError(
            f"{owner}: a noise scale of {largest:.6g} steps is above {allowed_largest:.6g}, the sampler's resolution; "
            "choose a coarser granularity or unit, or a larger epsilon"
        )


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
