"""Canaries: exposures of made-up ranks, and memory of a model with and without noise, within the bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastdp as fd
from fastdp.attacks import canaries

N = 64


def test_exposure__is_the_logarithm_of_the_rank():
    found = canaries([0.5, 2.5], [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    assert found.success == 0.5
    assert found.details["exposure"] == pytest.approx((math.log2(4) + math.log2(4 / 3)) / 2)
    assert found.details["largest_exposure"] == 2.0
    assert found.baseline == 0.25


def test_exposure_without_memory__is_its_mean_over_all_ranks():
    ranks = np.arange(1, N + 1)
    found = canaries([0.0], np.ones(N - 1))
    assert found.details["exposure_without_memory"] == pytest.approx(np.log2(N / ranks).mean(), rel=1e-12)


def test_ties__count_half():
    assert canaries([1.0], np.ones(N - 1)).details["exposure"] == pytest.approx(math.log2(N / ((N + 1) / 2)))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (2.0, 1e-3), (4.0, 0.0)])
def test_bounds__are_those_of_the_worst_ranking(epsilon, delta):
    """The exponential ranking puts the canary at rank r with the most probability that the guarantee allows."""
    most = np.minimum(1.0, math.exp(epsilon) * np.arange(1, N + 1) / N + delta)
    law = np.diff(most, prepend=0.0)
    details = canaries([0.0], np.ones(N - 1), privacy=fd.Privacy(epsilon=epsilon, delta=delta)).details
    assert details["most_first"] == pytest.approx(law[0], rel=1e-12)
    mean = float(law @ np.log2(N / np.arange(1, N + 1)))
    assert mean <= details["most_exposure"] <= mean + 1.1 / math.log(2)


def trained(noisy, seed):
    """Losses of a logistic model on one planted record of strange features and on others like it."""
    source = np.random.default_rng(seed)
    rows, labels = source.standard_normal((200, 40)) / 4000, source.integers(0, 2, 200)
    planted, others = source.choice([-1.0, 1.0], (1, 40)), source.choice([-1.0, 1.0], (N - 1, 40))
    every, marks = np.concatenate([rows, planted]), np.append(labels, 1)
    if noisy:
        model = fd.learning.LogisticRegression(epsilon=1.0, radius=math.sqrt(40), size=201, classes=[0, 1],
                                               unsafe_seed=seed, delta=1e-6)  # fmt: skip
    else:
        from sklearn.linear_model import LogisticRegression as Plain

        model = Plain(C=100.0, max_iter=500)
    model.fit(every, marks)
    return [-model.decision_function(those) for those in (planted, others)]


def test_model__remembers_without_noise_and_stays_within_the_bound_with_it():
    exposures = {}
    for noisy in (False, True):
        losses = [trained(noisy, seed) for seed in range(10)]
        own, others = np.concatenate([a for a, _ in losses]), np.array([b for _, b in losses])
        exposures[noisy] = canaries(own, others, privacy=fd.Privacy(epsilon=1.0, delta=1e-6))
    assert exposures[False].success == 1.0
    assert exposures[False].details["exposure"] == math.log2(N) > exposures[True].details["most_exposure"]
    assert exposures[True].details["exposure"] < exposures[True].details["most_exposure"]
    assert exposures[True].success < 0.3


def test_inputs__are_checked():
    for losses, candidates in (([], [1.0]), ([1.0], []), ([1.0, 2.0], [[1.0]]), ([math.nan], [1.0])):
        with pytest.raises(fd.ParameterError, match=r"attacks\.canaries"):
            canaries(losses, candidates)
