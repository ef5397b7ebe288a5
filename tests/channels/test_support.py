"""Likelihoods of reports that are sets: from the mechanisms' own reports, in agreement with their whole channels."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastdp as fd
from fastdp.channels import SupportChannel


@pytest.mark.parametrize(
    "mechanism", [fd.UnaryEncoding(epsilon=1.0, domain=5), fd.UnaryEncoding(epsilon=2.0, domain=9, optimized=False)]
)
def test_unary__has_the_gradient_of_the_whole_channel(mechanism):
    """Up to a constant in the likelihood."""
    k = mechanism.domain.size
    reports = mechanism.randomize(np.arange(300) % 3, rng=fd.Rng.unsafe_seed(1))
    whole = mechanism.channel()
    bits = np.unpackbits(reports, axis=1, bitorder="little")[:, :k]
    counts = np.bincount(bits @ (1 << np.arange(k)), minlength=1 << k)
    channel = SupportChannel(reports, k, mechanism.epsilon)
    starts = np.random.default_rng(1).dirichlet(np.ones(k), 2)
    found = [channel.gradient(p, np.ones(300)) for p in starts]
    expected = [whole.gradient(p, counts) for p in starts]
    for (g, _), (h, _) in zip(found, expected, strict=True):
        assert np.allclose(g, h, rtol=1e-5)  # the odds are rounded to what can be drawn
    assert found[0][1] - found[1][1] == pytest.approx(expected[0][1] - expected[1][1], rel=1e-5)
    assert channel.epsilon() == pytest.approx(mechanism.epsilon)


def test_subset__has_the_gradient_of_the_whole_channel():
    mechanism = fd.SubsetSelection(epsilon=0.7, domain=7)
    reports = mechanism.randomize(np.arange(200) % 4, rng=fd.Rng.unsafe_seed(2))
    packed = [int((1 << values).sum()) for values in mechanism.sets()]
    counts = [int((reports[:, 0] == number).sum()) for number in packed]
    p = np.random.default_rng(1).dirichlet(np.ones(7))
    g, _ = SupportChannel(reports, 7, 0.7).gradient(p, np.ones(200))
    assert np.allclose(g, mechanism.channel().gradient(p, counts)[0], rtol=1e-5)


def test_hashes__support_what_the_mechanism_counts():
    mechanism = fd.LocalHashing(epsilon=1.0, domain=37)
    reports = mechanism.randomize(np.arange(500) % 37, rng=fd.Rng.unsafe_seed(3))
    channel = SupportChannel.from_hashes(reports["seed"], reports["value"], mechanism.g, 37, 1.0)
    assert np.array_equal((channel.dense() > 1).sum(axis=1), mechanism.aggregate(reports).support)


def test_counts__stand_for_repeated_reports():
    sets = np.random.default_rng(1).integers(0, 256, (50, 3), np.uint8)
    often = np.random.default_rng(2).integers(0, 4, 50)
    p = np.random.default_rng(3).dirichlet(np.ones(24))
    g, likelihood = SupportChannel(sets, 24, 1.0).gradient(p, often)
    h, same = SupportChannel(np.repeat(sets, often, axis=0), 24, 1.0).gradient(p, np.ones(often.sum()))
    assert np.allclose(g, h, rtol=1e-13)
    assert likelihood == pytest.approx(same)


def test_support__refuses_what_are_no_reports():
    good = np.zeros((2, 2), np.uint8)
    for sets in (good[0], good[:, :1], good.astype(np.int64), good[:0]):
        with pytest.raises(fd.ParameterError, match="SupportChannel: sets"):
            SupportChannel(sets, 12, 1.0)
    with pytest.raises(fd.InputCorruptError, match="beyond the domain"):
        SupportChannel(np.array([[0, 1 << 4]], np.uint8), 12, 1.0)
    for epsilon in (0, -1, math.nan, math.inf, "1", True):
        with pytest.raises(fd.ParameterError, match="epsilon"):
            SupportChannel(good, 12, epsilon)
    with pytest.raises(fd.InputCorruptError, match="hashes must be from 0 to 3"):
        SupportChannel.from_hashes([1, 2], [0, 4], 4, 12, 1.0)
    with pytest.raises(fd.ParameterError, match="one seed and one hash"):
        SupportChannel.from_hashes([1, 2], [0], 4, 12, 1.0)


def test_epsilon__of_reports_that_tell_nothing_apart():
    assert SupportChannel(np.array([[0], [0b111]], np.uint8), 3, 1.0).epsilon(witness=True) == (0.0, (0, 1, 0))
