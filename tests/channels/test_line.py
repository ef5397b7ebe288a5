"""Channels on a line: published entries, underflow, and long lines."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fastdp.channels import GeometricChannel, LaplaceChannel


@pytest.mark.parametrize("epsilon", [0.3, 0.7, 2.0])
def test_geometric__has_its_published_entries(epsilon):
    a, n = math.exp(-epsilon), 8
    dense = GeometricChannel(n, epsilon).dense()
    for x, y in np.ndindex(n, n):
        inside = 1.0 if y in {0, n - 1} else 1 - a
        assert dense[x, y] == pytest.approx(inside / (1 + a) * a ** abs(x - y), rel=1e-14)


def test_geometric__loses_what_the_best_channel_loses():
    """n = 8, epsilon = 0.7, uniform prior, absolute loss: 0.9921304 by linear programming."""
    dense = GeometricChannel(8, 0.7).dense()
    steps = np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    loss = sum(min((dense[:, y] / 8) @ steps[:, guess] for guess in range(8)) for y in range(8))
    assert loss == pytest.approx(0.9921304, abs=5e-8)


@pytest.mark.parametrize("kind", [GeometricChannel, LaplaceChannel])
@pytest.mark.parametrize("size", [4999, 5000])
@pytest.mark.parametrize("rate", [0.001, 0.2, 40.0])
def test_line__of_thousands_of_inputs(kind, size, rate):
    """Against a part of the matrix; far entries underflow, products do not mind."""
    channel = kind(size, rate)
    source = np.random.default_rng(1)
    p, w = source.dirichlet(np.ones(size)), source.normal(size=size)
    some = source.integers(0, size, 50)
    some[:2] = 0, size - 1
    everything = np.arange(size)
    assert np.allclose(channel.forward(p)[some], p @ channel.select(everything, some), rtol=1e-11)
    assert np.allclose(channel.backward(w)[some], channel.select(some, everything) @ w, rtol=1e-11, atol=1e-13)
    assert channel.forward(p).sum() == pytest.approx(1, abs=1e-11)
    counts = source.poisson(0.3, size)
    g, likelihood = channel.gradient(p, counts)
    d = channel.forward(p)
    assert np.allclose(g, channel.backward(counts / d), rtol=1e-11)
    assert likelihood == pytest.approx(counts @ np.log(d), rel=1e-12)
    assert p @ g == pytest.approx(counts.sum())


@pytest.mark.parametrize("kind", [GeometricChannel, LaplaceChannel])
def test_epsilon__is_exact_where_entries_underflow(kind):
    channel = kind(1000, 5.0)
    assert channel.epsilon("line") == 5.0
    assert channel.epsilon(100) == 500.0
    least = 998 * 5.0 if kind is LaplaceChannel else 999 * 5.0
    assert least <= channel.epsilon() <= 999 * 5.0
