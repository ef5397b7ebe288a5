"""The integers of k-ary randomized response: what it keeps, what it reports instead, and what that costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fastdp import rounding
from fastdp.laws.fixed_point import PRECISION, exp_fixed
from fastdp.laws.loss_atoms import Pair, symmetric, symmetric_pairs
from fastdp.laws.rate import Rate
from fastdp.losses import AtomicLoss

LARGEST_NARROW, LARGEST_WIDE = 126, 1 << 16
"""Values of a domain that one draw of 16 or of 24 bits serves; beyond it more than 1 in 100 would be flagged."""


class KRRBounds(NamedTuple):
    """Where the reports begin out of 2**128, the first after what is kept; and how to find them by arithmetic."""

    bits: np.uint64
    high: np.ndarray
    low: np.ndarray
    slope: np.uint64
    shift: np.uint64
    margin: np.uint64


@dataclass(frozen=True, slots=True)
class KRRLaw:
    """Keep the truth with probability ``keep``, else report one of k values uniformly, up to 2**-126 of a value.

    Truth is reported with p = keep + q, any other value with q = (1 - keep) / k.
    """

    rate: Rate  # epsilon, rounded down
    k: int

    def _excess(self) -> int:
        """e**epsilon - 1, rounded down: the weight of KEEP where every value has 1."""
        growth = (1 << 2 * PRECISION) // (exp_fixed(self.rate.numerator, self.rate.shift) + (1 << 16))
        return growth - (1 << PRECISION)

    @property
    def keep(self) -> Fraction:
        """The probability of KEEP as realised: an integer out of 2**128."""
        excess = self._excess()
        return Fraction((excess << 128) // (excess + (self.k << PRECISION)), 1 << 128)

    @property
    def q(self) -> float:
        return float((1 - self.keep) / self.k)

    @property
    def p(self) -> float:
        return float(self.keep + (1 - self.keep) / self.k)

    @property
    def cost(self) -> float:
        """ln(1 + keep / q) of the realised integers, rounded up.

        One value's probability is short of its share by at most three units of 2**-128, and keep is never above its
        ideal, so the ratio exceeds the ideal by at most the part that four units are of q.
        """
        rate = self.rate.exact
        excess = Fraction(4 * self.k, 1 << 126) * (1 + Fraction(math.ceil(math.exp(float(rate)))))
        return rounding.float_up(rate + excess)

    def pairs(self) -> list[Pair]:
        """The probabilities of reports of two different values."""
        other = (1 - self.keep) / self.k
        return symmetric_pairs(self.keep + other, other)

    @property
    def margin(self) -> float:
        """How far a value's share, short by up to three units of 2**-128, can be from the others', as a logarithm."""
        return rounding.float_up(Fraction(8, 1 << 128) * self.k / (1 - self.keep))

    def loss(self) -> AtomicLoss:
        """The privacy loss of a report of one value instead of another."""
        return _loss(self)


@lru_cache(maxsize=4096)
def _loss(law: KRRLaw) -> AtomicLoss:
    keep = law.keep
    other = (1 - keep) / law.k
    return symmetric(keep + other, other, margin=rounding.float_up(Fraction(8, 1 << 128) / other))


@lru_cache(maxsize=64)
def build_bounds(law: KRRLaw) -> KRRBounds:
    """The bounds of a law of up to LARGEST_WIDE values: shares of what is not kept that differ by at most 2**-128.

    Post: slope / 2**shift is at most the values per draw, and a draw's product at most its place among the values, by
          less than margin / 2**shift: further bits add up to two draws, and the slope may be that of one draw less.
    """
    bits = 16 if law.k <= LARGEST_NARROW else 24
    keep = int(law.keep * (1 << 128))
    rest = (1 << 128) - keep
    bounds = [keep + rest * value // law.k for value in range(law.k)] + [(1 << 128) - 1]
    draws = (1 << bits) - (keep >> 128 - bits)
    widest = 16 if bits == 16 else 32  # bits of the slope: its products fit the kernel's words
    shift = max(0, widest + draws.bit_length() - law.k.bit_length() - 1)
    slope = (law.k << shift) // draws
    margin = 1 << shift
    if draws > 1:
        steeper = Fraction(law.k << shift, draws - 1)
        margin = min(math.ceil(max(2 * steeper, (draws + 2) * steeper - draws * slope)) + 1, margin)
    high = np.array([bound >> 64 for bound in bounds], np.uint64)
    low = np.array([bound & (1 << 64) - 1 for bound in bounds], np.uint64)
    return KRRBounds(np.uint64(bits), high, low, np.uint64(slope), np.uint64(shift), np.uint64(margin))
