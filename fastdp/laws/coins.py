"""Coins with integer thresholds: probabilities out of 2**128, rounded toward more noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fastdp import rounding, validation
from fastdp.errors import ParameterError
from fastdp.laws.fixed_point import PRECISION, exp_fixed
from fastdp.laws.loss_atoms import atomic, symmetric_pairs
from fastdp.laws.rate import Rate
from fastdp.losses import AtomicLoss

BITS = 128
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
        return (heads << BITS) // (heads + self.others * shrink)

    @property
    def words(self) -> tuple[np.uint64, np.uint64]:
        """The upper and the lower half of the threshold."""
        return halves(self.threshold)

    @property
    def heads(self) -> Fraction:
        """The probability of heads as realised."""
        return Fraction(self.threshold, 1 << BITS)

    @property
    def cost(self) -> float:
        """The epsilon of the realised coin, rounded up: heads are rounded down, so it is at most the rate."""
        return rounding.float_up(self.rate.exact)


def flip_threshold(rate: Rate) -> int:
    """1 / (e**rate + 1) as an integer out of 2**128, rounded up.

    >>> flip_threshold(Rate(1, 40)) / 2**128
    0.4999999999997726
    """
    return (1 << BITS) - Odds(rate, favoured=1, others=1).threshold


def halves(threshold: int) -> tuple[np.uint64, np.uint64]:
    """A threshold out of 2**128 as its upper and lower 64 bits."""
    return np.uint64(threshold >> 64), np.uint64(threshold & (1 << 64) - 1)


@dataclass(frozen=True, slots=True)
class Coin:
    """1 with probability threshold / 2**128; neither never nor always."""

    threshold: int

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1 << BITS:
            raise ValueError("a coin must be able to fall on both sides")

    @property
    def exact(self) -> Fraction:
        return Fraction(self.threshold, 1 << BITS)

    @property
    def halves(self) -> tuple[np.uint64, np.uint64]:
        return halves(self.threshold)

    @property
    def opposite(self) -> Coin:
        """The same coin, read from its other side."""
        return Coin((1 << BITS) - self.threshold)


def flip_loss(coin: Coin) -> AtomicLoss:
    """The privacy loss of one bit that is flipped when the coin says so."""
    return atomic(symmetric_pairs(1 - coin.exact, coin.exact))


def set_loss(truth: Coin, noise: Coin) -> AtomicLoss:
    """The privacy loss of a set that holds one value by the coin ``truth`` and others by ``noise``: of two bits."""
    p, q = truth.exact, noise.exact
    return atomic(symmetric_pairs(p * (1 - q), q * (1 - p)))


def flip_cost(coin: Coin) -> float:
    """The epsilon of one bit that is flipped when the coin says so, rounded up."""
    flips = coin.exact
    return log_up(max(flips / (1 - flips), (1 - flips) / flips))


def log_up(ratio: Fraction) -> float:
    """The natural logarithm of a ratio >= 1, rounded up: log1p is good to an ulp, and four are added."""
    return rounding.up(math.log1p(rounding.float_up(ratio - 1)))


def resolvable_epsilon(owner: str, value: object, name: str = "epsilon") -> float:
    """An epsilon that thresholds of 128 bits and estimates in float64 resolve."""
    epsilon = validation.positive(owner, name, value)
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise ParameterError(
            f"{owner}: {name} must be at least {SMALLEST_EPSILON} and at most {LARGEST_EPSILON}, the sampler's "
            f"resolution, got {epsilon}"
        )
    return epsilon
