"""The discrete Laplace law: cost, variance and intervals against its probabilities."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fastdp.laws.central.laplace import LaplaceEach, LaplaceLaw, law_within, unconditioned
from fastdp.laws.rate import Rate
from tests.reference.laws import laplace_pmf

RATES = [0.05, 0.7, 3.0]
REACH = 2000


@pytest.mark.parametrize("rate", RATES)
def test_law__is_that_of_its_probabilities(rate):
    law = LaplaceLaw(Rate.below(Fraction(rate)))
    pmf, z = laplace_pmf(rate, REACH), np.arange(-REACH, REACH + 1)
    assert law.variance == pytest.approx((pmf * z**2).sum(), rel=1e-6)
    width = law.half_width(0.9)
    assert pmf[np.abs(z) <= width].sum() >= 0.9 * (1 - 1e-9)
    assert width == 0 or pmf[np.abs(z) < width].sum() < 0.9 * (1 + 1e-9)
    assert rate * 5 * (1 - 1e-6) < law.cost(5) <= rate * 5


def test_each__is_the_law_of_every_record():
    each = LaplaceEach(np.array(RATES))
    laws = [LaplaceLaw(Rate.below(Fraction(rate))) for rate in RATES]
    assert each.variance == pytest.approx([law.variance for law in laws], rel=1e-5)
    assert each.half_width(0.95).tolist() == [law.half_width(0.95) for law in laws]


def test_within__keeps_epsilon_by_a_wider_law():
    law = law_within(1.0, 4, 40)
    assert law.cost(4) <= 1.0
    assert unconditioned(law).rate.exact < Fraction(1, 4)
    plain = LaplaceLaw(Rate.below(Fraction(1)))
    assert unconditioned(plain) is plain
