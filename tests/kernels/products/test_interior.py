"""The interior-point method: it ends where Karush, Kuhn and Tucker say."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.products.interior import step_interior


def solve(a, c, q, steps=60):
    n = q.size
    p, z, work = np.full(n, 1 / n), np.ones(n), np.zeros((12, n))
    gap = np.inf
    for _ in range(steps):
        gap = step_interior(a, c, q, p, z, work)
        if not gap > 1e-12:
            break
    return p, z, gap


def excess(a, c, q, p):
    """By how much the most promising value's derivative of the likelihood is above 1, its value at the optimum."""
    n = q.size
    channel = a ** np.abs(np.subtract.outer(np.arange(n), np.arange(n))) * c
    return (channel @ (q / (p @ channel))).max() - 1


@pytest.mark.parametrize("a", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("n", [3, 20])
def test_steps__come_to_the_likeliest_distribution(n, a):
    """No value's derivative is above 1, which bounds how far the likelihood is from the best; elsewhere one is."""
    c = np.full(n, (1 - a) / (1 + a))
    c[[0, -1]] = 1 / (1 + a)
    q = np.random.default_rng(n).dirichlet(np.ones(n))
    p, z, gap = solve(a, c, q)
    assert 0 <= gap < 1e-9
    assert (p > 0).all()
    assert (z > 0).all()
    assert p.sum() == pytest.approx(1)
    assert excess(a, c, q, p) < 1e-6
    assert excess(a, c, q, 0.99 * p + 0.01 / n) > 1e-5
