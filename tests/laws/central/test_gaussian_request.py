"""The three ways to ask for Gaussian noise, and the sigma that each asks for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fastdp.errors import ParameterError
from fastdp.laws.central.gaussian import GaussianLaw, delta_of
from fastdp.laws.central.gaussian_request import MOST_LEVELS, GaussianAim


def ask(*, epsilon=None, delta=None, rho=None, scale=None):
    return GaussianAim.read("x", epsilon, delta, rho, scale)


@pytest.mark.parametrize("rho", [1e-3, 0.5, 8.0])
def test_rho__asks_for_its_sigma(rho):
    assert ask(rho=rho).sigma_in_steps(40, 0.1) == pytest.approx(40 / math.sqrt(2 * rho), rel=1e-15)
    assert ask(scale=3.0).sigma_in_steps(40, 0.1) == pytest.approx(30.0)


@pytest.mark.parametrize(("epsilon", "delta", "steps"), [(1.0, 1e-6, 1), (0.3, 1e-3, 50)])
def test_epsilon__asks_for_the_smallest_sigma_that_meets_delta(epsilon, delta, steps):
    """A sigma 0.1 % smaller costs more than delta."""
    sigma = ask(epsilon=epsilon, delta=delta).sigma_in_steps(steps, 1.0)
    assert delta_of(epsilon, sigma, steps) <= delta < delta_of(epsilon, 0.999 * sigma, steps)


def test_each_record__has_its_own_sigma():
    aim, steps = ask(rho=np.array([0.5, 2.0])), np.array([3.0, 10.0])
    assert np.allclose(aim.sigmas_in_steps(steps, np.array([0.5, 2.0]), 1.0), [3.0, 5.0])
    assert ask(scale=np.array([1.0, 2.0])).sigmas_in_steps(steps, np.array([1.0, 2.0]), 0.5).tolist() == [2.0, 4.0]


def test_privacy__is_that_of_the_law_and_not_what_was_asked():
    """Twice the noise costs less delta; the noise that was asked for just meets it."""
    aim = ask(epsilon=1.0, delta=1e-6)
    sigma = aim.sigma_in_steps(1, 1.0)
    assert aim.privacy(GaussianLaw.of_sigma(2 * sigma), 1).delta < 1e-8
    assert 0.999e-6 < aim.privacy(GaussianLaw.of_sigma(sigma), 1).delta <= 1e-6


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "exactly one"),
        ({"epsilon": 1.0}, "delta together"),
        ({"rho": 1.0, "delta": 1e-6}, "delta together"),
        ({"epsilon": 1.0, "delta": 1e-30}, "1e-25"),
        ({"epsilon": np.linspace(0.1, 1, MOST_LEVELS + 1), "delta": 1e-6}, "different values"),
    ],
)
def test_request__is_refused_when_bad(given, said):
    with pytest.raises(ParameterError, match=said):
        ask(**given)
