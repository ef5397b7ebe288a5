"""Coins of protocols that favour some reports by e**epsilon: 128-bit thresholds, rounded toward more noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fastdp import rounding, validation
from fastdp.errors import ParameterError
from fastdp.laws.fixed_point import PRECISION, exp_fixed
from fastdp.laws.rate import Rate

ODDS_BITS = 128
LARGEST_EPSILON = 40
SMALLEST_EPSILON = 1e-6
"""Below it, estimates would lose more than six digits to float64: they divide by p - q."""


@dataclass(frozen=True, slots=True)
class Odds:
    """Heads with probability favoured * e**epsilon / (favoured * e**epsilon + others), rounded down.

    A protocol that chooses uniformly among reports of one kind on heads and of another on tails, their numbers in the
    ratio of ``favoured`` to ``others``, has reports whose probabilities differ by a factor of e**epsilon at most.
    """

    rate: Rate  # epsilon, rounded down
    favoured: int
    others: int

    @property
    def threshold(self) -> int:
        """How many of 2**128 outcomes are heads."""
        shrink = exp_fixed(self.rate.numerator, self.rate.shift) + (1 << 16)
        heads = self.favoured << PRECISION
        return (heads << ODDS_BITS) // (heads + self.others * shrink)

    @property
    def words(self) -> tuple[np.uint64, np.uint64]:
        """The upper and the lower half of the threshold."""
        threshold = self.threshold
        return np.uint64(threshold >> 64), np.uint64(threshold & (1 << 64) - 1)

    @property
    def heads(self) -> Fraction:
        """The probability of heads as realised."""
        return Fraction(self.threshold, 1 << ODDS_BITS)

    @property
    def cost(self) -> float:
        """The epsilon of the realised coin, rounded up: heads are rounded down, so it is at most the rate."""
        return rounding.float_up(self.rate.exact)


def resolvable_epsilon(owner: str, value: object, name: str = "epsilon") -> float:
    """An epsilon that thresholds of 128 bits and estimates in float64 resolve."""
    epsilon = validation.positive(owner, name, value)
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise ParameterError(
            f"{owner}: {name} must be at least {SMALLEST_EPSILON} and at most {LARGEST_EPSILON}, the sampler's "
            f"resolution, got {epsilon}"
        )
    return epsilon
