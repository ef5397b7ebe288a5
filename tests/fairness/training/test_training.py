"""Reweighing, reductions and their comparison on held-out rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import fastdp as fd
from fastdp.fairness.training.comparing import compare
from fastdp.fairness.training.reductions import CONSTRAINTS, train


def people(rows=1500, seed=1):
    source = np.random.default_rng(seed)
    group = source.integers(0, 2, rows)
    features = np.c_[source.normal(size=rows) + group, source.normal(size=rows), group + 0.3 * source.normal(size=rows)]
    chance = 1 / (1 + np.exp(-(features[:, 0] + features[:, 1] - 0.5 + 0.8 * group)))
    return features, (source.random(rows) < chance).astype(int), group


class TestReweighing:
    """Kamiran and Calders's weights."""

    def test_weights__make_label_and_group_independent(self):
        source = np.random.default_rng(2)
        a, b = source.choice(["x", "y", "z"], 900), source.integers(0, 2, 900)
        y = (source.random(900) < 0.2 + 0.3 * (a == "x") + 0.2 * b).astype(int)
        weights = fd.fairness.reweigh(y_true=y, sensitive={"a": a, "b": b})
        for value in "xyz":
            for other in (0, 1):
                here = (a == value) & (b == other)
                assert (weights * y)[here].sum() / weights[here].sum() == pytest.approx(y.mean())
                assert weights[here].sum() == pytest.approx(here.sum())
        assert weights[y == 1].sum() == pytest.approx(y.sum())
        table = fd.fairness.table(y_true=y, y_pred=y, sensitive={"a": a, "b": b}, weights=weights)
        assert table.gap("base").value == pytest.approx(0, abs=1e-12)

    def test_sensitive__must_name_columns(self):
        with pytest.raises(fd.ParameterError, match="dict of columns"):
            fd.fairness.reweigh(y_true=[0, 1], sensitive=[0, 1])


class TestReductions:
    """Any estimator under a constraint."""

    @pytest.mark.parametrize("constraint", CONSTRAINTS)
    def test_violation__is_within_the_tolerance_and_is_what_it_is_said_to_be(self, constraint):
        features, y, group = people(500)
        found = train(LogisticRegression(), features, y, {"g": group}, constraint=constraint, tolerance=0.02)
        chances = found.chances(features)
        worst = 0.0
        for event in CONSTRAINTS[constraint]:
            inside = np.ones(y.size, bool) if event is None else y == event
            for g in (0, 1):
                worst = max(worst, abs(chances[inside & (group == g)].mean() - chances[inside].mean()))
        assert worst == pytest.approx(found.violation, abs=1e-9)
        assert worst <= 0.02 + 1e-9
        plain = LogisticRegression().fit(features, y).predict(features)
        assert abs(plain[group == 0].mean() - plain[group == 1].mean()) > 0.3
        assert found.error == pytest.approx(np.mean(chances * (1 - y) + (1 - chances) * y))
        assert found.error <= np.mean(plain != y) + 0.08
        assert found.weights.sum() == pytest.approx(1)

    def test_tolerance__that_asks_for_nothing_is_plain_training(self):
        features, y, group = people(400)
        found = train(LogisticRegression(), features, y, {"g": group}, constraint="separation", tolerance=0.99)
        plain = LogisticRegression().fit(features, y).predict(features)
        assert found.error <= np.mean(plain != y) + 1e-12
        assert set(np.unique(found.chances(features))) <= {0.0, 1.0}

    def test_estimators__that_fit_exactly_reach_the_best_of_all_mixtures(self):
        """Six cells of features: the best randomized classifier is a linear programme, and reductions find it."""
        from scipy.optimize import linprog

        source = np.random.default_rng(5)
        cell, group = source.integers(0, 6, 600), source.integers(0, 2, 600)
        y = (source.random(600) < np.array([0.1, 0.3, 0.4, 0.6, 0.7, 0.9])[cell] * (0.6 + 0.4 * group)).astype(int)
        found = train(
            DecisionTreeClassifier(), np.eye(6)[cell], y, {"g": group}, constraint="independence", tolerance=0.01,
            max_iterations=60,
        )  # fmt: skip
        worth = np.array([np.sum(np.where(y == 1, -1, 1)[cell == k]) for k in range(6)]) / 600
        rate = np.array([[np.mean(cell[group == g] == k) for k in range(6)] for g in (0, 1)])
        whole = np.array([np.mean(cell == k) for k in range(6)])
        rows = np.array([sign * (rate[g] - whole) for g in (0, 1) for sign in (1, -1)])
        best = linprog(worth, A_ub=rows, b_ub=np.full(4, 0.01), bounds=(0, 1)).fun + y.mean()
        assert best - 1e-9 <= found.error <= best + 0.005

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"constraint": "seperation"}, "did you mean 'separation'"), ({"tolerance": 0}, "tolerance"),
            ({"y_true": [0, 1, 2]}, "0 and 1"), ({"sensitive": {"g": [0, 1]}}, "one length"),
        ],
    )  # fmt: skip
    def test_errors__name_the_parameter(self, change, said):
        given = {"features": np.ones((3, 1)), "y_true": [0, 1, 1], "sensitive": {"g": [0, 1, 1]}} | change
        with pytest.raises((fd.ParameterError, fd.DomainError), match=said):
            train(LogisticRegression(), **given)


class TestComparison:
    """Every way to train, on rows that none of them has seen."""

    def test_held_out__tables_are_those_of_the_models(self):
        features, y, group = people(2000)
        found = compare(
            LogisticRegression(), pd.DataFrame(features, columns=["a", "b", "proxy"]), y, {"g": group},
            methods=("plain", "reweighed", "without proxies", "independence"), most=0.75,
        )  # fmt: skip
        held = np.random.default_rng(0).random(2000) < 0.5
        plain = found["plain"]
        frame = pd.DataFrame(features, columns=["a", "b", "proxy"])
        decided = plain.model.predict(frame[held])
        due = fd.fairness.table(y_true=y[held], y_pred=decided, sensitive={"g": group[held]})
        assert np.array_equal(plain.table.cells, due.cells)
        assert plain.accuracy()[0] == pytest.approx(np.mean(decided == y[held]))
        assert "proxy" not in found["without proxies"].columns
        gaps = {one.method: one.table.gap("selection") for one in found.trained}
        assert gaps["independence"].high < gaps["plain"].low
        assert gaps["reweighed"].value < gaps["plain"].value
        assert "independence" in str(found)
        assert found.to_dict()["methods"][0]["accuracy"]["low"] < plain.accuracy()[0]

    def test_method__that_is_unknown_names_the_nearest(self):
        with pytest.raises(fd.ParameterError, match="did you mean 'plain'"):
            compare(LogisticRegression(), np.ones((4, 1)), [0, 1, 0, 1], {"g": [0, 0, 1, 1]}, methods=("plane",))
        with pytest.raises(fd.ParameterError, match="most="):
            compare(
                LogisticRegression(), np.ones((4, 1)), [0, 1, 0, 1], {"g": [0, 0, 1, 1]}, methods=("without proxies",)
            )
