"""Atoms of privacy losses: exact masses, logarithms without cancellation, and pairs that dominate."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from fastdp.laws.loss_atoms import atomic, dominating, log_ratio, mix, statement
from tests.laws import hockey_sticks as curves


@pytest.mark.parametrize("excess", [Fraction(1, 2**90), Fraction(1, 1000), Fraction(3), Fraction(2**100)])
def test_log_ratio__is_right_to_its_last_bits(excess):
    with mpmath.workdps(80):
        exact = mpmath.log1p(mpmath.mpf(excess.numerator) / excess.denominator)
        assert abs(log_ratio(1 + excess, Fraction(1)) / exact - 1) <= 2.0**-50
    assert log_ratio(Fraction(1), 1 + excess) == -log_ratio(1 + excess, Fraction(1))


def test_atomic__merges_equal_ratios_and_keeps_what_has_none():
    part = Fraction(1, 8)
    loss = atomic([(2 * part, part), (4 * part, 2 * part), (part, Fraction(0)), (Fraction(0), 4 * part), (part, part)])
    assert loss.losses.tolist() == [float(np.log(2)), 0.0]
    assert (loss.p.tolist(), loss.q.tolist()) == ([0.75, 0.125], [0.375, 0.125])
    assert (loss.p_infinite, loss.q_infinite) == (0.125, 0.5)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-6, 0.0), (0.3, 1e-6), (1.0, 0.0), (40.0, 1e-9)])
def test_statement__has_the_curve_of_its_epsilon_and_delta(epsilon, delta):
    loss = statement(epsilon, delta)
    assert curves.of_losses([loss], epsilon) == pytest.approx(delta)
    assert curves.of_losses([loss], 0.0) == pytest.approx(delta + (1 - delta) * np.tanh(epsilon / 2))


def test_mix__averages_curves():
    parts = [statement(0.5), statement(2.0, 0.01)]
    for at in (0.0, 0.4, 1.0):
        expected = sum(curves.of_losses([part], at) for part in parts) / 2
        assert curves.of_losses([mix(parts)], at) == pytest.approx(expected, rel=1e-13)


def test_dominating__keeps_mass_at_infinity():
    """Rows with impossible outcomes, and a matrix too large to compare."""
    pairs = dominating([[2, 2, 0], [2, 1, 1]])
    assert pairs is not None
    assert (sum(float(p) for p, q in pairs if not q), sum(float(q) for p, q in pairs if not p)) == (0.25, 0.25)
    assert dominating([[i, 1000 - i] * 20 for i in range(1, 30)]) is None


def test_dominating__is_exact_where_curves_cross():
    """The two directions of one pair of rows cross; no chord between their own kinks is exact there."""
    rows = [[50, 25, 25], [20, 30, 50]]
    pairs = dominating(rows)
    assert pairs is not None
    shares = np.array(rows) / 100
    for at in np.linspace(-1, 1, 21):
        assert curves.of_losses([atomic(pairs)], at) == pytest.approx(curves.of_channel(shares, at), abs=1e-14)
