"""The inverse transform of a Gaussian loss is the Gaussian curve."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fastdp.kernels.losses import inversion


def tail(x):
    return math.erfc(x / math.sqrt(2)) / 2


@pytest.mark.parametrize(("mu", "theta", "epsilon"), [(1.0, 4.0, 3.0), (0.5, 3.0, 0.5)])
def test_sums__are_the_gaussian_curve(mu, theta, epsilon):
    """Order 1, for the variance and smoothing once and twice."""
    smoothing = mu * mu / 16
    dead, once, twice = np.zeros(64, np.uint8), np.zeros((2, 2048)), np.zeros((2, 2048))
    dt = 2 * math.pi / 60
    inversion.weigh_nodes(dt, theta, mu * mu, smoothing, 1, dead, np.ones(2048), np.zeros(2048), once, twice)
    for found, variance in zip(inversion.sum_nodes(dt, epsilon, dead, once, twice), (1, 2), strict=True):
        total = mu * mu + variance * smoothing
        m = math.sqrt(total)
        exact = tail(epsilon / m - m / 2) - math.exp(epsilon) * tail(epsilon / m + m / 2)
        assert found * math.exp(total * theta * (theta + 1) / 2 - theta * epsilon) == pytest.approx(exact, rel=1e-9)


def test_sums__are_the_positive_part():
    """Order 2: E max(S, 0) of a normal S of mean 0 is its deviation over sqrt(2 pi)."""
    dead, once, twice = np.zeros(64, np.uint8), np.zeros((2, 2048)), np.zeros((2, 2048))
    theta, dt = 2.0, 2 * math.pi / 60
    inversion.weigh_nodes(dt, theta, 1.0, 0.5, 2, dead, np.ones(2048), np.zeros(2048), once, twice)
    for found, variance in zip(inversion.sum_nodes(dt, 0.0, dead, once, twice), (1.5, 2.0), strict=True):
        exact = math.sqrt(variance / (2 * math.pi))
        assert found * math.exp(variance * theta * theta / 2) == pytest.approx(exact, rel=1e-9)
