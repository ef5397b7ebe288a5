"""Two-point reports: unbiased, with the stated variance, and no dearer than stated."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from fastdp.laws.local.two_point import TwoPointLaw
from fastdp.laws.rate import Rate


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
@pytest.mark.parametrize("t", [Fraction(-1), Fraction(-1, 3), Fraction(0), Fraction(1)])
def test_law__is_unbiased_with_the_stated_variance(epsilon, t):
    law = TwoPointLaw(Rate.below(Fraction(epsilon)))
    upper = law.q + (1 - 2 * law.q) * (1 + t) / 2
    assert (2 * upper - 1) * law.reach == t
    assert law.reach**2 - t**2 == law.variance(t)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
def test_least__costs_no_more_than_stated(epsilon):
    law = TwoPointLaw(Rate.below(Fraction(epsilon)))
    assert math.log((1 - law.q) / law.q) <= law.cost <= epsilon
    assert law.least / 2**53 == pytest.approx(1 / (math.exp(epsilon) + 1), rel=1e-8)


def test_realise__reports_lie_around_the_middle_of_the_bounds():
    found = TwoPointLaw(Rate.below(Fraction(1))).realise(10.0, 30.0)
    below, above = sorted(found[-2:])
    assert (below + above) / 2 == pytest.approx(20.0)
    assert below < 10.0
    assert above > 30.0
