"""Exponentials in fixed point, against mpmath at many more digits."""

from __future__ import annotations

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastdp.laws.fixed_point import PRECISION, exp_fixed, multiply_fixed


@given(numerator=st.integers(0, (1 << 32) - 1), shift=st.integers(24, 80))
def test_exp_fixed__is_off_by_less_than_it_says(numerator, shift):
    with mpmath.workprec(PRECISION + 200):
        exact = mpmath.exp(-mpmath.mpf(numerator) / 2**shift) * 2**PRECISION
        assert abs(exp_fixed(numerator, shift) - exact) < 2**8


def test_exp_fixed__of_nothing_is_one():
    assert exp_fixed(0, 0) == 1 << PRECISION


@pytest.mark.parametrize("a, b", [(1 << PRECISION, 12345), (3 << PRECISION - 1, 3 << PRECISION - 1), (1, 1)])
def test_multiply_fixed__rounds_down(a, b):
    assert multiply_fixed(a, b) == (a * b) // (1 << PRECISION)
