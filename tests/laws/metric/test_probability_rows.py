"""Rows of integers out of 2**128: in proportion to the masses, and where a draw falls among them."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest

from fastdp.laws.metric.probability_rows import (
    FRACTION_BITS,
    ONE,
    SPARE,
    arrange,
    as_integers,
    realise_offsets,
    realise_row,
    to_floats,
)

MASSES = np.array([0.5, 1e-9, 0.25, 0.1, 2.0**-60])


def test_as_integers__are_exact():
    assert as_integers(MASSES) == [Fraction(mass) * 2**FRACTION_BITS for mass in MASSES]


def test_realise_offsets__leave_the_spare_to_the_uniform_outcome():
    shares = realise_offsets(MASSES)
    assert sum(shares) == ONE
    assert SPARE <= shares[-1] <= SPARE + len(MASSES)
    assert np.allclose(to_floats(shares[:-1]), MASSES / MASSES.sum(), rtol=1e-15)


def test_realise_row__gives_nothing_to_the_impossible_and_something_to_the_rest():
    possible = np.array([True, True, False, True, True])
    shares = realise_row(np.where(possible, MASSES, 0.0), possible)
    assert sum(shares) == ONE
    assert shares[2] == 0
    assert min(share for share, here in zip(shares, possible, strict=True) if here) >= SPARE // 4


@pytest.mark.parametrize("size", [2, 5, 300])
def test_arrange__the_guide_leads_to_the_outcome_of_every_draw(size):
    masses = np.random.default_rng(size).dirichlet(np.full(size, 0.3))
    row = realise_row(masses, np.full(size, True))
    rows = arrange([row])
    ends = list(accumulate(row))
    bits = rows.guide.shape[1].bit_length() - 1
    for slot, found in enumerate(rows.guide[0].tolist()):
        first, last = slot << 128 - bits, (slot + 1 << 128 - bits) - 1
        lowest = next(y for y, end in enumerate(ends) if first < end)
        highest = next(y for y, end in enumerate(ends) if last < end)
        assert (found if found >= 0 else ~found) <= lowest
        assert found < 0 or lowest == highest == found
