"""The planar law: its rate rounded toward more noise, its draws by its sampler."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fastdp.kernels.stream.words import make_scratch
from fastdp.laws.metric.planar import PlanarLaw
from tests.reference.statistics import chisquare_p

RATES = [Fraction(3), Fraction(7, 10), Fraction(1, 300), Fraction(1, 10**6)]


@pytest.mark.parametrize("rate", RATES)
def test_rate__is_below_what_was_asked_by_little(rate):
    """And stated rounded up: the square of rate over the side's is at least 2."""
    law = PlanarLaw.below(rate)
    assert law.rate <= rate * (1 + Fraction(1, 1 << 90))
    assert law.rate > rate * (1 - Fraction(1, 1 << 20))
    assert (law.rate / law.side.exact) ** 2 >= 2
    assert (law.rate / law.side.exact) ** 2 < 2 + Fraction(1, 1 << 90)


@pytest.mark.parametrize("rate", [Fraction(3, 2), Fraction(2, 5)])
def test_sampler__draws_offsets_in_proportion_to_the_law(rate):
    """Offsets near 0, all others together; a rate 2 % larger is rejected."""
    law, size, reach = PlanarLaw.below(rate), 400_000, 3
    first, second = np.zeros(size, np.int64), np.zeros(size, np.int64)
    law.sampler()(np.arange(8, dtype=np.uint32), np.uint64(0), make_scratch(), first, second)
    wide = np.arange(-150, 151)
    lengths, side = np.hypot(*np.meshgrid(wide, wide, indexing="ij")), 2 * reach + 1
    inside = (np.abs(first) <= reach) & (np.abs(second) <= reach)
    cells = np.where(inside, (first + reach) * side + second + reach, side * side)

    def chances(rate):
        weights = np.exp(-rate * lengths)
        near = weights[150 - reach : 151 + reach, 150 - reach : 151 + reach].ravel() / weights.sum()
        return np.append(near, 1 - near.sum())

    assert chisquare_p(cells, chances(float(law.rate)), 0) > 1e-3
    assert chisquare_p(cells, chances(1.02 * float(law.rate)), 0) < 1e-3
