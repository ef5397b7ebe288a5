"""White-box attacks on single updates: exact ones give the record away, noise of their own hides it as theory says."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from fastdp.attacks import distinguish_updates, invert_gradients
from tests.attacks.test_attacks import on_theory

SOURCE = np.random.default_rng(20261118)
UPDATES = SOURCE.standard_normal((1500, 6))
UPDATES /= np.maximum(1.0, np.linalg.norm(UPDATES, axis=1, keepdims=True)) * 1.001


@pytest.mark.parametrize("multiplier", [0.25, 1.0, 4.0])
def test_local_noise__leaves_the_closed_form(multiplier):
    sums = fd.learning.DiscreteGaussianSum(
        clients=10, clip=1.0, dimension=6, noise_multiplier=multiplier, local=True, bits=40
    )
    found = distinguish_updates(UPDATES, release=sums, rng=fd.Rng.unsafe_seed(3))
    on_theory(found)
    half = distinguish_updates(UPDATES, release=lambda u: u + SOURCE.normal(0, multiplier, 6))
    assert half.success > found.expected + 0.02  # noise half as wide is not hidden from the test above


def test_noise_of_a_sum__does_not_hide_a_single_message():
    """One of a thousand shares, which only the sum's guarantee is about."""
    sums = fd.learning.SkellamSum(clients=1000, clip=1.0, dimension=6, noise_multiplier=1.0, bits=24, delta=1e-6)
    assert distinguish_updates(UPDATES, release=sums, rng=fd.Rng.unsafe_seed(4)).success > 0.99


def test_gradient__holds_its_record():
    x, r = SOURCE.standard_normal((50, 64)), SOURCE.standard_normal((50, 10)) / 100
    found = invert_gradients(x, r)
    assert found.success == found.expected == 1.0
    assert found.details["mean_correlation"] == pytest.approx(1.0)
    sums = fd.learning.DiscreteGaussianSum(
        clients=10, clip=1.0, dimension=650, noise_multiplier=1.0, local=True, bits=40
    )
    hidden = invert_gradients(x, r, release=sums, rng=fd.Rng.unsafe_seed(5))
    assert hidden.success == 0.0
    assert abs(hidden.details["mean_correlation"]) < 0.2


def test_inputs__are_checked():
    with pytest.raises(fd.ParameterError, match="two rows"):
        distinguish_updates([[1.0]])
    with pytest.raises(fd.ParameterError, match="as many numbers"):
        distinguish_updates(UPDATES, release=lambda u: u[:1])
    with pytest.raises(fd.ParameterError, match="one row for each"):
        invert_gradients(UPDATES, UPDATES[:2])
    with pytest.raises(fd.ParameterError, match="as many numbers"):
        invert_gradients(UPDATES[:3], UPDATES[:3], release=lambda u: u[:1])
