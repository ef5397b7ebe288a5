"""The largest value of a functional near a distribution of inputs."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.products.quadratic import solve_simplex_programme


@pytest.mark.parametrize("n", [30.0, 3e3, 1e6])
@pytest.mark.parametrize("size", [2, 3, 7, 40, 111])
def test_programme__is_solved(size, n):
    """Two sides meet: a distribution that is near enough has nearly the value that the weights show to be the most."""
    source = np.random.default_rng(size)
    rows, pilot = source.dirichlet(np.full(size + 3, 0.5), size=size), source.dirichlet(np.full(size, 0.5))
    d = pilot @ rows
    h, radius = (np.arange(size) % 3 == 1).astype(float), 3.84 / n
    matrix, p, best = ((rows - d) / d) @ (rows - d).T, np.full(size, 1 / size), np.empty(size)
    work = np.empty((size, size)), np.empty((10, size))
    t = solve_simplex_programme(matrix, h, h @ pilot, radius, 1e-3, 60, 0.1 / radius, p, *work, best)
    bound = (h - t * matrix @ best).max() + t * np.sqrt(radius * best @ matrix @ best)
    p = p / p.sum()
    near = pilot + min(1.0, np.sqrt(radius / max(p @ matrix @ p, 1e-300))) * (p - pilot)
    assert (p > 0).all()
    assert h @ near <= bound <= h @ near + 1.1e-3 * (bound - h @ pilot)
