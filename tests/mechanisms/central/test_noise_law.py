"""Densities of additive mechanisms: sums, draws, closed forms, and the ratio that is the guarantee."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import fastdp as fd

DISCRETE = [
    fd.Geometric(epsilon=0.5),
    fd.Geometric(epsilon=0.05, sensitivity=3),
    fd.DiscreteGaussian(rho=0.5),
    fd.DiscreteGaussian(rho=2.0),
    fd.DiscreteGaussian(scale=40.0, sensitivity=1),
    fd.DiscreteGaussian(scale=700.0, sensitivity=1),
]
REAL = [
    fd.Laplace(epsilon=1.0, sensitivity=2.0),
    fd.Laplace(epsilon=0.3, sensitivity=1.0),
    fd.Gaussian(rho=0.5, sensitivity=1.0),
    fd.Staircase(epsilon=1.5, sensitivity=1.0),
    fd.Staircase(epsilon=4.0, sensitivity=2.5, gamma=0.3),
]


@pytest.mark.parametrize("mechanism", DISCRETE, ids=repr)
def test_pmf__sums_to_one_with_the_stated_variance_and_cdf(mechanism):
    reach = 40 * math.ceil(math.sqrt(mechanism.variance)) + 10
    z = np.arange(-reach, reach + 1)
    pmf = mechanism.law.pmf(z)
    assert pmf.sum() == pytest.approx(1, abs=1e-12)
    assert (pmf * z**2).sum() == pytest.approx(mechanism.variance, rel=1e-9)
    assert mechanism.law.cdf(z) == pytest.approx(np.cumsum(pmf), abs=1e-9)
    assert mechanism.law.pmf(0.5) == 0


@pytest.mark.parametrize("mechanism", REAL, ids=repr)
def test_pdf__integrates_to_the_cdf(mechanism):
    law, width = mechanism.law, 40 * math.sqrt(mechanism.variance)
    edges = np.linspace(-width, width, 400_001)
    middles = (edges[1:] + edges[:-1]) / 2
    mass = law.pdf(middles) * np.diff(edges)
    assert mass.sum() == pytest.approx(1, abs=2e-4)
    assert law.cdf(edges[1:]) == pytest.approx(np.cumsum(mass), abs=2e-4)
    assert (mass * middles**2).sum() == pytest.approx(mechanism.variance, rel=1e-3)


@pytest.mark.parametrize("mechanism", [*DISCRETE[:3], *REAL], ids=repr)
def test_cdf__is_that_of_the_draws(mechanism):
    zero = np.zeros(200_000, np.int64 if mechanism in DISCRETE else np.float64)
    noise = np.sort(mechanism.randomize(zero, rng=fd.Rng.unsafe_seed(3)))
    marks = np.quantile(noise, [0.03, 0.2, 0.5, 0.8, 0.97])
    expected = mechanism.law.cdf(marks)
    seen = np.searchsorted(noise, marks, side="right") / noise.size
    spread = np.sqrt(expected * (1 - expected) / noise.size)
    assert (np.abs(seen - expected) < 4.5 * spread).all()
    assert not (np.abs(seen - mechanism.law.cdf(marks * 1.03)) < 4.5 * spread).all()  # noise of another scale


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(1.0, 1.0), (0.2, 3.0), (4.0, 0.5)])
def test_laplace__has_the_density_and_the_ratio_of_the_textbook(epsilon, sensitivity):
    law = fd.Laplace(epsilon=epsilon, sensitivity=sensitivity).law
    z = np.array([-3.0, -0.5, 0.0, 1.0, 2.0]) * sensitivity
    assert law.pdf(z) == pytest.approx(stats.laplace(scale=sensitivity / epsilon).pdf(z), rel=1e-5)
    ratios = law.log_ratio(z)
    assert np.abs(ratios).max() == pytest.approx(epsilon, rel=2e-6)
    assert np.abs(law.log_ratio(z, 3 * sensitivity)).max() == pytest.approx(3 * epsilon, rel=2e-6)  # groups: k epsilon


def test_gaussian__has_the_density_of_the_textbook():
    mechanism = fd.Gaussian(epsilon=1.0, delta=1e-5, sensitivity=1.0)
    z = np.linspace(-12, 12, 25)
    normal = stats.norm(scale=math.sqrt(mechanism.variance))
    assert mechanism.law.pdf(z) == pytest.approx(normal.pdf(z), rel=1e-4)
    assert mechanism.law.cdf(z) == pytest.approx(normal.cdf(z), abs=1e-6)


def test_staircase__never_exceeds_its_epsilon():
    mechanism = fd.Staircase(epsilon=1.5, sensitivity=1.0)
    ratio = mechanism.law.log_ratio(np.linspace(-6, 6, 10_001))
    assert np.abs(ratio).max() == pytest.approx(1.5, rel=1e-6)
    assert mechanism.law.cdf(np.array([-1e9, 1e9])).tolist() == pytest.approx([0, 1], abs=1e-12)


def test_numbers_give_numbers_and_what_is_wrong_is_refused():
    law = fd.Geometric(epsilon=1.0).law
    assert isinstance(law.pmf(1), float)
    assert law.cdf(math.inf) == 1.0
    with pytest.raises(fd.ParameterError, match="has no density"):
        law.pdf(1.0)
    with pytest.raises(fd.ParameterError, match="without nan"):
        law.pmf(math.nan)
    with pytest.raises(fd.ParameterError, match="shift"):
        law.log_ratio(1, math.inf)
    with pytest.raises(fd.ParameterError, match="one parameter for all records"):
        _ = fd.Laplace(epsilon=[1.0, 2.0], sensitivity=1.0).law
    assert repr(law) == "NoiseLaw(Geometric, probabilities in steps of 1)"


@pytest.mark.parametrize("mechanism", [DISCRETE[0], REAL[0]], ids=repr)
def test_plot__shows_both_neighbours(mechanism):
    axes = mechanism.law.plot()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["value", "neighbour"]
    axes.figure.clear()
