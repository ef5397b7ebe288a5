"""Floating-point digits give nothing away."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from tests.attacks.lattice import attack


@pytest.mark.parametrize(("seed", "epsilon"), [(1, 1.0), (2, 0.5), (3, 3.0)])
def test_attack__breaks_numpys_noise(seed, epsilon):
    """The positive control: the attack finds far more than epsilon in x + laplace."""
    source = np.random.default_rng(seed)
    assert attack(lambda x: x + source.laplace(0, 1 / epsilon, x.size)) > epsilon + 5


MECHANISMS = [
    fd.Laplace(epsilon=1.0, sensitivity=1.0),
    fd.Laplace(epsilon=0.5, sensitivity=1.0, granularity=2.0**-10),
    fd.Gaussian(epsilon=1.0, delta=1e-6, sensitivity=1.0),
    fd.Staircase(epsilon=1.0, sensitivity=1.0),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_attack__finds_nothing_in_ours(mechanism, dtype):
    rng = fd.Rng.unsafe_seed(9)
    assert attack(lambda x: mechanism.randomize(x.astype(dtype), rng=rng)) <= mechanism.epsilon


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e3, 1e9, 1e25])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_outputs__lie_on_the_grid(dtype, size, epsilon):
    """Whatever the values' own digits are, also where they are much larger or smaller than the noise."""
    values = np.random.default_rng(4).normal(0, size, 20_000).astype(dtype)
    for mechanism in (
        fd.Laplace(epsilon=epsilon, sensitivity=1.0),
        fd.Gaussian(epsilon=epsilon, delta=1e-6, sensitivity=1.0),
        fd.Staircase(epsilon=epsilon, sensitivity=1.0),
    ):
        out = mechanism.randomize(values)
        assert out.dtype == dtype
        steps = out.astype(np.float64) / mechanism.granularity
        assert np.array_equal(steps, np.rint(steps))
