"""Two tables of a Laplace law: together they give each outcome its weight."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fastdp.kernels.cell_tables import AMBIGUOUS
from fastdp.kernels.central.two_digits import UNDECIDED
from fastdp.laws.central import two_digits
from fastdp.laws.rate import Rate

SCALES = [128.0, 700.0, 2047.0]


def rate_of(scale):
    return Rate.below(1 / Fraction(scale))


@pytest.mark.parametrize(("scale", "served"), [(100.0, False), (200.0, True), (2047.0, True), (2049.0, False)])
def test_serves__scales_between_its_ends(scale, served):
    assert two_digits.serves(rate_of(scale)) == served


@pytest.mark.parametrize("scale", SCALES)
def test_digits__fall_at_the_rate_of_the_law(scale):
    """Entries and residues of a digit together are in proportion to e**(-rate digit); 0.1 % more is seen."""
    rate = rate_of(scale)
    fine = two_digits.build(rate).fine
    entries = fine.table.cells[fine.table.cells != AMBIGUOUS]
    size = int(entries.max()) + 1
    found = np.bincount(entries, minlength=size) / 65536
    left = 1 - entries.size / 65536
    residues = np.array([fine.residues.get(digit, 0) for digit in range(size)], float)
    found += left * residues / residues.sum()
    expected = np.exp(-float(rate.exact) * np.arange(size))
    assert np.allclose(found, expected / expected.sum(), rtol=1e-9)
    other = np.exp(-1.001 * float(rate.exact) * np.arange(size))
    assert not np.allclose(found, other / other.sum(), rtol=1e-6)


@pytest.mark.parametrize("scale", SCALES)
def test_coarse_bytes__are_the_cells(scale):
    digits = two_digits.build(rate_of(scale))
    cells = digits.coarse.table.cells
    assert np.array_equal(digits.coarse_bytes == UNDECIDED, cells == AMBIGUOUS)
    decided = cells != AMBIGUOUS
    assert np.array_equal(digits.coarse_bytes[decided], cells[decided])
