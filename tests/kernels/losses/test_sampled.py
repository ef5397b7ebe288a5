"""Moment functions of sampled Gaussians against fine sums in wider arithmetic."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from fastdp.kernels.losses import sampled

CASES = [(1.0, 0.01, 8.0, False), (0.8, 0.3, 2.0, False), (1.0, 0.01, 60.0, True), (2.0, 0.7, 3.0, True)]


def moment(sigma, rate, z, add):
    """E r^a by mpmath, a = 1 + z or -z."""
    exponent = -z if add else 1 + z
    with mpmath.workdps(30):
        variance = mpmath.mpf(sigma) ** 2

        def f(y):
            ratio = 1 - mpmath.mpf(rate) + mpmath.mpf(rate) * mpmath.exp((2 * y - 1) / (2 * variance))
            return mpmath.exp(-y * y / (2 * variance)) * ratio**exponent

        middle = float(mpmath.re(exponent))
        ends = sorted([-15 * sigma + min(middle, 0), 0, middle, 15 * sigma + max(middle, 0)])
        total = mpmath.quad(f, np.linspace(ends[0], ends[-1], 30).tolist())
        return total / mpmath.sqrt(2 * mpmath.pi * variance)


@pytest.mark.parametrize(("sigma", "rate", "theta", "add"), CASES)
def test_points__sum_to_the_moment(sigma, rate, theta, add):
    size = sampled.count_points(sigma, theta, 0.0, add)
    losses, weights = np.empty((2, size + 1))
    found, off = sampled.fill_points(sigma, rate, theta, add, size, losses, weights)
    assert abs(found - float(mpmath.log(moment(sigma, rate, theta, add)))) <= off + 1e-15 * abs(found)
    assert 0 < off < 1e-10
    assert weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(("sigma", "rate", "theta", "add"), CASES)
def test_products__are_the_moment_function(sigma, rate, theta, add):
    """At nodes near 0 and far out, where points are more."""
    dt, blocks = 0.3, 12
    points = sampled.count_points(sigma, theta, blocks * 32 * dt, add) + 2
    dead, re, im = np.zeros(blocks, np.uint8), np.ones(32 * blocks), np.zeros(32 * blocks)
    errors, reaches = np.zeros((2, 1))
    turns = np.empty((2, points, 32))
    one = [np.array([value]) for value in (sigma, rate, 2, float(add))]
    sampled.multiply_sampled(
        dt, theta, 0, blocks, *one, 0.0, *np.empty((2, points)), turns[0], turns[1], np.empty((4, points)),
        np.empty((2, 32)), dead, errors, reaches, re, im,
    )  # fmt: skip
    for j in (1, 383):
        wanted = (
            complex(moment(sigma, rate, theta + 1j * mpmath.mpf(dt) * j, add) / moment(sigma, rate, theta, add)) ** 2
        )
        allowed = 2 * (errors[0] + (128 + 4 * j * dt * 2 * reaches[0]) * 2**-53)
        assert abs(complex(re[j], im[j]) - wanted) <= allowed


@pytest.mark.parametrize(("sigma", "rate", "theta", "add"), CASES)
def test_variations__bound_that_of_the_density(sigma, rate, theta, add):
    """A fine sum of the tilted density's differences is below the bound, and not far below."""
    size = sampled.count_points(sigma, theta, 0.0, add)
    losses, weights = np.empty((2, size + 1))
    one = [np.array([value]) for value in (sigma, rate, float(add))]
    out = np.empty(1)
    sampled.fill_variations(theta, *one, losses, weights, out)
    exponent = -theta if add else 1 + theta
    y = np.linspace(-12 * sigma + min(exponent, 0), 12 * sigma + max(exponent, 0), 100_001)
    log_ratio = np.log1p(rate * np.expm1((2 * y - 1) / (2 * sigma**2)))
    log_moment, _ = sampled.fill_points(sigma, rate, theta, add, size, losses, weights)
    mass = np.exp(exponent * log_ratio - y**2 / (2 * sigma**2) - log_moment) / (sigma * math.sqrt(2 * math.pi))
    density = mass * sigma**2 * np.exp(log_ratio - (2 * y - 1) / (2 * sigma**2)) / rate
    found = np.abs(np.diff(density)).sum()
    assert found <= out[0] * (1 + 1e-6)
    assert out[0] <= 5 * found
