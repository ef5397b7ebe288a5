"""Per-record laws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fastdp.kernels import words
from fastdp.noise.gaussian import GaussianEach
from fastdp.noise.laplace import LaplaceEach, LaplaceLaw, LaplaceWithin
from fastdp.noise.rates import Rate
from fastdp.noise.staircase import StaircaseEach
from tests.reference.laws import gaussian_pmf, laplace_pmf, staircase_pmf
from tests.reference.statistics import chisquare_p

KEY = np.arange(8, dtype=np.uint32)


def draws_of(law, count: int) -> np.ndarray:
    out = np.zeros(count, np.int64)
    law.sampler()(KEY, np.uint64(11), 0, None, words.make_scratch(), out)
    return out


def test_fill_laplace_each__follows_each_records_law():
    """Three laws in turn, told apart afterwards: 3e6 draws; 1 % off is rejected."""
    rates = np.array([2.1, 0.3, 0.011])
    count = 3_000_000
    law = LaplaceEach(np.resize(rates, count))
    draws = draws_of(law, count)
    for i in range(3):
        reach = int(25 / rates[i]) + 3
        assert chisquare_p(draws[i::3], laplace_pmf(law.rates[i], reach), -reach) > 1e-3
        assert chisquare_p(draws[i::3], laplace_pmf(law.rates[i] * 1.01, reach), -reach, bins=50) < 1e-3


def test_fill_gaussian_each__follows_each_records_law():
    sigmas = np.array([0.4, 3.7, 81.0])
    count = 3_000_000
    law = GaussianEach(np.resize(sigmas, count))
    draws = draws_of(law, count)
    for i in range(3):
        reach = int(9 * sigmas[i]) + 3
        assert chisquare_p(draws[i::3], gaussian_pmf(law.sigma[i], reach), -reach) > 1e-3
        assert chisquare_p(draws[i::3], gaussian_pmf(law.sigma[i] * 1.01, reach), -reach, bins=50) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.5, 3.7, 81.0])
def test_each__follows_its_law_over_1e7_draws(scale):
    """One law for all records, 1e7 draws of both kinds; 1 % off is rejected."""
    count, reach = 10_000_000, int(25 * scale) + 5
    laplace, gauss = LaplaceEach(np.full(count, 1 / scale)), GaussianEach(np.full(count, scale))
    for law, pmf, parameter in (
        (laplace, laplace_pmf, float(laplace.rates[0])),
        (gauss, gaussian_pmf, float(gauss.sigma[0])),
    ):
        draws = draws_of(law, count)
        assert chisquare_p(draws, pmf(parameter, reach), -reach) > 1e-3
        assert chisquare_p(draws, pmf(parameter * 1.01, reach), -reach, bins=50) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.4, 1.5, 4.0])
def test_stairs_each__follow_their_law_over_1e7_draws(epsilon):
    """One staircase for all records; a rate 1 % larger is rejected."""
    count, steps, tread, reach = 10_000_000, 17, 6, 900
    law = StaircaseEach(np.full(count, epsilon), np.full(count, steps), np.full(count, tread))
    draws, rate = draws_of(law, count), float(law.rates[0])
    assert chisquare_p(draws, staircase_pmf(rate, steps, tread, reach), -reach) > 1e-3
    assert chisquare_p(draws, staircase_pmf(rate * 1.01, steps, tread, reach), -reach, bins=50) < 1e-6


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


@pytest.mark.parametrize("scale", [2.0**20 * 1.3, 2.0**24 * 1.9])
def test_each__is_right_on_a_fine_grid(scale):
    """Mean square and fourth moment of wide draws, within five standard errors."""
    count = 300_000
    laplace = draws_of(LaplaceEach(np.full(count, 1 / scale)), count) / scale
    gauss = draws_of(GaussianEach(np.full(count, scale)), count) / scale
    for draws, second, fourth, eighth in ((laplace, 2, 24, 40320), (gauss, 1, 3, 105)):
        assert abs((draws**2).mean() - second) < 5 * np.sqrt((fourth - second**2) / count)
        assert abs((draws**4).mean() - fourth) < 5 * np.sqrt((eighth - fourth**2) / count)
