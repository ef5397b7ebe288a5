"""The discrete Gaussian law: rho, delta, variance and intervals against its probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.laws.central.gaussian import GaussianEach, GaussianLaw, delta_of, smallest_sigma
from tests.reference.laws import gaussian_delta, gaussian_pmf

SIGMAS = [0.5, 3.0, 20.0]


@pytest.mark.parametrize("sigma", SIGMAS)
def test_law__is_that_of_its_probabilities(sigma):
    law = GaussianLaw.of_sigma(sigma)
    reach = int(30 * sigma)
    pmf, z = gaussian_pmf(law.sigma, reach), np.arange(-reach, reach + 1)
    assert law.variance == pytest.approx((pmf * z**2).sum(), rel=1e-9)
    width = law.half_width(0.9)
    assert pmf[np.abs(z) <= width].sum() >= 0.9
    assert pmf[np.abs(z) < width].sum() < 0.9
    assert law.rho(2) == pytest.approx(2 / sigma**2, rel=1e-6)


@pytest.mark.parametrize("epsilon, sigma, steps", [(0.5, 3.0, 1), (1.0, 8.0, 4)])
def test_delta__is_never_below_the_exact_one(epsilon, sigma, steps):
    exact = float(gaussian_delta(epsilon, sigma, steps))
    assert exact <= delta_of(epsilon, sigma, steps) <= exact * (1 + 1e-6)


def test_smallest_sigma__meets_delta_and_a_smaller_one_does_not():
    sigma = smallest_sigma(1.0, 1e-5, 3)
    assert delta_of(1.0, sigma, 3) <= 1e-5 < delta_of(1.0, sigma * (1 - 1e-4), 3)


def test_each__is_the_law_of_every_record():
    each, laws = GaussianEach(np.array(SIGMAS)), [GaussianLaw.of_sigma(sigma) for sigma in SIGMAS]
    assert each.variance == pytest.approx([law.variance for law in laws], rel=1e-5)
    assert each.half_width(0.95).tolist() == [law.half_width(0.95) for law in laws]
