"""Odds: heads rounded down, so that no report's ratio exceeds e**epsilon."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from fastdp.errors import ParameterError
from fastdp.laws.odds import LARGEST_EPSILON, ODDS_BITS, SMALLEST_EPSILON, Odds, resolvable_epsilon
from fastdp.laws.rate import Rate


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 3.0, 40.0])
@pytest.mark.parametrize("favoured, others", [(1, 1), (3, 97), (1000, 1)])
def test_threshold__is_the_exact_one_rounded_down(epsilon, favoured, others):
    odds = Odds(Rate.below(Fraction(epsilon)), favoured, others)
    with mpmath.workdps(100):
        growth = mpmath.exp(mpmath.mpf(odds.rate.exact.numerator) / odds.rate.exact.denominator)
        exact = favoured * growth / (favoured * growth + others) * 2**ODDS_BITS
        assert 0 <= exact - odds.threshold < 2
        ratio = odds.heads / favoured / ((1 - odds.heads) / others)
        assert mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator) <= odds.cost <= epsilon


def test_words__are_the_threshold():
    odds = Odds(Rate.below(Fraction(1)), 2, 5)
    high, low = odds.words
    assert (int(high) << 64) + int(low) == odds.threshold
    assert odds.heads == Fraction(odds.threshold, 1 << ODDS_BITS)


@pytest.mark.parametrize("epsilon", [SMALLEST_EPSILON / 2, LARGEST_EPSILON * 1.01, 0, -1.0, float("nan"), True, "1"])
def test_resolvable_epsilon__refuses_what_the_sampler_cannot_resolve(epsilon):
    with pytest.raises(ParameterError, match="KRR: first"):
        resolvable_epsilon("KRR", epsilon, "first")
