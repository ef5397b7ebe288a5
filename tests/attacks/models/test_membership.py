"""Membership inference: what an attack finds with and without noise, against the bound of epsilon."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastdp as fd
from fastdp.attacks import loss_attack, membership_bound, ratio_attack
from fastdp.learning import LogisticRegression


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.0), (1.0, 1e-6), (3.0, 0.01)])
def test_bound__is_met_by_the_worst_mechanism(epsilon, delta):
    """Randomized response with delta in the clear: its total variation, the advantage of the best attack."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    worst = delta + (1 - delta) * (2 * keep - 1)
    assert membership_bound(fd.Privacy(epsilon=epsilon, delta=delta)) == pytest.approx(worst, rel=1e-9)
    assert membership_bound(fd.Privacy(epsilon=epsilon, delta=delta)) >= worst * (1 - 1e-14)


def test_bound__takes_rho_at_a_delta():
    assert membership_bound(fd.Privacy(rho=0.01), delta=1e-6) < 0.35


def test_attack__is_a_curve_of_hits_and_false_alarms():
    source = np.random.default_rng(1)
    same = loss_attack(source.random(5000), source.random(5000))
    assert same.advantage < 0.06
    assert same.auc == pytest.approx(0.5, abs=0.03)
    apart = loss_attack(source.normal(0, 1, 5000), source.normal(1, 1, 5000))
    assert apart.advantage == pytest.approx(0.383, abs=0.03)  # 2 Phi(1/2) - 1
    assert apart.auc == pytest.approx(0.760, abs=0.02)  # Phi(1 / sqrt(2))


def memorised(count=60, features=80, seed=1):
    """Labels that are coins: nothing to learn, all to memorise."""
    source = np.random.default_rng(seed)
    return source.standard_normal((2 * count, features)), source.integers(0, 2, 2 * count)


def losses(model, rows, labels):
    return -np.log(model.predict_proba(rows)[np.arange(len(rows)), labels] + 1e-12)


def test_attack__finds_members_without_noise_and_stays_within_the_bound_with_it():
    from sklearn.linear_model import LogisticRegression as Plain

    rows, labels = memorised()
    inside, outside = slice(0, 60), slice(60, None)
    plain = Plain(C=1e4, max_iter=2000).fit(rows[inside], labels[inside])
    found = loss_attack(losses(plain, rows[inside], labels[inside]), losses(plain, rows[outside], labels[outside]))
    assert found.advantage > 0.5
    privacy = fd.Privacy(epsilon=0.5, delta=1e-6)
    gains = []
    for seed in range(20):
        rows, labels = memorised(seed=seed)
        model = LogisticRegression(epsilon=0.5, delta=1e-6, radius=10.0, unsafe_seed=seed)
        model.fit(rows[inside], labels[inside])
        gap = losses(model, rows[outside], labels[outside]).mean() - losses(model, rows[inside], labels[inside]).mean()
        threshold = np.median(losses(model, rows, labels))
        hits = (losses(model, rows[inside], labels[inside]) <= threshold).mean()
        gains.append(hits - (losses(model, rows[outside], labels[outside]) <= threshold).mean())
        assert gap < 50
    assert np.mean(gains) < membership_bound(privacy) + 3 * np.std(gains) / math.sqrt(20)
    assert found.advantage > membership_bound(privacy)


def test_ratio__is_higher_for_members():
    source = np.random.default_rng(2)
    inside, outside = source.normal(0, 1, (40, 500)), source.normal(2, 1, (40, 500))
    members = np.arange(500) < 250
    scores = ratio_attack(np.where(members, source.normal(0, 1, 500), source.normal(2, 1, 500)), inside, outside)
    assert loss_attack(-scores[members], -scores[~members]).auc > 0.85


def test_inputs__are_checked():
    with pytest.raises(fd.ParameterError, match="losses"):
        loss_attack([], [1.0])
    with pytest.raises(fd.ParameterError, match="column"):
        ratio_attack([1.0, 2.0], [[1.0]], [[1.0]])
