"""Rates and sigmas with few bits: always on the side of more noise, and close."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastdp.errors import ParameterError
from fastdp.laws.rate import EACH_RATE_BITS, RATE_BITS, Rate, check_scale, rates_below, sigmas_above

POSITIVE = st.floats(1e-12, 1e3)


@given(POSITIVE)
def test_rate_below__is_below_by_little(value):
    rate = Rate.below(Fraction(value))
    assert rate.numerator.bit_length() == RATE_BITS
    assert 1 - Fraction(1, 2**30) < rate.exact / Fraction(value) < 1


@given(st.lists(POSITIVE, min_size=1, max_size=20))
def test_rates_below__is_below_each_by_little(values):
    for value, numerator, shift in zip(values, *rates_below(np.array(values)), strict=True):
        assert int(numerator).bit_length() <= EACH_RATE_BITS
        assert 1 - Fraction(1, 2**22) < Fraction(int(numerator), 1 << int(shift)) / Fraction(value) < 1


@given(st.lists(st.floats(0.125, 2.0**25), min_size=1, max_size=20))
def test_sigmas_above__is_above_each_by_little(values):
    for value, numerator, shift in zip(values, *sigmas_above(np.array(values)), strict=True):
        assert 1 < Fraction(int(numerator), 1 << int(shift)) / Fraction(value) < 1 + Fraction(1, 2**22)


@pytest.mark.parametrize(
    "smallest, largest, word", [(0.1, 1.0, "finer"), (1.0, 1e9, "coarser"), (1.0, np.nan, "coarser")]
)
def test_check_scale__says_which_way_out(smallest, largest, word):
    check_scale("Laplace", 1.0, 1.0, 0.5, 100.0)
    with pytest.raises(ParameterError, match=f"Laplace: .*{word}"):
        check_scale("Laplace", smallest, largest, 0.5, 100.0)
