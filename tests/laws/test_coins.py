"""Coins out of 2**128: thresholds rounded toward more flips, costs rounded up."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from fastdp.laws.coins import BITS, Coin, flip_threshold, halves, log_up, two_coin_cost
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


@pytest.mark.parametrize("threshold", [0, ONE, -1])
def test_coin__must_be_able_to_fall_on_both_sides(threshold):
    with pytest.raises(ValueError, match="both sides"):
        Coin(threshold)


def test_two_coin_cost__is_the_largest_log_ratio_of_all_four():
    one, other = Coin(ONE // 4), Coin(ONE // 8)
    assert two_coin_cost(one, other) == two_coin_cost(other, one)
    with mpmath.workdps(50):
        assert 0 <= two_coin_cost(one, other) - mpmath.log(2) < 1e-15


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(ONE + 1, ONE), Fraction(10**30, 7)])
def test_log_up__is_never_below_the_logarithm(ratio):
    with mpmath.workdps(80):
        exact = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
        assert exact <= log_up(ratio) <= exact * (1 + 1e-14) + 1e-300
