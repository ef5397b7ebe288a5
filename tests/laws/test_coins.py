"""Coins out of 2**128: thresholds rounded toward more flips, costs rounded up."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from fastdp.errors import ParameterError
from fastdp.laws.coins import (
    BITS,
    LARGEST_EPSILON,
    SMALLEST_EPSILON,
    Coin,
    Odds,
    flip_cost,
    flip_threshold,
    halves,
    log_up,
    resolvable_epsilon,
)
from fastdp.laws.rate import Rate

ONE = 1 << BITS


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 7.5, 40.0])
def test_flip_threshold__is_the_exact_one_rounded_up(epsilon):
    rate = Rate.below(Fraction(epsilon))
    with mpmath.workdps(80):
        exact = ONE / (mpmath.exp(mpmath.mpf(rate.exact.numerator) / rate.exact.denominator) + 1)
        assert 0 <= flip_threshold(rate) - exact <= 2


def test_halves__are_two_words_of_the_threshold():
    high, low = halves(0x0123456789ABCDEF_FEDCBA9876543210)
    assert (int(high), int(low)) == (0x0123456789ABCDEF, 0xFEDCBA9876543210)


def test_opposite__sums_to_one():
    assert Coin(3).exact + Coin(3).opposite.exact == 1


@pytest.mark.parametrize("threshold", [0, ONE, -1])
def test_coin__must_be_able_to_fall_on_both_sides(threshold):
    with pytest.raises(ValueError, match="both sides"):
        Coin(threshold)


@pytest.mark.parametrize("heads", [4, 8, 1000])
def test_flip_cost__is_the_log_ratio_of_both_sides(heads):
    coin = Coin(ONE // heads)
    assert flip_cost(coin) == flip_cost(coin.opposite)
    with mpmath.workdps(50):
        exact = mpmath.log(mpmath.mpf(ONE - coin.threshold) / coin.threshold)
        assert 0 <= flip_cost(coin) - exact < 1e-14


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(ONE + 1, ONE), Fraction(10**30, 7)])
def test_log_up__is_never_below_the_logarithm(ratio):
    with mpmath.workdps(80):
        exact = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
        assert exact <= log_up(ratio) <= exact * (1 + 1e-14) + 1e-300


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 3.0, 40.0])
@pytest.mark.parametrize("favoured, others", [(1, 1), (3, 97), (1000, 1)])
def test_odds__are_rounded_down(epsilon, favoured, others):
    odds = Odds(Rate.below(Fraction(epsilon)), favoured, others)
    with mpmath.workdps(100):
        growth = mpmath.exp(mpmath.mpf(odds.rate.exact.numerator) / odds.rate.exact.denominator)
        exact = favoured * growth / (favoured * growth + others) * 2**BITS
        assert 0 <= exact - odds.threshold < 2
        ratio = odds.heads / favoured / ((1 - odds.heads) / others)
        assert mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator) <= odds.cost <= epsilon


def test_odds__words_are_the_threshold():
    odds = Odds(Rate.below(Fraction(1)), 2, 5)
    high, low = odds.words
    assert (int(high) << 64) + int(low) == odds.threshold
    assert odds.heads == Fraction(odds.threshold, 1 << BITS)


@pytest.mark.parametrize("epsilon", [SMALLEST_EPSILON / 2, LARGEST_EPSILON * 1.01, 0, -1.0, float("nan"), True, "1"])
def test_resolvable_epsilon__refuses_what_the_sampler_cannot_resolve(epsilon):
    with pytest.raises(ParameterError, match="KRR: first"):
        resolvable_epsilon("KRR", epsilon, "first")
