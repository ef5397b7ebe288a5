"""Large structured channels are measured by their rows and products, and to the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from fastdp.channels import DenseChannel, GeometricChannel, KRRChannel
from fastdp.measures import (
    expected_loss,
    joint,
    multiplicative_capacity,
    optimal_remap,
    payoff,
    posterior_vulnerability,
    prior_vulnerability,
    shannon_leakage,
)

CHANNELS = {
    "krr": lambda: fd.KRR(epsilon=1.3, domain=40).channel(),
    "geometric": lambda: fd.Geometric(epsilon=0.2, bounds=(0, 39)).channel(),
    "hadamard": lambda: fd.HadamardResponse(epsilon=1.0, domain=40).channel(),
    "hashing": lambda: fd.LocalHashing(epsilon=1.0, domain=40, cohorts=8).channel(),
    "square wave": lambda: fd.SquareWave(epsilon=1.0, bounds=(0, 1), bins=40).channel(),
}


def all_measures(channel, prior):
    gain = np.random.default_rng(4).random((17, prior.size))
    guesses = np.linspace(0, prior.size - 1, channel.shape[1])
    return np.array([
        expected_loss(channel, prior, "absolute", guesses=guesses),
        *(expected_loss(channel, prior, name, remap="optimal") for name in ("zero-one", "absolute", "squared")),
        expected_loss(channel, prior, "squared", remap=optimal_remap(channel, prior, "squared")),
        posterior_vulnerability(channel, prior),
        posterior_vulnerability(channel, prior, gain),
        prior_vulnerability(prior, gain),
        shannon_leakage(channel, prior),
        multiplicative_capacity(channel),
    ])  # fmt: skip


@pytest.mark.parametrize("name", CHANNELS)
def test_structure__changes_no_number(name, monkeypatch):
    """Blocks of a few rows and guesses, one product per guess, no matrix: as from the matrix in one piece."""
    channel = CHANNELS[name]()
    prior = np.random.default_rng(2).dirichlet(np.full(channel.shape[0], 0.5))
    expected = all_measures(DenseChannel(channel.dense()), prior)
    assert all_measures(channel, prior) == pytest.approx(expected, rel=1e-12)

    for module in (joint, payoff):
        monkeypatch.setattr(module, "BLOCK", 3 * max(channel.shape))
    monkeypatch.setattr(joint, "WRITTEN_OUT", 0)
    if "_forward" in vars(type(channel)):
        monkeypatch.setattr(type(channel), "dense", None)
    assert all_measures(channel, prior) == pytest.approx(expected, rel=1e-12)


def test_large_channels__are_never_written_out(monkeypatch):
    """k = 3,000 takes 72 MB as a matrix; its measures take a few rows, and agree with the closed forms."""
    k, p = 3000, 0.25
    channel, prior = KRRChannel(k, p, (1 - p) / (k - 1)), np.full(k, 1 / k)
    monkeypatch.setattr(KRRChannel, "dense", None)
    assert posterior_vulnerability(channel, prior) == pytest.approx(p)
    assert multiplicative_capacity(channel) == pytest.approx(k * p)
    assert expected_loss(channel, prior, "zero-one") == pytest.approx(1 - p)
    assert expected_loss(channel, prior, "zero-one", remap="optimal") == pytest.approx(1 - p)
    assert optimal_remap(channel, prior, "zero-one").tolist() == list(range(k))


def test_rows__of_impossible_inputs_are_not_read(monkeypatch):
    """A prior on three inputs reads three rows."""
    asked = []
    row = GeometricChannel.row
    monkeypatch.setattr(GeometricChannel, "row", lambda self, x: asked.append(x) or row(self, x))
    prior = np.zeros(5000)
    prior[[7, 100, 4321]] = 0.2, 0.3, 0.5
    posterior_vulnerability(GeometricChannel(5000, 0.1), prior)
    expected_loss(GeometricChannel(5000, 0.1), prior, "absolute")
    assert asked == [7, 100, 4321] * 2
