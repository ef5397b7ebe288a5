"""The discrete staircase law: variance and intervals against its probabilities."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fastdp.laws.central.staircase import StaircaseEach, StaircaseLaw
from fastdp.laws.rate import Rate
from tests.reference.laws import staircase_pmf

REACH = 5000


@pytest.mark.parametrize("epsilon, steps, tread", [(1.0, 10, 3), (4.0, 7, 1), (0.5, 20, 20)])
def test_law__is_that_of_its_probabilities(epsilon, steps, tread):
    law = StaircaseLaw(Rate.below(Fraction(epsilon)), steps, tread)
    pmf, z = staircase_pmf(epsilon, steps, tread, REACH), np.arange(-REACH, REACH + 1)
    assert pmf.sum() == pytest.approx(1, rel=1e-9)
    assert law.variance == pytest.approx((pmf * z**2).sum(), rel=1e-5)
    width = law.half_width(0.9)
    assert pmf[np.abs(z) <= width].sum() >= 0.9 * (1 - 1e-6)
    assert pmf[np.abs(z) < width].sum() < 0.9 * (1 + 1e-6)
    assert epsilon * (1 - 1e-6) < law.cost() <= epsilon


def test_each__is_the_law_of_every_record():
    each = StaircaseEach(np.array([1.0, 4.0]), np.array([10.0, 7.0]), np.array([3.0, 1.0]))
    laws = [StaircaseLaw(Rate.below(Fraction(e)), s, t) for e, s, t in ((1, 10, 3), (4, 7, 1))]
    assert each.variance == pytest.approx([law.variance for law in laws], rel=1e-5)
