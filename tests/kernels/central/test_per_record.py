"""One parameter per record: draws against plain Python, and against each record's law."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.central import per_record as each
from fastdp.kernels.stream import words
from fastdp.laws.central.gaussian import GaussianEach
from fastdp.laws.central.laplace import LaplaceEach
from fastdp.laws.central.staircase import StaircaseEach
from fastdp.laws.rate import rates_below, sigmas_above
from tests.kernels.central.draws import COUNT, KEY, START, draws_of
from tests.reference import private
from tests.reference.laws import gaussian_pmf, laplace_pmf, staircase_pmf
from tests.reference.statistics import chisquare_p

WORDS = tuple(int(k) for k in KEY)


def draws_of_law(law, count: int) -> np.ndarray:
    out = np.zeros(count, np.int64)
    law.sampler()(KEY, np.uint64(11), 0, None, words.make_scratch(), out)
    return out


def check_each(law, parameters: np.ndarray, pmf, reaches: list[int]) -> None:
    """Of three laws in turn, each has its own draws: 3e6 draws in all; 1 % off is rejected."""
    out = draws_of_law(law, 3_000_000)
    for i, reach in enumerate(reaches):
        assert chisquare_p(out[i::3], pmf(parameters[i], reach), -reach) > 1e-3
        assert chisquare_p(out[i::3], pmf(parameters[i] * 1.01, reach), -reach, bins=50) < 1e-3


@pytest.mark.parametrize("scale", [0.03, 0.9, 33.3, 2.0**31])
def test_fill_laplace_each__agrees_with_plain_python(scale):
    rates, shifts = rates_below(np.full(COUNT, 1 / scale))
    expected = [private.laplace_each(WORDS, START + i, int(rates[0]), int(shifts[0])) for i in range(COUNT)]
    assert draws_of(each.fill_laplace_each, rates, shifts) == expected


@pytest.mark.parametrize("sigma", [0.13, 1.0, 7.7, 2.0**24 * 1.3])
def test_fill_gaussian_each__agrees_with_plain_python(sigma):
    sigmas, shifts = sigmas_above(np.full(COUNT, sigma))
    expected = [private.gaussian_each(WORDS, START + i, int(sigmas[0]), int(shifts[0])) for i in range(COUNT)]
    assert draws_of(each.fill_gaussian_each, sigmas, shifts) == expected


@pytest.mark.parametrize(
    ("epsilon", "steps", "tread"), [(0.3, 10, 4), (2.5, 1000, 200), (6.0, 2**30, 2**28), (1, 1, 1)]
)
def test_fill_stairs_each__agrees_with_plain_python(epsilon, steps, tread):
    rates, shifts = rates_below(np.full(COUNT, float(epsilon)))
    arrays = (rates, shifts, np.full(COUNT, steps, np.uint64), np.full(COUNT, tread, np.uint64))
    numbers = (int(rates[0]), int(shifts[0]), steps, tread)
    assert draws_of(each.fill_stairs_each, *arrays) == [
        private.stairs_each(WORDS, START + i, *numbers) for i in range(COUNT)
    ]


def test_fill_laplace_each__follows_each_records_law():
    rates = np.array([2.1, 0.3, 0.011])
    law = LaplaceEach(np.resize(rates, 3_000_000))
    check_each(law, law.rates, laplace_pmf, [int(25 / rate) + 3 for rate in rates])


def test_fill_gaussian_each__follows_each_records_law():
    sigmas = np.array([0.4, 3.7, 81.0])
    law = GaussianEach(np.resize(sigmas, 3_000_000))
    check_each(law, law.sigma, gaussian_pmf, [int(9 * sigma) + 3 for sigma in sigmas])


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
        draws = draws_of_law(law, count)
        assert chisquare_p(draws, pmf(parameter, reach), -reach) > 1e-3
        assert chisquare_p(draws, pmf(parameter * 1.01, reach), -reach, bins=50) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.4, 1.5, 4.0])
def test_stairs_each__follow_their_law_over_1e7_draws(epsilon):
    """One staircase for all records; a rate 1 % larger is rejected."""
    count, steps, tread, reach = 10_000_000, 17, 6, 900
    law = StaircaseEach(np.full(count, epsilon), np.full(count, steps), np.full(count, tread))
    draws, rate = draws_of_law(law, count), float(law.rates[0])
    assert chisquare_p(draws, staircase_pmf(rate, steps, tread, reach), -reach) > 1e-3
    assert chisquare_p(draws, staircase_pmf(rate * 1.01, steps, tread, reach), -reach, bins=50) < 1e-6


@pytest.mark.parametrize("scale", [2.0**20 * 1.3, 2.0**24 * 1.9])
def test_each__is_right_on_a_fine_grid(scale):
    """Mean square and fourth moment of wide draws, within five standard errors."""
    count = 300_000
    laplace = draws_of_law(LaplaceEach(np.full(count, 1 / scale)), count) / scale
    gauss = draws_of_law(GaussianEach(np.full(count, scale)), count) / scale
    for draws, second, fourth, eighth in ((laplace, 2, 24, 40320), (gauss, 1, 3, 105)):
        assert abs((draws**2).mean() - second) < 5 * np.sqrt((fourth - second**2) / count)
        assert abs((draws**4).mean() - fourth) < 5 * np.sqrt((eighth - fourth**2) / count)
