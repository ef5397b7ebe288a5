"""Bounds from one run, against published values and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import fastdp as fd
from fastdp.audits.one_run import p_value, proven_epsilon

ORACLES = [(1000, 1000, 5.809068), (1000, 731, 0.880603), (1000, 500, 0.0), (10**5, 73106, 0.988258)]


@pytest.mark.parametrize(("canaries", "right", "epsilon"), ORACLES)
def test_epsilon__is_as_computed_elsewhere(canaries, right, epsilon):
    truth = np.ones(canaries, int)
    found = fd.audit.one_run(np.where(np.arange(canaries) < right, 1, -1), truth, claimed=1.0)
    assert found.epsilon == pytest.approx(epsilon, abs=1e-6)
    assert found.verdict.startswith("refuted" if epsilon > 1 else "not refuted")
    assert found.to_dict()["right"] == right
    assert str(found)


def naive_p_value(m, r, v, epsilon, delta):
    """The bound as published, term by term."""
    q = 1 / (1 + np.exp(-epsilon))
    worst = total = 0.0
    for i in range(1, v + 1):
        total += stats.binom.pmf(v - i, r, q)
        worst = max(worst, total / i)
    return min(1.0, stats.binom.sf(v - 1, r, q) + 2 * m * delta * worst)


@pytest.mark.parametrize(("m", "r", "v"), [(100, 100, 80), (500, 200, 150), (50, 50, 50)])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-3])
def test_p_value__is_the_published_one(m, r, v, delta):
    for epsilon in (0.1, 0.9, 2.0):
        assert p_value(m, r, v, epsilon, delta) == pytest.approx(naive_p_value(m, r, v, epsilon, delta), rel=1e-6)


def test_delta__costs_and_abstaining_is_allowed():
    assert proven_epsilon(500, 200, 180, 1e-5, 0.05) < proven_epsilon(500, 200, 180, 0.0, 0.05)
    found = fd.audit.one_run([1, 0, 0, -1] * 25, [1, 1, -1, -1] * 25)
    assert (found.canaries, found.guesses, found.right) == (100, 50, 50)


def test_null__fair_coins_prove_nothing_but_rarely():
    source = np.random.default_rng(1)
    coins = source.random((400, 2, 200)) < 0.5
    assert np.mean([fd.audit.one_run(a, b).epsilon > 0 for a, b in coins]) < 0.08  # 0.05 and four standard errors


@pytest.mark.parametrize(("guesses", "truth"), [([2], [1]), ([1], [0]), ([1, 1], [1])])
def test_inputs__are_checked(guesses, truth):
    with pytest.raises((fd.ParameterError, fd.SchemaError)):
        fd.audit.one_run(guesses, truth)
