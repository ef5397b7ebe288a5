"""Floats: the grid, the edges of the type, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastdp as fd

MECHANISMS = [
    fd.Laplace(epsilon=1.0, sensitivity=1.0),
    fd.Gaussian(rho=0.5, sensitivity=1.0),
    fd.Staircase(epsilon=1.0, sensitivity=1.0),
    fd.Laplace(epsilon=[1.0, 2.0, 3.0], sensitivity=1.0),
]
each = pytest.mark.parametrize("mechanism", MECHANISMS, ids=["laplace", "gaussian", "staircase", "per record"])


@each
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_randomize__refuses_nan_and_infinity(mechanism, dtype):
    """Anywhere in the array, with any payload; nothing comes back."""
    payload = np.array([0x7FF8000000001234], np.uint64).view(np.float64)[0]
    for bad in (math.nan, payload, math.inf, -math.inf):
        for place in range(3):
            values = np.ones(3, dtype)
            values[place] = bad
            with pytest.raises(fd.DomainError, match="NaN" if math.isnan(bad) else "infinit"):
                mechanism.randomize(values)


def test_randomize__finds_nan_at_the_end_of_a_large_array(threads):
    threads(2)
    values = np.zeros(1_000_000)
    values[-1] = math.nan
    with pytest.raises(fd.DomainError, match="NaN"):
        MECHANISMS[0].randomize(values)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_randomize__saturates_at_the_largest_number(dtype):
    largest = np.finfo(dtype).max
    scale = float(largest) / 1e3
    mechanism = fd.Laplace(epsilon=0.001 if dtype == np.float32 else 1.0, sensitivity=min(scale, 1e260))
    out = mechanism.randomize(np.array([largest, -largest] * 500, dtype))
    assert np.isfinite(out).all()
    out = fd.Laplace(epsilon=1.0, sensitivity=1.0).randomize(np.array([largest, -largest] * 500, dtype))
    assert np.isfinite(out).all()
    assert (np.abs(out) == largest).all()


@pytest.mark.parametrize("sensitivity", [1e-280, 1e-9, 1.0, 1e9, 1e250])
@pytest.mark.parametrize("epsilon", [0.001, 1.0, 30.0])
def test_granularity__costs_less_than_a_millionth(sensitivity, epsilon):
    """By default rounding costs less than 2**-20 of sensitivity and of the scale, and is charged."""
    mechanism = fd.Laplace(epsilon=epsilon, sensitivity=sensitivity)
    scale = sensitivity / epsilon
    assert mechanism.granularity < 2**-20 * min(scale, sensitivity)
    assert scale < mechanism.scale < scale * (1 + 2**-20 + 1e-9)
    assert mechanism.privacy.epsilon <= epsilon


@pytest.mark.parametrize("granularity", [2.0**-3, 0.5, 4.0])
def test_granularity__is_charged_to_the_sensitivity(granularity):
    """Scale (floor(sensitivity / g) + 1) * g / epsilon: rounding can add a whole step to the distance."""
    mechanism = fd.Laplace(epsilon=0.5, sensitivity=1.0, granularity=granularity)
    steps = math.floor(1 / granularity) + 1
    assert mechanism.scale == pytest.approx(steps * granularity / 0.5, rel=1e-9)
    assert mechanism.granularity == granularity


def test_granularity__a_mutant_that_does_not_charge_it_breaks_epsilon():
    """Two values 1 apart can land 2 steps of 1 apart: the plain scale would cost 2 epsilon there."""
    apart = np.rint(np.array([0.5, 1.5]))
    assert apart[1] - apart[0] == 2
    mechanism = fd.Laplace(epsilon=1.0, sensitivity=1.0, granularity=1.0)
    assert mechanism.privacy.epsilon <= 1.0
    assert 2 * mechanism.granularity / mechanism.scale <= mechanism.privacy.epsilon


@pytest.mark.parametrize("granularity", [0.3, 3.0, 2.0**-1050, 2.0**-60])
def test_granularity__is_refused_when_bad(granularity):
    with pytest.raises(fd.ParameterError, match="granularity"):
        fd.Laplace(epsilon=1.0, sensitivity=1.0, granularity=granularity)


def test_epsilon__beyond_resolution_is_refused():
    for make in (
        lambda: fd.Geometric(epsilon=40.1),
        lambda: fd.Staircase(epsilon=41.0, sensitivity=1.0),
        lambda: fd.Laplace(epsilon=1e3, sensitivity=1.0, granularity=1.0),
        lambda: fd.Geometric(epsilon=1e-13),
        lambda: fd.DiscreteGaussian(scale=0.01),
        lambda: fd.Gaussian(epsilon=1.0, delta=1e-30, sensitivity=1.0),
    ):
        with pytest.raises(fd.ParameterError, match="resolution|scale"):
            make()


ANALYTIC = [(1, 1e-5, 3.73063163), (1, 1e-6, 4.22467889), (0.5, 1e-6, 8.05761848), (0.1, 1e-5, 30.74956613),
            (4, 1e-5, 1.08116185)]  # fmt: skip


@pytest.mark.parametrize(("epsilon", "delta", "sigma"), ANALYTIC)
@pytest.mark.parametrize("sensitivity", [1.0, 0.03, 77.0])
def test_gaussian__meets_the_analytic_sigma(epsilon, delta, sigma, sensitivity):
    """Within a millionth above the continuous optimum, which rounding the values costs."""
    mechanism = fd.Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    assert sigma * sensitivity * (1 - 1e-8) <= mechanism.scale <= sigma * sensitivity * (1 + 2e-6)


@pytest.mark.parametrize("rho", [0.02, 0.5, 3.0])
def test_gaussian__meets_rho(rho):
    mechanism = fd.Gaussian(rho=rho, sensitivity=2.0)
    assert mechanism.scale == pytest.approx(2 / math.sqrt(2 * rho), rel=2e-6)
    assert rho * (1 - 1e-6) <= mechanism.privacy.rho <= rho


def test_gaussian__takes_exactly_one_way_to_ask():
    for bad in (
        {"epsilon": 1.0},
        {"delta": 1e-6},
        {"rho": 1.0, "delta": 1e-6},
        {"epsilon": 1.0, "delta": 1e-6, "rho": 1.0},
        {},
        {"scale": 1.0, "rho": 1.0},
        {"epsilon": 1.0, "delta": 2.0},
    ):
        with pytest.raises(fd.ParameterError, match="Gaussian"):
            fd.Gaussian(sensitivity=1.0, **bad)


VARIANCES = [(0.1, 0.0132967251736), (0.25, 0.215012675088), (1.0, 0.999999788768)]


@pytest.mark.parametrize(("square", "variance"), VARIANCES)
def test_discrete_gaussian__has_its_variance(square, variance):
    assert fd.DiscreteGaussian(scale=math.sqrt(square)).variance == pytest.approx(variance, rel=1e-8)


def test_geometric__has_its_variance():
    assert fd.Geometric(scale=1.0).variance == pytest.approx(1.8413471884, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_staircase__follows_its_law(epsilon, rng):
    """A coarse grid, so that single outcomes can be counted; a wrong epsilon and a wrong gamma are rejected."""
    from tests.reference.laws import staircase_pmf
    from tests.reference.statistics import chisquare_p

    mechanism = fd.Staircase(epsilon=epsilon, sensitivity=1.0, granularity=2.0**-5, gamma=0.3)
    law = mechanism._law
    draws = (mechanism.randomize(np.zeros(10_000_000), rng=rng) * 32).astype(np.int64)
    reach = int(30 * law.steps / epsilon) + 200
    exact = float(law.rate.exact)
    assert chisquare_p(draws, staircase_pmf(exact, law.steps, law.tread, reach), -reach) > 1e-3
    assert chisquare_p(draws, staircase_pmf(exact * 1.01, law.steps, law.tread, reach), -reach) < 1e-3
    assert chisquare_p(draws, staircase_pmf(exact, law.steps, law.tread + 1, reach), -reach) < 1e-3


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0, 8.0])
def test_staircase__default_gamma_has_the_least_error(epsilon):
    """Mean absolute error over gamma is smallest at the default, to the grid's precision."""

    def mean_error(gamma):
        law = fd.Staircase(epsilon=epsilon, sensitivity=1.0, gamma=gamma, granularity=2.0**-10)._law
        return law._expectation(lambda low, high: (high * (high - 1) - low * (low - 1)) / 2)

    default = fd.Staircase(epsilon=epsilon, sensitivity=1.0).gamma
    best = mean_error(default)
    assert best <= mean_error(default * 1.2) + 1e-9
    assert best <= mean_error(default * 0.8) + 1e-9


class TestPerRecord:
    """One parameter per record."""

    def test_privacy__is_the_worst_records(self):
        assert fd.Laplace(epsilon=[0.1, 2.0, 1.0], sensitivity=1.0).privacy.epsilon == pytest.approx(2.0, rel=1e-6)
        assert fd.Geometric(epsilon=1.0, sensitivity=[1, 5, 2]).privacy.epsilon == pytest.approx(1.0, rel=1e-6)
        assert fd.Gaussian(rho=[0.1, 0.7], sensitivity=1.0).privacy.rho == pytest.approx(0.7, rel=1e-6)

    def test_noise__has_each_records_scale(self, rng):
        scales = np.repeat([1.0, 30.0, 900.0], 60_000)
        for mechanism, moment in (
            (fd.Laplace(scale=scales, sensitivity=1.0), 1.0),
            (fd.Gaussian(scale=scales, sensitivity=1.0), math.sqrt(2 / math.pi)),
        ):
            noise = mechanism.randomize(np.zeros(scales.size), rng=rng)
            for scale in (1.0, 30.0, 900.0):
                chosen = scales == scale
                assert np.abs(noise[chosen]).mean() == pytest.approx(scale * moment, rel=0.02)
            assert np.allclose(mechanism.scale.values, scales, rtol=1e-6)

    def test_staircase__follows_each_records_law(self, rng):
        """Three laws in turn; a wrong epsilon is rejected."""
        from tests.reference.laws import staircase_pmf
        from tests.reference.statistics import chisquare_p

        epsilons = np.array([0.4, 1.5, 4.0])
        count = 1_500_000
        mechanism = fd.Staircase(epsilon=np.resize(epsilons, count), sensitivity=1.0, granularity=2.0**-4)
        draws = (mechanism.randomize(np.zeros(count), rng=rng) * 16).astype(np.int64)
        law = mechanism._law
        for i in range(3):
            shape = int(law._steps[i]), int(law._treads[i]), 1500
            assert chisquare_p(draws[i::3], staircase_pmf(law.rates[i], *shape), -1500) > 1e-3
            assert chisquare_p(draws[i::3], staircase_pmf(law.rates[i] * 1.03, *shape), -1500, bins=50) < 1e-3
        assert mechanism.privacy.epsilon == pytest.approx(4.0, rel=1e-6)
        with pytest.raises(fd.ParameterError, match="12"):
            fd.Staircase(epsilon=[1.0, 13.0], sensitivity=1.0)

    def test_lengths__must_agree(self):
        with pytest.raises(fd.ParameterError, match="same length"):
            fd.Laplace(epsilon=[1.0, 2.0], sensitivity=[1.0, 2.0, 3.0])
        with pytest.raises(fd.ParameterError, match="2 records"):
            fd.Laplace(epsilon=[1.0, 2.0], sensitivity=1.0).randomize(np.zeros(3))

    def test_gaussian__limits_the_number_of_epsilons(self):
        with pytest.raises(fd.ParameterError, match="different values"):
            fd.Gaussian(epsilon=np.linspace(0.1, 1, 5000), delta=1e-6, sensitivity=1.0)
        mechanism = fd.Gaussian(epsilon=np.array([0.5, 1.0, 0.5]), delta=1e-6, sensitivity=1.0)
        assert mechanism.scale.values[1] == pytest.approx(4.22467889, rel=1e-5)
        assert mechanism.scale.values[0] == pytest.approx(8.05761848, rel=1e-5)
        assert mechanism.privacy.epsilon == 1.0

    def test_empty__is_fine(self):
        for mechanism in (
            fd.Laplace(epsilon=[], sensitivity=1.0),
            fd.Geometric(epsilon=[], sensitivity=1),
            fd.Gaussian(rho=[], sensitivity=1.0),
        ):
            assert mechanism.randomize([]) == []
