"""Bounds: clamped, folded and resampled outputs follow their exact channels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chisquare

import fastdp as fd

EPSILONS = [0.2, 0.7, 2.5]


@pytest.mark.parametrize("boundary", ["clamp", "fold", "resample"])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_geometric__follows_its_channel(boundary, epsilon, rng):
    """Reports of each value against its row; rows of another epsilon are rejected; the channel's epsilon is met."""
    mechanism = fd.Geometric(epsilon=epsilon, bounds=(-3, 4), boundary=boundary)
    other = fd.Geometric(epsilon=epsilon * 1.05, bounds=(-3, 4), boundary=boundary).channel()
    channel = mechanism.channel()
    assert np.allclose(channel.dense().sum(axis=1), 1, atol=1e-12)
    assert epsilon * (1 - 1e-6) <= mechanism.privacy.epsilon <= epsilon
    assert channel.epsilon(1) <= mechanism.privacy.epsilon * (1 + 1e-12)
    size = 400_000
    for x in (-3, 0, 4):
        seen = np.bincount(mechanism.randomize(np.full(size, x, np.int8), rng=rng) + 3, minlength=8)
        assert chisquare(seen, channel.row(x + 3) * size).pvalue > 1e-4
    assert chisquare(seen, other.row(7) * size).pvalue < 1e-4


@pytest.mark.parametrize("scale", [0.4, 2.0, 30.0])
def test_discrete_gaussian__follows_its_channel(scale, rng):
    """Clamped reports of each value against its row; rows of a scale 5 % larger are rejected."""
    mechanism = fd.DiscreteGaussian(scale=scale, bounds=(-3, 4))
    other = fd.DiscreteGaussian(scale=scale * 1.05, bounds=(-3, 4)).channel()
    channel = mechanism.channel()
    assert np.allclose(channel.dense().sum(axis=1), 1, atol=1e-12)
    size = 400_000
    for x in (-3, 0, 4):
        seen = np.bincount(mechanism.randomize(np.full(size, x, np.int8), rng=rng) + 3, minlength=8)
        expected = channel.row(x + 3) * size
        common = expected > 10
        assert chisquare(seen[common], expected[common] * seen[common].sum() / expected[common].sum()).pvalue > 1e-4
        assert abs(seen - expected)[~common].max(initial=0) < 40
    assert abs(seen / size - other.row(7)).max() > 5 * math.sqrt(0.25 / size)
    with pytest.raises(fd.ParameterError, match="bounds"):
        fd.DiscreteGaussian(scale=scale).channel()


@pytest.mark.parametrize("sensitivity", [1, 3, 7, 50])
def test_resample__keeps_epsilon_for_any_sensitivity(sensitivity):
    """Exactly, over all pairs that far apart, also where the sensitivity exceeds the interval."""
    for epsilon in EPSILONS:
        mechanism = fd.Geometric(epsilon=epsilon, sensitivity=sensitivity, bounds=(0, 9), boundary="resample")
        assert mechanism.channel().epsilon(sensitivity) <= mechanism.privacy.epsilon * (1 + 1e-12)
        assert mechanism.privacy.epsilon <= epsilon
        plain = fd.Geometric(epsilon=epsilon, sensitivity=min(sensitivity, 9))
        assert mechanism.scale > plain.scale * (1 - 1e-9)


def test_resample__a_mutant_with_the_plain_scale_breaks_epsilon():
    """Drawing until inside without enlarging the scale is not epsilon-DP, and the channel shows it."""
    mechanism = fd.Geometric(epsilon=1.0, bounds=(0, 9), boundary="resample")
    distance = np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
    naive = np.exp(-1.0 * distance)
    naive /= naive.sum(axis=1, keepdims=True)
    assert np.abs(np.log(naive[1:] / naive[:-1])).max() > 1.2
    assert mechanism.channel().epsilon(1) <= 1.0


def test_geometric_channel__meets_the_closed_form():
    """End columns a**d / (1 + a), inner ones (1 - a) / (1 + a) a**d; capacity (2 + (n-2)(1-a)) / (1+a)."""
    mechanism = fd.Geometric(epsilon=0.7, bounds=(0, 7))
    a = math.exp(-0.7)
    dense = mechanism.channel().dense()
    assert dense[2, 0] == pytest.approx(a**2 / (1 + a), rel=1e-8)
    assert dense[2, 5] == pytest.approx((1 - a) / (1 + a) * a**3, rel=1e-8)
    assert dense.max(axis=0).sum() == pytest.approx((2 + 6 * (1 - a)) / (1 + a), rel=1e-8)


def test_geometric_channel__loses_what_the_optimum_loses():
    """Uniform prior, absolute loss, n = 8, epsilon = 0.7, best remap: 0.9921304, the linear program's value."""
    dense = fd.Geometric(epsilon=0.7, bounds=(0, 7)).channel().dense() / 8
    distance = np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    assert (dense.T @ distance).min(axis=1).sum() == pytest.approx(0.9921304, abs=1e-6)


@pytest.mark.parametrize("boundary", ["clamp", "fold", "resample"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_laplace__stays_within_bounds(boundary, dtype, rng):
    """Values outside are clamped first, infinities too; outputs lie inside."""
    mechanism = fd.Laplace(epsilon=0.8, sensitivity=1.0, bounds=(-1.3, 2.1), boundary=boundary)
    values = np.array([-math.inf, -5, -1.3, 0, 2.1, 9, math.inf] * 3000, dtype)
    out = mechanism.randomize(values, rng=rng)
    assert out.min() >= -1.3
    assert out.max() <= 2.1
    share_at_ends = np.isin(out, [out.min(), out.max()]).mean()
    assert (share_at_ends > 0.2) == (boundary == "clamp")


@pytest.mark.parametrize("epsilon", [0.05, 0.4, 3.0])
def test_laplace_resample__follows_the_conditional_law(epsilon, rng):
    """In ten bins of the interval, against the integral of the density cut to it; both samplers are reached."""
    mechanism = fd.Laplace(epsilon=epsilon, sensitivity=1.0, bounds=(0, 5), boundary="resample")
    size, x, b = 300_000, 1.0, mechanism.scale
    out = mechanism.randomize(np.full(size, x), rng=rng)
    edges = np.linspace(0, 5, 11)
    cdf = np.where(edges < x, np.exp((edges - x) / b) / 2, 1 - np.exp(-(edges - x) / b) / 2)
    mass = np.diff(cdf) / (cdf[-1] - cdf[0])
    seen = np.histogram(out, edges)[0]
    assert chisquare(seen, mass * size).pvalue > 1e-4


def test_laplace_fold__follows_the_folded_law(rng):
    mechanism = fd.Laplace(epsilon=0.5, sensitivity=1.0, bounds=(0, 3), boundary="fold")
    size, x, b = 400_000, 0.5, mechanism.scale
    seen = np.histogram(mechanism.randomize(np.full(size, x), rng=rng), np.linspace(0, 3, 13))[0]

    def cdf(y):
        return np.where(y < x, np.exp((y - x) / b) / 2, 1 - np.exp(-(y - x) / b) / 2)

    edges = np.linspace(0, 3, 13)
    mass = sum(np.diff(cdf(edges + 6 * k)) + np.abs(np.diff(cdf(-edges + 6 * k))) for k in range(-20, 21))
    assert chisquare(seen, mass / mass.sum() * size).pvalue > 1e-4


@pytest.mark.parametrize("cls", [fd.Laplace, fd.Geometric])
def test_bounds__are_refused_when_bad(cls):
    for bad in ((1, 1), (2, 1), (1,), "ab", (0, math.nan), (0, None), (0, "1"), (False, True), 3):
        with pytest.raises(fd.ParameterError, match="bounds"):
            cls(epsilon=1.0, sensitivity=1, bounds=bad)
    with pytest.raises(fd.ParameterError, match="boundary"):
        cls(epsilon=1.0, sensitivity=1, bounds=(0, 5), boundary="bounce")
    with pytest.raises(fd.ParameterError, match="needs bounds"):
        cls(epsilon=1.0, sensitivity=1, boundary="fold")
    with pytest.raises(fd.ParameterError, match="resample"):
        cls(epsilon=[1.0, 2.0], sensitivity=1, bounds=(0, 5), boundary="resample")
