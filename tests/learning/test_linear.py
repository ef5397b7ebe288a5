"""LinearRegression: coefficients, guarantees, and the conventions of scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastdp as fd

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.utils.estimator_checks import check_estimator

from fastdp.learning import LinearRegression


@pytest.mark.filterwarnings("ignore")  # the checks call it in ways that warn
def test_linear__keeps_the_conventions():
    model = LinearRegression(epsilon=30.0, delta=1e-6, radius=3.0, target_bounds=(-10, 10), unsafe_seed=1)
    failed = [check for check in check_estimator(model, on_fail=None) if check["status"] == "failed"]
    assert not failed, failed[0]


def problem(count=20_000):
    source = np.random.default_rng(1)
    rows = source.uniform(-2, 6, (count, 4))
    weights = np.array([0.5, -0.3, 0.0, 0.1])
    return rows, rows @ weights + 0.7 + source.normal(0, 0.1, count), weights


@pytest.mark.parametrize(("epsilon", "delta", "off"), [(1.0, 1e-6, 0.1), (4.0, 1e-6, 0.03), (4.0, 0.0, 0.1)])
def test_linear__finds_the_coefficients(epsilon, delta, off):
    rows, targets, weights = problem()
    model = LinearRegression(epsilon=epsilon, delta=delta, bounds=(-2, 6), target_bounds=(-4, 5), unsafe_seed=2)
    model.fit(rows, targets)
    assert np.abs(model.coef_ - weights).max() < off
    assert abs(model.intercept_ - 0.7) < 4 * off
    assert model.score(rows, targets) > 0.9
    assert model.privacy_.epsilon <= epsilon < model.privacy_.epsilon * (1 + 1e-4)


def test_statistics__of_one_row_have_a_norm_of_at_most_root_two():
    """The vector that is summed: the upper triangle of x x^T, off-diagonals times sqrt(2), and x y."""
    source = np.random.default_rng(3)
    x = source.standard_normal((50, 5))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    upper = np.triu_indices(5)
    weight = np.where(upper[0] == upper[1], 1.0, math.sqrt(2))
    stats = np.hstack([x[:, upper[0]] * x[:, upper[1]] * weight, x])
    assert np.linalg.norm(stats, axis=1) == pytest.approx(math.sqrt(2))


def test_linear__is_no_worse_than_nothing_where_noise_rules():
    rows, targets, _ = problem(60)
    model = LinearRegression(epsilon=0.1, delta=1e-6, bounds=(-2, 6), target_bounds=(-4, 5), unsafe_seed=2)
    assert np.abs(model.fit(rows, targets).predict(rows)).max() < 50


def test_targets__need_bounds():
    with pytest.raises(fd.ParameterError, match="bounds"):
        LinearRegression(epsilon=1.0, radius=1.0).fit(np.eye(3), [1.0, 2.0, 3.0])
