"""The law of a selection by scores: weights that fall by e**-rate for each step below the largest score."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from fastdp import rounding
from fastdp.laws.fixed_point import PRECISION, exp_fixed, multiply_fixed
from fastdp.laws.rate import Rate
from fastdp.random.integers import Integers

BUCKETS = 1024
NEGLIGIBLE_BITS = 150
"""Gaps beyond which a candidate weighs less than 2**-150 of the best share one bucket: they are drawn at their own
weight all the same, only less fast."""
MARGIN = Fraction(1, 2**140)
"""By how much the logarithm of a weight may be off: 320 bits, of which 150 are zeros in the smallest weight, rounded
at most 1,024 times."""
WORD_BITS = 32
ACCEPTANCE_BUCKETS = 1 << 16


@dataclass(frozen=True, slots=True)
class SelectionLaw:
    """A candidate ``gap`` steps below the largest score weighs e**-(rate * gap)."""

    rate: Rate

    def rescaled(self, bits: int) -> SelectionLaw:
        """The same law in steps that are 2**bits times as wide."""
        shift = self.rate.shift - bits
        return SelectionLaw(Rate(self.rate.numerator << max(0, -shift), max(0, shift)))

    def cost(self, steps: int, *, monotone: bool) -> float:
        """The epsilon of a choice when scores move by at most ``steps``, or all in one direction; rounded up."""
        return rounding.float_up((1 if monotone else 2) * (steps * self.rate.exact + MARGIN))

    @property
    def shift(self) -> int:
        """Buckets of 2**shift steps: as wide as leaves a candidate drawn from one a chance of e**-1/4 to be kept."""
        return max(0, math.floor(math.log2(1 / (4 * self.rate.exact)))) if self.rate.exact <= Fraction(1, 4) else 0

    @property
    def buckets(self) -> int:
        """The number of buckets of gaps; the last one holds all gaps beyond."""
        width = float(self.rate.exact * 2**self.shift)
        return min(BUCKETS, math.ceil(NEGLIGIBLE_BITS * math.log(2) / width)) + 1

    def bucket_weights(self) -> list[int]:
        """The weight of a candidate at the near end of each bucket, out of 2**320."""
        return _powers(self.rate.numerator << self.shift, self.rate.shift, self.buckets)

    def accepts(self, gap: int, integers: Integers) -> bool:
        """True with probability e**-(rate * gap): a coin of e**-1 for each whole unit of it, and one for the rest.

        No gap is too large to be accepted, so that no candidate is left out.
        """
        exponent = self.rate.numerator * gap
        whole, rest = exponent >> self.rate.shift, exponent & ((1 << self.rate.shift) - 1)
        unit = exp_fixed(1, 0)
        coins = (integers.bits(PRECISION) < unit for _ in range(whole))
        return all(coins) and integers.bits(PRECISION) < exp_fixed(rest, self.rate.shift)

    def acceptances(self) -> tuple[int, np.ndarray, np.ndarray]:
        """Thresholds for 32 random bits: a shift, and two for each bucket of 2**shift gaps.

        Below the first a candidate of the bucket is accepted, above the second it is not; in between more bits decide.
        """
        return _acceptances(self.rate)

    def settles(self, gap: int, word: int, integers: Integers) -> bool:
        """Whether a uniform number with ``word`` as its first 32 bits is below e**-(rate * gap); more bits are drawn.

        A number that begins with 1,024 zeros counts as not below: that is less than 2**-1000 of anything.
        """
        if not gap:
            return True
        bits, uniform = WORD_BITS, word
        while bits < 1024:
            uniform, bits = (uniform << 256) | integers.bits(256), bits + 256
            weight = exp_fixed(self.rate.numerator * gap, self.rate.shift, bits + 64) >> 32
            if abs((uniform << 32) - weight) > 1 << 33:
                return uniform << 32 < weight
        return False


@functools.lru_cache(maxsize=8)
def _powers(numerator: int, shift: int, count: int) -> list[int]:
    """Powers of e**-(numerator / 2**shift) from the zeroth on, out of 2**320."""
    ratio = exp_fixed(numerator, shift)
    return list(accumulate(range(count - 1), lambda power, _: multiply_fixed(power, ratio), initial=1 << PRECISION))


@functools.lru_cache(maxsize=8)
def _acceptances(rate: Rate) -> tuple[int, np.ndarray, np.ndarray]:
    """See :meth:`SelectionLaw.acceptances`."""
    reach = WORD_BITS * math.log(2) / float(rate.exact)
    shift = max(0, math.ceil(math.log2(reach / ACCEPTANCE_BUCKETS)))
    size = math.ceil(reach / 2**shift) + 2
    step = exp_fixed(rate.numerator, rate.shift)
    near = _powers(rate.numerator << shift, rate.shift, size + 1)
    # The farthest gap of a bucket is one step nearer than the next bucket.
    far = [(weight << PRECISION) // step for weight in near[1:]] if shift else near[:-1]
    slack = 1 << 64  # of 2**320: more than the rounding of these weights
    sure = [max(0, weight - slack) >> (PRECISION - WORD_BITS) for weight in far]
    possible = [(weight + slack) >> (PRECISION - WORD_BITS) for weight in near[:-1]]
    sure[0] = sure[0] if shift else 1 << WORD_BITS  # the best is always accepted
    sure[-1] = 0
    return shift, np.array(sure, np.uint64), np.array(possible, np.uint64)
