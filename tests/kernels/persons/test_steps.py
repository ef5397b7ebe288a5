"""Values as steps: clamped last, nulls apart, sums exact in any order."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fastdp.kernels.persons.steps import NULL, SQUARE_BITS, add_clamped, add_clamped_sum, add_rows, fill_steps

ODD = np.array([np.nan, np.inf, -np.inf, 5e-324, -0.0, 1e308, -1e308, 0.3, -7.25, 3.9999, 4.0])


def steps_of(values, low, high, per_unit, centre):
    """By fractions, one value at a time."""
    found = []
    for value in values.tolist():
        if math.isnan(value):
            found.append(None)
            continue
        clamped = Fraction(min(max(value, low), high)) * Fraction(per_unit)
        found.append(round(clamped) - centre)  # to even, as rint
    return found


@pytest.mark.parametrize(("low", "high", "per_unit", "centre"), [(0.0, 4.0, 2.0**20, 0), (-5.0, 4.0, 8.0, -4)])
def test_steps__are_those_of_exact_arithmetic(low, high, per_unit, centre):
    values = np.concatenate([ODD, np.random.default_rng(1).normal(0, 5, 500)])
    steps = np.empty(values.size, np.int32)
    fill_steps(values, low, high, per_unit, centre, steps)
    expected = steps_of(values, low, high, per_unit, centre)
    assert [None if step == NULL else int(step) for step in steps] == expected

    sums = np.zeros(3, np.int64)
    add_clamped(values, low, high, per_unit, centre, sums)
    known = [step for step in expected if step is not None]
    assert sums.tolist() == [len(known), sum(known), sum(step * step >> int(SQUARE_BITS) for step in known)]
    if centre == 0:
        plain = np.zeros(3, np.int64)
        add_clamped_sum(values, low, high, per_unit, plain)
        assert plain.tolist() == [len(known), sum(known), 0]


def test_sums__do_not_depend_on_the_order():
    """A float sum does: the mutant that this test exists for."""
    source = np.random.default_rng(2)
    values = source.gamma(2.0, 20.0, 50_001)
    shuffled = source.permutation(values)
    both = np.zeros((2, 3), np.int64)
    for one, sums in zip((values, shuffled), both, strict=False):
        add_clamped_sum(one, 0.0, 200.0, 2.0**16, sums)
    assert both[0].tolist() == both[1].tolist()
    assert np.cumsum(np.clip(values, 0, 200))[-1] != np.cumsum(np.clip(shuffled, 0, 200))[-1]


def test_add_rows__are_sums_by_key():
    source = np.random.default_rng(3)
    codes = source.integers(-1, 5, 1000).astype(np.int32)
    steps = source.integers(-(2**20), 2**20, (3, 1000)).astype(np.int32)
    steps[:, ::7] = NULL
    widths, sums = np.array([1, 2, 3]), np.zeros((5, 8), np.int64)
    add_rows(codes, steps, widths, sums)
    for code in range(5):
        mine = codes == code
        known = [steps[j, mine & (steps[j] != NULL)].astype(np.int64) for j in range(3)]
        squares = int((known[2] ** 2 >> SQUARE_BITS).sum())
        expected = [
            0,
            mine.sum(),
            known[0].sum(),
            known[1].size,
            known[1].sum(),
            known[2].size,
            known[2].sum(),
            squares,
        ]
        assert sums[code].tolist() == [int(value) for value in expected]
