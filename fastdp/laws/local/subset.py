"""The integers of subset selection: how many values a report holds, and how its other values are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fastdp.laws.coins import Odds
from fastdp.laws.loss_atoms import atomic, symmetric_pairs
from fastdp.laws.rate import Rate
from fastdp.losses import AtomicLoss

LARGEST_REDRAWN = Fraction(1, 16)
"""The largest share of sets drawn anew for which sixteen bits per step are used rather than 32."""


class SetSteps(NamedTuple):
    """How a set is drawn: bits per step, and the number of uneven outcomes of each."""

    bits: int
    uneven: np.ndarray  # uint32[size]


def best_size(epsilon: float, k: int) -> int:
    """The number of values in a report that estimates best: k / (e**epsilon + 1), rounded, at least 1.

    >>> best_size(1.0, 100)
    27
    """
    return max(1, round(k / (math.exp(epsilon) + 1)))


@dataclass(frozen=True, slots=True)
class SubsetLaw:
    """A set of ``size`` of k values that holds the truth with probability p, its other values uniform."""

    rate: Rate  # epsilon, rounded down
    k: int
    size: int

    @property
    def odds(self) -> Odds:
        """Of the sets of this size, size of every k hold a given value."""
        return Odds(self.rate, self.size, self.k - self.size)

    @property
    def p(self) -> Fraction:
        return self.odds.heads

    @property
    def q(self) -> Fraction:
        """The other values of a set, size less 1 with the truth and size without, are spread over k - 1."""
        return (self.size - self.p) / (self.k - 1)

    @property
    def cost(self) -> float:
        """The epsilon of a report, rounded up."""
        return self.odds.cost

    def loss(self) -> AtomicLoss:
        """The privacy loss of a set of one value instead of another: what matters is which of both it holds."""
        others = self.k - 1
        return atomic(symmetric_pairs(self.p * (self.k - self.size) / others, (1 - self.p) * self.size / others))


@lru_cache(maxsize=64)
def steps(k: int, size: int) -> SetSteps:
    """The steps of sets of ``size`` values: step i draws below k - size + i."""
    bounds = range(k - size, k)
    bits = 16 if sum(Fraction((1 << 16) % bound, 1 << 16) for bound in bounds) <= LARGEST_REDRAWN else 32
    uneven = np.array([(1 << bits) % bound for bound in bounds], np.uint32)
    uneven.setflags(write=False)
    return SetSteps(bits, uneven)
