"""k-ary randomized response: what is kept is never too much, and every value has the same share of the rest."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import fastdp as fd
from fastdp.laws.local.krr import KRRLaw, build_bounds
from fastdp.laws.rate import Rate

CASES = [(2, 0.1), (3, 1.0), (100, 1.0), (1000, 8.0)]


@pytest.mark.parametrize("k, epsilon", CASES)
def test_keep__is_the_exact_one_rounded_down(k, epsilon):
    law = KRRLaw(Rate.below(Fraction(epsilon)), k)
    with mpmath.workdps(80):
        growth = mpmath.exp(mpmath.mpf(law.rate.exact.numerator) / law.rate.exact.denominator)
        exact = (growth - 1) / (growth - 1 + k) * 2**128
        assert 0 <= exact - int(law.keep * (1 << 128)) < 2
    assert law.p + (k - 1) * law.q == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("k, epsilon", CASES)
def test_bounds__give_equal_shares_whose_exact_cost_is_stated(k, epsilon):
    law = KRRLaw(Rate.below(Fraction(epsilon)), k)
    bounds = build_bounds(law)
    places = [(int(high) << 64) + int(low) for high, low in zip(bounds.high, bounds.low, strict=True)]
    shares = np.diff(np.array([*places[:-1], 1 << 128], object))
    assert max(shares) - min(shares) <= 1
    ratio = Fraction(places[0] + int(max(shares)), int(min(shares)))
    with mpmath.workdps(60):
        assert mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator) <= law.cost <= epsilon


def test_keep__rounds_toward_more_noise_for_large_domains():
    source = random.Random(2)
    for _ in range(200):
        epsilon, k = 2 ** source.uniform(-4, 5), source.randrange(5000, 2**32 - 1)
        law = KRRLaw(Rate.below(Fraction(epsilon)), k)
        with mpmath.workprec(300):
            growth = mpmath.exp(mpmath.mpf(epsilon))
            assert mpmath.mpf(law.keep.numerator) / law.keep.denominator <= (growth - 1) / (growth + k - 1)
        assert law.cost <= epsilon


def test_krr__shares_are_even_and_cost_what_is_stated():
    """Every report's share of 2**128 is the smallest or one more, and keep over the smallest is within the epsilon."""
    source = random.Random(3)
    for _ in range(100):
        epsilon, k = 2 ** source.uniform(-8, 5.3), source.choice([2, 3, 10, 97, 126, 127, 1000, 65_536])
        mechanism = fd.KRR(epsilon=epsilon, domain=k)
        bounds = build_bounds(mechanism._law)
        starts = [int(high) << 64 | int(low) for high, low in zip(bounds.high, bounds.low, strict=True)]
        starts[-1] = 2**128
        shares = {b - a for a, b in itertools.pairwise(starts)}
        assert max(shares) - min(shares) <= 1
        with mpmath.workprec(300):
            realised = mpmath.log(1 + mpmath.mpf(starts[0]) / min(shares))
            assert realised <= mpmath.mpf(mechanism.privacy.epsilon)
        assert epsilon * (1 - 1e-6) <= mechanism.privacy.epsilon <= epsilon
