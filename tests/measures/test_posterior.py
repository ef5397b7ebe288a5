"""Posteriors: Bayes' rule against brute force, and the bound that epsilon sets."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastdp as fd
from fastdp.measures import posterior


@pytest.mark.parametrize("seed", range(5))
def test_posterior__is_bayes_rule(seed):
    rng = np.random.default_rng(seed)
    channel, prior = rng.dirichlet(np.ones(6), 4), rng.dirichlet(np.ones(4))
    found = posterior(channel, prior)
    for y in range(6):
        joint = np.array([prior[x] * channel[x, y] for x in range(4)])
        assert found[y] == pytest.approx(joint / joint.sum())
        assert posterior(channel, prior, y) == pytest.approx(found[y])


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_posterior__stays_within_a_factor_of_the_prior(epsilon):
    channel, prior = fd.KRR(epsilon=epsilon, domain=5).channel(), np.array([0.5, 0.3, 0.1, 0.05, 0.05])
    moved = np.abs(np.log(posterior(channel, prior) / prior))
    assert moved.max() <= epsilon
    assert moved.max() > epsilon / 3


def test_posterior__has_nothing_to_say_of_what_never_occurs():
    channel = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    assert np.isnan(posterior(channel, [0.5, 0.5])[2]).all()
    assert posterior(channel, [0.5, 0.5], 1).tolist() == [0.0, 1.0]
    with pytest.raises(fd.ParameterError, match="never occurs"):
        posterior(channel, [0.5, 0.5], 2)
    for wrong in (3, -1, 0.5, True):
        with pytest.raises(fd.ParameterError, match="output must be"):
            posterior(channel, [0.5, 0.5], wrong)


def test_two_reports__are_one_channel_with_both_outputs():
    """Two mechanisms on one secret: epsilons add, and the posterior is that after one and then the other."""
    first, second = (fd.KRR(epsilon=epsilon, domain=4).channel() for epsilon in (0.5, 1.25))
    both, prior = first.joint(second), np.array([0.4, 0.3, 0.2, 0.1])
    assert both.epsilon() == pytest.approx(first.epsilon() + second.epsilon())
    after_one = posterior(first, prior, 2)
    assert posterior(both, prior, 2 * 4 + 3) == pytest.approx(posterior(second, after_one, 3))
    assert both.dense().sum(axis=1) == pytest.approx(np.ones(4))
    with pytest.raises(fd.ParameterError, match="same inputs"):
        first.joint(fd.KRR(epsilon=1.0, domain=3).channel())
    with pytest.raises(fd.ParameterError, match="takes a Channel"):
        first.joint(np.eye(4))
    assert math.isclose(both.epsilon(), 1.75, rel_tol=1e-6)
