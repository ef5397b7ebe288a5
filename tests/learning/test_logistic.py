"""LogisticRegression: accuracy, guarantees, and the conventions of scikit-learn."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest

import fastdp as fd

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.linear_model import LogisticRegression as Plain
from sklearn.utils.estimator_checks import check_estimator

from fastdp.learning import LogisticRegression
from fastdp.learning.features import UnitBall
from fastdp.learning.logistic import METHODS
from fastdp.learning.noisy_descent import Budget, choose_steps
from fastdp.learning.perturbation import Margins, draw_linear_term, smallest_objective_sigma
from tests.learning import data


@pytest.mark.filterwarnings("ignore")  # the checks call it in ways that warn
def test_logistic__keeps_the_conventions():
    model = LogisticRegression(epsilon=1.0, delta=1e-6, radius=3.0, unsafe_seed=1)
    failed = [check for check in check_estimator(model, on_fail=None) if check["status"] == "failed"]
    assert not failed, failed[0]


def accuracy(found, seeds=3, **parameters):
    models = [
        LogisticRegression(radius=found.radius, unsafe_seed=seed, **parameters).fit(found.rows, found.labels)
        for seed in range(seeds)
    ]
    return float(np.mean([model.score(found.test_rows, found.test_labels) for model in models]))


def test_logistic__is_within_half_a_percent_of_scikit_learn_at_epsilon_1():
    rows, labels = data.logistic(200_000)
    train, test = slice(0, 150_000), slice(150_000, None)
    plain = Plain().fit(rows[train], labels[train]).score(rows[test], labels[test])
    model = LogisticRegression(epsilon=1.0, delta=1e-6, radius=5.4, steps=30, unsafe_seed=1)
    assert model.fit(rows[train], labels[train]).score(rows[test], labels[test]) > plain - 0.005


@pytest.mark.parametrize(
    ("name", "least"),
    [("breast cancer", (0.55, 0.90, 0.93)), ("digits", (0.15, 0.75, 0.87)), ("synthetic", (0.6, 0.77, 0.775))],
)  # fmt: skip
def test_logistic__learns_more_from_more_epsilon(name, least):
    found = data.SETS[name]()
    scores = [accuracy(found, epsilon=epsilon, delta=1e-6) for epsilon in (0.1, 1.0, 4.0)]
    assert all(score > floor for score, floor in zip(scores, least, strict=True)), scores
    assert scores[0] < scores[2]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_methods__learn(method, delta):
    assert accuracy(data.synthetic(), epsilon=4.0, delta=delta, method=method) > 0.74


def test_privacy__is_recomputed_from_the_sums():
    """What is stated is the composition of the noise that was drawn: its sigma, counted from outside."""
    found = data.synthetic()
    model = LogisticRegression(epsilon=1.0, delta=1e-6, radius=found.radius, size=3500, steps=7, unsafe_seed=1)
    model.fit(found.rows, found.labels)
    assert model.privacy_.epsilon <= 1.0 < model.privacy_.epsilon * (1 + 1e-4)
    budget = Budget(1.0, 1e-6)
    mu = 1 / budget.ratio
    normal = NormalDist()
    delta = normal.cdf(-1 / mu + mu / 2) - math.e * normal.cdf(-1 / mu - mu / 2)
    assert delta == pytest.approx(1e-6, rel=1e-4)
    assert delta <= 1e-6


def test_rows__lie_in_the_unit_ball_whatever_they_hold():
    source = np.random.default_rng(1)
    for scale in (1e-300, 1.0, 1e150):
        ball = UnitBall.read("test", 3, (-2, 5), None, 0.3)
        assert np.linalg.norm(ball.rows(source.standard_normal((100, 3)) * scale), axis=1).max() <= 1
        ball = UnitBall.read("test", 3, None, 0.7, 1.0)
        assert np.linalg.norm(ball.rows(source.standard_normal((100, 3)) * scale), axis=1).max() <= 1


def test_coefficients__are_for_the_features_as_they_were_given():
    ball = UnitBall.read("test", 2, ([0, -1], [10, 1]), None, 0.3)
    rows, weights = np.array([[3.0, 0.5], [9.0, -1.0]]), np.array([[1.0, -2.0, 0.7]])
    coef, intercept = ball.coefficients(weights)
    assert rows @ coef.T + intercept == pytest.approx(ball.rows(rows) @ weights.T)


def test_scaling__does_not_depend_on_the_data():
    """The same row gives the same integers, whatever the others are."""
    ball = UnitBall.read("test", 2, (-1, 1), None, 0.3)
    alone = ball.rows(np.array([[0.3, 0.4]]))
    assert np.array_equal(ball.rows(np.array([[0.3, 0.4], [90.0, -3.0]]))[:1], alone)


def test_objective__sigma_bounds_the_loss_of_every_record():
    """Monte Carlo of the privacy loss on two neighbours, worst record: above epsilon at most delta of the time."""
    source, epsilon, delta = np.random.default_rng(2), 1.0, 0.05
    sigma = smallest_objective_sigma(epsilon, delta)
    along = source.standard_normal(400_000) * sigma
    worst = np.maximum((2 * along + 1), (-2 * along + 1)) / (2 * sigma**2)
    share = (worst > epsilon).mean()
    assert share <= delta + 4 * math.sqrt(delta / along.size)
    assert share > delta * 0.9
    mutant = np.maximum(2 * along + 1, -2 * along + 1) / (2 * sigma**2) / 0.95
    assert (mutant > epsilon).mean() > delta * 1.1


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("size", [1, 3, 21])
def test_objective__pure_noise_spread_over_its_cells_bounds_the_loss_of_every_record(epsilon, size):
    """The density of the steps of all coordinates, at b and at b + x for the worst x: a row of one sign, of norm 1."""
    noise, grid = draw_linear_term(epsilon, 0.0, size, fd.Rng.unsafe_seed(1))
    steps = math.ceil(math.sqrt(size) / grid) + size
    source = np.random.default_rng(size)
    cells = np.rint(noise / grid) + source.uniform(-0.5, 0.5, (2000, size))
    worst = np.abs(np.rint(cells + 1 / math.sqrt(size) / grid) - np.rint(cells)).sum(axis=1)
    assert worst.max() <= steps
    assert worst.mean() * epsilon / steps > epsilon * (1 - 1e-4)  # of the L2 norm alone, the loss would be sqrt(size)
    scale = np.abs(draw_linear_term(epsilon, 0.0, 4000, fd.Rng.unsafe_seed(2))[0]).mean() / math.sqrt(4000)
    assert scale == pytest.approx(1 / epsilon, rel=0.1)


def test_objective__refuses_a_penalty_that_leaves_no_epsilon():
    rows, labels = data.logistic(50)
    model = LogisticRegression(epsilon=0.1, radius=5.0, method="objective perturbation", regularization=0.5)
    with pytest.raises(fd.ParameterError, match=r"regularization above 2\.6"):
        model.fit(rows, labels)


def test_minimum__moves_by_no_more_than_its_sensitivity():
    """Output perturbation: the minima of neighbours, at several penalties."""
    source = np.random.default_rng(3)
    rows = source.standard_normal((60, 4))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    signs = np.where(source.random(60) < 0.5, -1.0, 1.0)
    moves = []
    for penalty in (0.1, 1.0, 10.0):
        whole = Margins(rows, signs).solve(penalty, np.zeros(4))
        less = Margins(rows[1:], signs[1:]).solve(penalty, np.zeros(4))
        moves.append(np.linalg.norm(whole - less) * penalty)
        assert np.linalg.norm(Margins(rows, signs).gradient(whole, penalty, np.zeros(4))) < 1e-6
    assert max(moves) <= 1
    alone = Margins(rows[:1], signs[:1]).solve(1e6, np.zeros(4))
    assert np.linalg.norm(alone) * 1e6 == pytest.approx(0.5, rel=1e-4)


def test_steps__are_chosen_from_public_numbers():
    budgets = [Budget(epsilon, 1e-6) for epsilon in (0.1, 1.0, 4.0)]
    chosen = [choose_steps(budget, 1000, 50) for budget in budgets]
    assert all(a < b for a, b in pairwise(chosen))
    assert choose_steps(budgets[0], 1, 50) == 1
    assert choose_steps(Budget(4.0, 0.0), 1e9, 50) == 10


def test_fit__is_paid_for_before_the_data_are_used(tmp_path):
    ledger = fd.Ledger.create(tmp_path / "a.ledger", epsilon=1.0, delta=1e-5)
    rows, labels = data.logistic(100)
    LogisticRegression(epsilon=0.7, delta=1e-6, radius=5.0).fit(rows, labels, ledger=ledger)
    model = LogisticRegression(epsilon=0.7, delta=1e-6, radius=5.0)
    with pytest.raises(fd.BudgetExceededError):
        model.fit(rows, labels, ledger=ledger)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("parameters", "match"),
    [({"epsilon": None}, "no default"), ({"epsilon": -1}, "epsilon"), ({"delta": 1}, "delta"),
     ({"radius": None}, "declare"),
     ({"bounds": (1, 0)}, "low < high"), ({"bounds": 3}, "pair"), ({"bounds": ([1, 2], [3, 4])}, "20 numbers"),
     ({"method": "magic"}, "method"), ({"steps": 0}, "steps"), ({"size": -2}, "size"),
     ({"epsilon": 200.0}, "resolution"), ({"classes": [1]}, "one class")],
)  # fmt: skip
def test_parameters__are_checked(parameters, match):
    rows, labels = data.logistic(50)
    with pytest.raises(fd.ParameterError, match=match):
        LogisticRegression(**{"epsilon": 1.0, "delta": 1e-6, "radius": 5.0, **parameters}).fit(rows, labels)


def test_classes__may_be_declared():
    rows, labels = data.logistic(300)
    model = LogisticRegression(epsilon=2.0, delta=1e-6, radius=5.0, classes=[2, 1, 0]).fit(rows, labels)
    assert model.predict_proba(rows).shape == (300, 3)
    assert model.predict_proba(rows).sum(axis=1) == pytest.approx(1)
    assert model.classes_.tolist() == [2, 1, 0]
