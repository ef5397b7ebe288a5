"""Per-record laws."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels import words
from fastdp.noise.gaussian import GaussianEach
from fastdp.noise.laplace import LaplaceEach
from tests.reference.laws import gaussian_pmf, laplace_pmf
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


@pytest.mark.parametrize("scale", [2.0**20 * 1.3, 2.0**24 * 1.9])
def test_each__is_right_on_a_fine_grid(scale):
    """Mean square and fourth moment of wide draws, within five standard errors."""
    count = 300_000
    laplace = draws_of(LaplaceEach(np.full(count, 1 / scale)), count) / scale
    gauss = draws_of(GaussianEach(np.full(count, scale)), count) / scale
    for draws, second, fourth, eighth in ((laplace, 2, 24, 40320), (gauss, 1, 3, 105)):
        assert abs((draws**2).mean() - second) < 5 * np.sqrt((fourth - second**2) / count)
        assert abs((draws**4).mean() - fourth) < 5 * np.sqrt((eighth - fourth**2) / count)
