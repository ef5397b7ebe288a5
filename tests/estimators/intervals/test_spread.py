"""Standard errors and intervals against simulation and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from fastdp.channels import DenseChannel, KRRChannel
from fastdp.estimators import estimate, ibu


def simulate(channel, truth, n, samples, seed=1):
    chances = channel.forward(truth)
    return np.random.default_rng(seed).multinomial(n, chances / chances.sum(), size=samples)


@pytest.mark.parametrize(
    "channel",
    [KRRChannel(4, 0.55, 0.15), DenseChannel(np.random.default_rng(0).dirichlet(np.full(7, 0.5), size=4))],
    ids=["krr", "dense"],
)
def test_information__is_the_spread_of_samples(channel):
    truth = np.array([0.4, 0.3, 0.2, 0.1])
    counts = simulate(channel, truth, 20_000, 800)
    found = np.array([one.distribution for one in ibu(channel, counts)])
    claimed = ibu(channel, counts[0], tolerance=1e-10)
    assert claimed._get_spread()._information is not None
    np.testing.assert_allclose(claimed.std_error, found.std(axis=0), rtol=0.12)


def test_krr__has_the_protocols_own_error():
    """That of the reports, plus f (1 - f) / n for which people happen to be asked."""
    mechanism = fd.KRR(epsilon=1.5, domain=5)
    truth = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
    counts = 1e6 * mechanism.channel().forward(truth)
    expected = np.sqrt([mechanism.variance(10**6, f) + f * (1 - f) / 10**6 for f in truth])
    np.testing.assert_allclose(ibu(mechanism.channel(), counts).std_error, expected, rtol=1e-9)


def test_intervals__cover():
    channel, truth = KRRChannel(4, 0.55, 0.15), np.array([0.4, 0.3, 0.2, 0.1])
    inside = []
    for counts in simulate(channel, truth, 20_000, 300):
        low, high = ibu(channel, counts).interval(0.9)
        inside.append((low <= truth) & (truth <= high))
    assert np.mean(inside) == pytest.approx(0.9, abs=0.03)


def test_boundary__is_bootstrapped():
    """An entry at 0 that noise put there: the information matrix says nothing of it."""
    channel = KRRChannel(6, 0.3, 0.14)
    counts = simulate(channel, np.array([0.7, 0.3, 0, 0, 0, 0]), 500, 1)[0]
    found = ibu(channel, counts)
    assert found._get_spread()._information is None
    assert (found.std_error > 0).all()
    low, high = found.interval(0.95)
    assert (low <= found.distribution).all()
    assert (found.distribution <= high).all()
    assert (low >= 0).all()
    assert (high <= 1).all()


def test_bootstrap__is_the_spread_of_samples():
    channel, truth = KRRChannel(6, 0.4, 0.12), np.array([0.6, 0.3, 0.1, 0, 0, 0])
    counts = simulate(channel, truth, 3000, 600)
    found = np.array([ibu(channel, row).distribution for row in counts]).std(axis=0)
    claimed = np.mean([ibu(channel, row).std_error for row in counts[:12]], axis=0)
    np.testing.assert_allclose(claimed, found, rtol=0.35)


@pytest.mark.parametrize("regularize", ["cv", "early", "smooth"])
def test_regularised__has_an_error_too(regularize):
    channel = fd.Geometric(epsilon=0.3, bounds=(0, 29)).channel()
    truth = np.exp(-(((np.arange(30) - 12) / 5) ** 2))
    counts = simulate(channel, truth / truth.sum(), 2000, 40)
    found = [estimate(channel, row, regularize=regularize) for row in counts]
    spread = np.array([one.distribution for one in found]).std(axis=0)
    assert 0.3 < np.mean(found[0].std_error) / np.mean(spread) < 3
    assert np.array_equal(found[0].std_error, estimate(channel, counts[0], regularize=regularize).std_error)


def test_em__is_bootstrapped_with_as_many_steps():
    channel = DenseChannel(np.random.default_rng(0).dirichlet(np.full(7, 0.5), size=4))
    counts = simulate(channel, np.full(4, 0.25), 1000, 200)
    found = [ibu(channel, row, method="em", max_iterations=5) for row in counts]
    spread = np.array([one.distribution for one in found]).std(axis=0)
    np.testing.assert_allclose(found[0].std_error, spread, rtol=0.35)


def test_generalised__narrows_the_error():
    channels = [KRRChannel(3, 0.5, 0.25), KRRChannel(3, 0.7, 0.15)]
    truth = np.array([0.5, 0.3, 0.2])
    parts = [(channel, 1e5 * channel.forward(truth)) for channel in channels]
    both, second = ibu(parts), ibu(parts[1:])
    assert (both.std_error < second.std_error).all()


@pytest.mark.parametrize("level", [0, 1, -0.5, 2, np.nan, "x", True])
def test_interval__refuses_levels(level):
    with pytest.raises(fd.ParameterError, match="level"):
        ibu(KRRChannel(2, 0.75, 0.25), [60, 40]).interval(level)
