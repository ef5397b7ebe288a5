"""Windows of cells: probabilities and moments against a sum over all cells."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from fastdp.laws.local.window import LEAST_WIDTH, WindowLaw
from fastdp.laws.rate import Rate


@pytest.mark.parametrize("u", [0, 3, 16])
@pytest.mark.parametrize("width", [2, 10])
def test_moments__are_sums_over_all_cells(u, width):
    law = WindowLaw(Rate.below(Fraction(1)), 4, width)
    inner, outer = law.inside / width, (1 - law.inside) / law.cells
    chances = [inner if u <= cell < u + width else outer for cell in range(law.cells + width)]
    assert sum(chances) == 1
    mean = sum(cell * chance for cell, chance in enumerate(chances))
    square = sum(cell**2 * chance for cell, chance in enumerate(chances))
    assert law.moments(Fraction(u)) == (mean, square - mean**2)
    assert math.log(inner / outer) <= law.cost <= 1
    assert law.densities == (inner * law.cells, outer * law.cells)


def test_contrast__is_how_far_the_mean_moves():
    law = WindowLaw(Rate.below(Fraction(2)), 5, 6)
    assert law.moments(Fraction(8))[0] - law.moments(Fraction(7))[0] == law.contrast


@pytest.mark.parametrize("share", [0.001, 0.2, 1.5])
def test_of_share__is_even_and_near_the_share(share):
    law = WindowLaw.of_share(Rate.below(Fraction(1)), share)
    assert law.width % 2 == 0
    assert law.width / law.cells == pytest.approx(share, rel=2 / LEAST_WIDTH)
