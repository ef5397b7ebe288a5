"""Weights and acceptances of selections, against exact exponentials."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import fastdp as fd
from fastdp.laws.central.selection import MARGIN, SelectionLaw
from fastdp.laws.fixed_point import PRECISION
from fastdp.laws.rate import Rate
from fastdp.random.integers import Integers

RATES = [Fraction(1, 3), Fraction(5), Fraction(1, 10**6), Fraction(1, 2**22)]


def exact(law: SelectionLaw, gap: int) -> mpmath.mpf:
    return mpmath.exp(-mpmath.mpf(law.rate.exact.numerator) * gap / law.rate.exact.denominator)


@pytest.mark.parametrize("rate", RATES)
def test_bucket_weights__are_within_the_margin(rate):
    """Every bucket's near end, and each is wide enough to be left at e**-1/4 or more."""
    law = SelectionLaw(Rate.below(rate))
    with mpmath.workdps(150):
        for bucket, weight in enumerate(law.bucket_weights()):
            off = mpmath.log(mpmath.mpf(weight) / 2**PRECISION / exact(law, bucket << law.shift))
            assert abs(off) < mpmath.mpf(MARGIN.numerator) / MARGIN.denominator
    assert len(law.bucket_weights()) == law.buckets
    assert law.shift == 0 or Fraction(1, 8) < law.rate.exact * 2**law.shift <= Fraction(1, 4)


@pytest.mark.parametrize("rate", RATES)
def test_acceptances__bracket_the_probability(rate):
    """The sure threshold is below the probability of a bucket's farthest gap, the possible one above its nearest."""
    law = SelectionLaw(Rate.below(rate))
    shift, sure, possible = law.acceptances()
    with mpmath.workdps(60):
        for bucket in {0, 1, 2, sure.size // 2, sure.size - 2, sure.size - 1}:
            near, far = (exact(law, gap) * 2**32 for gap in (bucket << shift, ((bucket + 1) << shift) - 1))
            assert int(sure[bucket]) <= far
            assert int(possible[bucket]) >= mpmath.floor(near)
            assert shift or bucket == sure.size - 1 or int(possible[bucket]) - int(sure[bucket]) <= 1
    assert sure.max() <= 1 << 32


@pytest.mark.parametrize("gap", [0, 1, 5, 40])
def test_accepts__has_its_probability(gap):
    law, integers = SelectionLaw(Rate.below(Fraction(1, 12))), Integers(fd.Rng.unsafe_seed(gap).reserve(1))
    p = float(exact(law, gap))
    hits = np.mean([law.accepts(gap, integers) for _ in range(5000)])
    assert abs(hits - p) <= 3.5 * (p * (1 - p) / 5000) ** 0.5


def test_rescaled__is_the_same_law():
    law = SelectionLaw(Rate.below(Fraction(3, 7)))
    for bits in (-5, 0, 3, 60):
        assert law.rescaled(bits).rate.exact == law.rate.exact * Fraction(2) ** bits
