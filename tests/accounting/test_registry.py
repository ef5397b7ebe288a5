"""Every mechanism of the registry composes, and its curve is that of all outcomes written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastdp as fd
from fastdp.losses import AtomicLoss, GaussianLoss, GeometricLoss, LaplaceLoss
from tests.accounting.test_oracles import release
from tests.contracts.test_contract import every
from tests.laws import hockey_sticks as curves


def delta_of_one(loss, epsilons):
    """The curve of one list of atoms at many epsilons, by sums of the atoms above each."""
    order = np.argsort(-loss.losses)
    losses, p, q = loss.losses[order], np.cumsum(loss.p[order]), np.cumsum(loss.q[order])
    above = np.searchsorted(-losses, -epsilons, "left")
    p, q = np.concatenate([[0.0], p]), np.concatenate([[0.0], q])
    return p[above] - np.exp(epsilons) * q[above] + loss.p_infinite


def delta_of_two(first, second, epsilon):
    """The curve of two lists of atoms: that of one, at what the other leaves."""
    return float(first.p @ delta_of_one(second, epsilon - first.losses)) + first.p_infinite


def enumerated(losses, epsilon):
    """The delta of independent losses; None if they have too many outcomes."""
    parts = [curves.geometric_atoms(one) if isinstance(one, GeometricLoss) else one for one in losses]
    if not all(isinstance(one, AtomicLoss) for one in parts):
        return None
    *rest, last = sorted(parts, key=lambda one: one.losses.size)
    if math.prod(one.losses.size for one in rest) > 3e6:
        return None
    return delta_of_two(curves.join(rest), last, epsilon)


def losses_of(mechanism):
    try:
        return list(mechanism.losses())
    except fd.ParameterError:
        return []


def stated(mechanism):
    """The guarantee; None for trajectories that state none before they are drawn."""
    try:
        return mechanism.privacy
    except fd.ParameterError:
        return None


@every
def test_compose__takes_every_mechanism(mechanism):
    """Two releases at delta 1e-6 cost less than twice the guarantee, and no less than one."""
    privacy = stated(mechanism)
    if privacy is None:
        with pytest.raises(fd.ParameterError, match="depends on its points"):
            fd.compose([mechanism])
        return
    once, twice = (fd.compose([mechanism] * count).epsilon(delta=1e-6) for count in (1, 2))
    if not privacy.delta and privacy.epsilon is not None:
        assert fd.compose([mechanism]).epsilon(delta=0).upper == privacy.epsilon
        assert 0 <= once.upper <= privacy.epsilon
        assert once.upper <= twice.upper <= 2 * privacy.epsilon * (1 + 1e-15)
    if losses_of(mechanism) and privacy.delta < 5e-7:
        assert twice.upper - twice.lower <= 2e-6 * twice.upper


@every
def test_curve__is_the_sum_over_all_outcomes(mechanism):
    """Of two equal releases, at three epsilons; at one where outcomes are millions."""
    losses, privacy = losses_of(mechanism) * 2, stated(mechanism)
    if not losses or isinstance(losses[0], GaussianLoss) or privacy.epsilon is None or privacy.epsilon < 1e-300:
        return
    total = fd.compose([mechanism] * 2)
    many = any(isinstance(one, GeometricLoss) and one.steps > 10**6 for one in losses)
    for share in (0.5,) if many else (0.1, 0.5, 0.9):
        epsilon = share * 2 * privacy.epsilon
        exact, found = enumerated(losses, epsilon), total.delta(epsilon=epsilon)
        if exact is not None:
            assert found.lower * (1 - 1e-9) - 1e-14 <= exact <= found.upper * (1 + 1e-9) + 1e-14
            assert found.upper - found.lower <= 1e-5 * found.upper


@pytest.mark.parametrize("count", [1, 3, 10])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 6.0])
def test_laplace__lies_just_above_continuous_noise(epsilon, count):
    """Its steps are a millionth of its scale: so much nearer than 1e-5 is its curve to that of Laplace noise."""
    mechanism = fd.Laplace(epsilon=epsilon, sensitivity=1.0)
    for delta in (1e-3, 1e-9):
        found = fd.compose([mechanism] * count).epsilon(delta=delta)
        ideal = fd.compose([release(LaplaceLoss(epsilon=mechanism.privacy.epsilon), count)]).epsilon(delta=delta)
        assert found.upper >= ideal.lower
        assert found.upper == pytest.approx(ideal.upper, rel=1e-5)


@pytest.mark.parametrize(("rate", "steps"), [(0.5, 1), (0.01, 150), (1e-6, 2_000_001)])
def test_one_geometric__has_its_closed_form(rate, steps):
    """Linear in e**epsilon between losses; at each of them as for Laplace noise."""
    loss = GeometricLoss(rate=rate, steps=steps)
    atoms = curves.geometric_atoms(loss)
    total = fd.compose([release(loss)])
    for epsilon in np.linspace(0, rate * steps, 9)[:-1]:
        found = total.delta(epsilon=epsilon)
        assert found.lower <= found.upper <= found.lower * (1 + 1e-12) + 1e-15
        assert found.upper == pytest.approx(float(delta_of_one(atoms, np.array([epsilon]))[0]), rel=1e-8)
