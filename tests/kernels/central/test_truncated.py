"""Draws conditioned on an interval: against plain Python, and against their law."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fastdp.kernels.central.truncated import fill_cell_noise_within, fill_uniform_within
from fastdp.kernels.stream import words
from fastdp.laws import cell_tables as cells
from fastdp.laws.central.laplace import LaplaceLaw, LaplaceWithin
from fastdp.laws.rate import Rate
from tests.kernels.central.draws import COUNT, KEY, START, draws_of
from tests.reference import private
from tests.reference.cells import CellSampler
from tests.reference.statistics import chisquare_p


@pytest.mark.parametrize("scale", [1.4, 60.0, 5000.0])
def test_within__agrees_with_plain_python(scale):
    """Both ways: drawing until inside, and keeping uniform values."""
    realised = cells.build(Rate.below(1 / Fraction(scale)), quadratic=False)
    sampler = CellSampler(realised, KEY)
    for kernel, reference, width in (
        (fill_cell_noise_within, private.within, int(3 * scale) + 1),
        (fill_uniform_within, private.uniform_within, int(0.9 * scale)),
    ):
        values = np.arange(COUNT) % (width + 1)
        expected = [reference(sampler, START + i, int(values[i]), width) for i in range(COUNT)]
        assert draws_of(kernel, realised.table, values, np.int64(width)) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "width"), [(1.4, 9), (40.0, 100), (300.0, 900), (5.0, 4), (60.0, 54), (1000.0, 900)])
def test_within__follows_its_law_over_1e7_draws(scale, width):
    """Draws conditioned on an interval, by both ways; a scale 1 % larger is rejected."""
    law = LaplaceWithin(LaplaceLaw(Rate.below(1 / Fraction(scale))), width)
    out, value = np.zeros(10_000_000, np.int64), width // 3
    law.sampler()(KEY, np.uint64(5), 0, np.full(out.size, value), words.make_scratch(), out)
    distance = np.abs(np.arange(width + 1) - value)

    def pmf(rate):
        weight = np.exp(-rate * distance)
        return weight / weight.sum()

    rate = float(law.law.rate.exact)
    assert chisquare_p(out + value, pmf(rate), 0) > 1e-3
    assert chisquare_p(out + value, pmf(rate / 1.01), 0, bins=8) < 1e-3
