"""Products on grids, at sizes around those of vectors and transforms."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.channels import GridChannel
from tests.channels.cases import grid, random_masses


@pytest.mark.parametrize("shape", [(1, 1), (1, 23), (17, 1), (2, 3), (8, 8), (9, 17), (16, 7), (13, 26), (25, 10)])
@pytest.mark.parametrize("symmetric", [True, False])
def test_products__at_sizes_around_those_of_vectors_and_transforms(shape, symmetric):
    """Blocks with lanes to spare, transforms longer than the grid, and masses that reach past it or not as far."""
    for sides in ((5, 7), (41, 61)):
        masses = random_masses(*sides)
        if symmetric:
            masses = (masses + masses[::-1]) / 2
            masses = (masses + masses[:, ::-1]) / 2
        channel, matrix = GridChannel(masses, shape), grid(masses, *shape)
        assert (channel._tables.spectrum.shape[3] == 1) == symmetric or shape == (1, 1)
        source = np.random.default_rng([*shape, *sides])
        p, w = source.dirichlet(np.ones(len(matrix))), source.normal(size=len(matrix))
        assert np.abs(channel.forward(p) - p @ matrix).max() < 1e-14
        assert np.abs(channel.backward(w) - matrix @ w).max() < 1e-14
