"""Sums of few numbers: against all outcomes in exact arithmetic, and as narrow as is asked beside a kink."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import fastdp as fd
from fastdp.accounting.few_numbers import MOST, sum_over_counts
from fastdp.accounting.positive_part import Atoms

CASES = [
    ([0.0, 1.0, -0.5, -0.25], [0.4, 0.1, 0.2, 0.3]), ([0.0, 1.5, -0.75], [0.5, 0.25, 0.25]),
    ([1.0, -1.0, -0.125], [0.25, 0.25, 0.5]), ([0.0, 2.0, -0.01, -7.0], [0.9, 0.02, 0.05, 0.03]),
]  # fmt: skip


def exact(values, masses, n):
    """E[S+] over all sequences of outcomes."""
    pairs = [(Fraction(value), Fraction(mass)) for value, mass in zip(values, masses, strict=True)]
    total = Fraction()
    for outcome in itertools.product(pairs, repeat=n):
        total += max(sum(value for value, _ in outcome), 0) * math.prod(mass for _, mass in outcome)
    return total


def bounds(values, masses, n, about):
    atoms = Atoms(np.array(values), np.array(masses), np.abs(values))
    return sum_over_counts(*atoms, n, about)


@pytest.mark.parametrize(("values", "masses"), CASES)
@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_sum__is_that_over_all_outcomes(values, masses, n):
    due = exact(values, masses, n)
    lower, upper = bounds(values, masses, n, float(due))
    assert Fraction(lower) <= due <= Fraction(upper)
    assert upper - lower <= 1e-7 * upper
    if len(values) == 4 and n > 1:  # without the second negative value it would be another
        lower, _ = bounds(values[:3], [masses[0] + masses[3], *masses[1:3]], n, float(due))
        assert Fraction(lower) > due


@pytest.mark.parametrize("k", [2, 3, 100])
@pytest.mark.parametrize("n", [2, 20, 100, 300, MOST, MOST + 1, 10_000])
def test_shuffled_reports__have_narrow_deltas_beside_kinks_too(k, n):
    curve = fd.shuffled(fd.KRR(epsilon=3.0, domain=k), n=n)
    for epsilon in (0.3, 1.076, 1.09861228866811, 2.0):
        found = curve.delta(epsilon=epsilon)
        assert found.upper < 1e-30 or found.upper - found.lower <= 1e-5 * found.upper


def test_methods__agree(monkeypatch):
    curve = fd.shuffled(fd.KRR(epsilon=1.0, domain=5), n=200)
    found = [curve.delta(epsilon=epsilon) for epsilon in (0.1, 0.3, 0.6)]
    monkeypatch.setattr("fastdp.accounting.few_numbers.MOST", 0)
    for one, other in zip(found, [curve.delta(epsilon=epsilon) for epsilon in (0.1, 0.3, 0.6)], strict=True):
        assert one.lower <= other.upper
        assert other.lower <= one.upper
