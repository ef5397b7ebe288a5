"""Calibration: the aim is reached from below, and not by much."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastdp as fd
from fastdp.losses import LaplaceLoss, SampledGaussianLoss


def test_thousand_laplace__land_just_below_the_aim():
    epsilons = ((0.5 + np.random.default_rng(1).random(1000)) / math.sqrt(1000)).tolist()
    found = fd.calibrate(lambda scale: [LaplaceLoss(epsilon=e / scale) for e in epsilons], epsilon=1.0, delta=1e-6)
    assert 1 - 1e-5 <= found.epsilon.upper <= 1.0
    less = fd.compose([LaplaceLoss(epsilon=e / (found.scale * (1 - 2e-5))) for e in epsilons])
    assert less.epsilon(delta=1e-6).upper > 1.0


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-9), (1.0, 1e-6), (20.0, 1e-3)])
def test_samples__land_just_below_the_aim(epsilon, delta):
    found = fd.calibrate(
        lambda sigma: (SampledGaussianLoss(mu=1 / sigma, rate=0.05), 300), epsilon=epsilon, delta=delta, tolerance=1e-4
    )
    assert epsilon * (1 - 1e-4) <= found.epsilon.upper <= epsilon


def test_one_mechanism__is_found_at_delta_zero():
    found = fd.calibrate(lambda scale: fd.Laplace(scale=scale, sensitivity=2.0), epsilon=0.5, start=1e-3)
    assert float(found) == pytest.approx(4.0, rel=2e-5)
    assert found.epsilon.upper <= 0.5
    assert found.parts.scale == found.scale


def test_aims_out_of_reach__are_refused():
    with pytest.raises(fd.ParameterError, match="no scale reaches"):
        fd.calibrate(lambda _: fd.Privacy(epsilon=1.0), epsilon=0.5)
    with pytest.raises(fd.ParameterError, match="function"):
        fd.calibrate(1.0, epsilon=1.0)
    with pytest.raises(fd.ParameterError, match="delta"):
        fd.calibrate(lambda s: fd.Privacy(epsilon=1 / s), epsilon=1.0, delta=1.0)
