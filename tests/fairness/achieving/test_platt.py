"""Platt scaling per group, against scikit-learn's and against the likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import fastdp as fd
from fastdp.fairness.achieving.platt import fit, sigmoid


@pytest.mark.parametrize(("slope", "intercept"), [(0.8, -1.0), (-3.0, 0.5), (0.0, 0.2)])
def test_fit__is_the_likeliest(slope, intercept):
    source = np.random.default_rng(1)
    scores = np.linspace(-3, 5, 30)
    n = source.integers(0, 60, 30)
    ones = source.binomial(n, sigmoid(slope * scores + intercept)).astype(float)
    zeros = n - ones
    high, low = (ones.sum() + 1) / (ones.sum() + 2), 1 / (zeros.sum() + 2)

    def loss(ab):
        z = ab[0] * scores + ab[1]
        hits = high * ones + low * zeros
        return (n * np.logaddexp(0, z) - hits * z).sum()

    due = minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x
    assert fit(scores, zeros, ones) == pytest.approx(tuple(due), abs=1e-5)


def test_fit__is_scikit_learns():
    from sklearn.calibration import _SigmoidCalibration

    source = np.random.default_rng(2)
    score = source.normal(size=500)
    label = (source.random(500) < sigmoid(2 * score - 0.5)).astype(int)
    theirs = _SigmoidCalibration().fit(score, label)
    ours = fd.fairness.table(y_true=label, y_pred=label, sensitive={"g": np.zeros(500, int)}, score=score).scaling()
    assert (ours.slope[0], ours.intercept[0]) == pytest.approx((-theirs.a_, -theirs.b_), abs=1e-4)


def test_fit__of_scores_that_separate_labels_is_finite():
    slope, intercept = fit(np.array([0.0, 1.0]), np.array([50.0, 0.0]), np.array([0.0, 50.0]))
    assert np.isfinite([slope, intercept]).all()
    assert sigmoid(np.array([intercept, slope + intercept])) == pytest.approx([1 / 52, 51 / 52], abs=1e-6)


def test_scaling__makes_scores_mean_the_same():
    """Two groups whose scores stand for other shares of positives: after scaling the gap is gone."""
    source = np.random.default_rng(3)
    group, score = source.integers(0, 2, 40_000), source.normal(size=40_000).round(1)
    label = (source.random(40_000) < sigmoid(np.where(group == 1, 2.0, 1.0) * score + group)).astype(int)
    table = fd.fairness.table(y_true=label, y_pred=label, sensitive={"g": group}, score=score)
    scaled = table.scaling().apply(score=score, sensitive=group)
    again = fd.fairness.table(y_true=label, y_pred=label, sensitive={"g": group}, score=scaled)
    before, after = (next(c for c in t.criteria() if c.name == "calibration") for t in (table, again))
    assert before.verdict == "violated"
    assert before.p_value < 1e-10
    assert after.p_value > 1e-3
    shares = again.calibration()
    assert np.nanmax(np.abs(shares.values - shares.scores)) < 0.05


def test_group__of_one_label_is_undefined():
    table = fd.fairness.table(
        y_true=[0, 0, 1, 0], y_pred=[0] * 4, sensitive={"g": ["a", "a", "b", "b"]}, score=[1, 2, 1, 2]
    )
    found = table.scaling()
    assert np.isnan(found.slope).tolist() == [True, False]
    assert found.to_dict()["groups"][0]["slope"] is None
    with pytest.raises(fd.DomainError, match="does not have"):
        found.apply(score=[1.0], sensitive=["c"])
