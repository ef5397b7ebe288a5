"""Thresholds at the best profit: against a linear programme, all tuples of thresholds, and FICO as published."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import fastdp as fd
from fastdp.fairness.achieving.thresholds import RATE_OF
from tests.fairness.data import fico, needs_data


def make(groups=3, scores=6, seed=0, empty=()):
    """A table of scores whose ROC curves are not concave; ``empty`` groups have no positives."""
    source = np.random.default_rng(seed)
    counts = source.integers(0, 40, (groups, 2, scores)) + 1
    for group in empty:
        counts[group, 1] = 0
    return counts, table_of(counts)


def table_of(counts, values=None):
    group, label, score = (place.ravel() for place in np.indices(counts.shape))
    return fd.fairness.table(
        y_true=label, y_pred=label, sensitive={"g": group}, score=score if values is None else values[score],
        weights=counts.ravel().astype(float),
    )  # fmt: skip


def rate_rows(counts, rate):
    """The rate of each group above each threshold, from everyone to nobody; NaN where it has none."""
    part = (counts.sum(axis=1) if rate == "selection" else counts[:, int(rate == "tpr")]).astype(float)
    above = np.concatenate([part[:, ::-1].cumsum(axis=1)[:, ::-1], np.zeros((len(part), 1))], axis=1)
    with np.errstate(invalid="ignore"):
        return above / part.sum(axis=1, keepdims=True)


def best_by_programme(counts, rates, gain, cost, tolerance):
    """The largest profit per person over all mixtures of all thresholds: a linear programme over their weights."""
    groups, _, scores = counts.shape
    totals = counts.sum(axis=2)
    worth = np.zeros((groups, scores + 1))
    for label, value in ((0, cost), (1, -gain)):
        shares = np.nan_to_num(rate_rows(counts, "tpr" if label else "fpr"))
        worth += value * totals[:, label, None] * shares / counts.sum()
    limits = []
    for rate in rates:
        rows = rate_rows(counts, rate)
        for i, j in itertools.permutations(np.flatnonzero(~np.isnan(rows).any(axis=1)), 2):
            row = np.zeros_like(worth)
            row[i], row[j] = rows[i], -rows[j]
            limits.append(row.ravel())
    ones = np.kron(np.eye(groups), np.ones(scores + 1))
    found = linprog(
        worth.ravel(), A_ub=np.array(limits), b_ub=np.full(len(limits), tolerance), A_eq=ones, b_eq=np.ones(groups),
        bounds=(0, 1),
    )  # fmt: skip
    return -found.fun


@pytest.mark.parametrize("tolerance", [0.0, 0.03, 0.4])
@pytest.mark.parametrize("criterion", [*RATE_OF, "separation"])
@pytest.mark.parametrize("seed", range(3))
def test_policy__is_the_best_of_all(criterion, tolerance, seed):
    """No mixture of thresholds brings more, and the rates are as near as they are said to be."""
    counts, table = make(seed=seed)
    rates = ["tpr", "fpr"] if criterion == "separation" else [RATE_OF[criterion]]
    found = table.thresholds(criterion, gain=2.0, cost=1.5, tolerance=tolerance)
    assert found.profit == pytest.approx(best_by_programme(counts, rates, 2.0, 1.5, tolerance), abs=1e-9)
    for rate in rates:
        part = counts.sum(axis=1) if rate == "selection" else counts[:, int(rate == "tpr")]
        values = (part * found.chances).sum(axis=1) / part.sum(axis=1)
        assert getattr(found, rate) == pytest.approx(values)
        assert np.ptp(values) <= tolerance + 1e-9
    assert ((found.chances >= 0) & (found.chances <= 1)).all()
    assert (np.diff(found.chances, axis=1) >= -1e-12).all()


def test_policy__without_hulls_would_bring_less():
    """The mutant that mixes neighbouring thresholds only, as interpolating an ROC curve does."""
    counts = np.array([[[5, 1, 30, 2], [1, 30, 2, 20]], [[9, 8, 4, 1], [2, 6, 9, 30]]])
    table = table_of(counts)
    above = table.scores.above()
    level = above[:, 1] / above[:, 1, :1]
    profits = (above[:, 1] - above[:, 0]) / counts.sum()
    places = np.linspace(0, 1, 2001)
    mutant = max(
        sum(np.interp(x, level[g][::-1], profits[g][::-1]) for g in range(2)) for x in places
    )  # fmt: skip
    assert table.thresholds("equal_opportunity", gain=1, cost=1).profit > mutant + 0.01


@pytest.mark.parametrize("criterion", RATE_OF)
@pytest.mark.parametrize("tolerance", [0.0, 0.02, 0.1, 1.0])
def test_plain_thresholds__are_the_best_of_all_tuples(criterion, tolerance):
    counts, table = make(groups=3, scores=7, seed=4)
    above = table.scores.above()
    part = above.sum(axis=1) if criterion == "independence" else above[:, int(criterion == "equal_opportunity")]
    rates, profits = part / part[:, :1], (2 * above[:, 1] - above[:, 0]) / counts.sum()
    best = max(
        sum(profits[g, k] for g, k in enumerate(places))
        for places in itertools.product(range(8), repeat=3)
        if np.ptp([rates[g, k] for g, k in enumerate(places)]) <= tolerance + 1e-12
    )
    found = table.thresholds(criterion, gain=2, cost=1, tolerance=tolerance, randomized=False)
    assert found.profit == pytest.approx(best, abs=1e-12)
    assert set(found.chances.ravel()) <= {0.0, 1.0}


def test_group__without_positives_is_not_bound():
    """It has no true positive rate that could be equal, takes its best profit, and stays undefined."""
    counts, table = make(empty=(1,))
    found = table.thresholds("equal_opportunity", gain=1.0, cost=1.0)
    assert np.isnan(found.tpr[1])
    assert found.tpr[0] == pytest.approx(found.tpr[2])
    assert found.chances[1].tolist() == [0] * 6
    assert found.profit == pytest.approx(best_by_programme(counts, ["tpr"], 1.0, 1.0, 0.0), abs=1e-9)


class TestDecisions:
    """Policies applied to people."""

    def test_rates__are_those_stated(self):
        _, table = make(seed=1)
        policy = table.thresholds("equal_opportunity", gain=1.5, cost=1.0)
        source = np.random.default_rng(3)
        group, score = source.integers(0, 3, 300_000), source.integers(0, 6, 300_000)
        found = policy.decide(score=score, sensitive=group, seed=5)
        for g in range(3):
            for s in range(6):
                here, due = found[(group == g) & (score == s)], policy.chances[g, s]
                assert abs(here.mean() - due) <= 4.5 * np.sqrt(due * (1 - due) / here.size)
        assert np.array_equal(found, policy.decide(score=score, sensitive=group, seed=5))
        with pytest.raises(fd.ParameterError, match="seed="):
            policy.decide(score=score, sensitive=group)

    def test_plain__needs_no_seed_and_takes_scores_between(self):
        _, table = make(seed=1)
        policy = table.thresholds("single", gain=1.0, cost=1.0)
        edge = policy.thresholds[0].lower
        found = policy.decide(score=[edge - 0.01, edge, edge + 0.5, -9, 99], sensitive=[0] * 5)
        assert found.tolist() == [0, 1, 1, 0, 1]

    def test_several_attributes__are_given_as_they_were(self):
        source = np.random.default_rng(9)
        given = {"race": source.choice(["a", "b"], 400), "sex": source.choice(["f", "m"], 400)}
        score, label = source.integers(0, 5, 400), source.integers(0, 2, 400)
        table = fd.fairness.table(y_true=label, y_pred=label, sensitive=given, score=score)
        policy = table.thresholds("profit", gain=1.0, cost=1.0)
        found = policy.decide(score=score, sensitive={name: pd.Series(values) for name, values in given.items()})
        for i, (race, sex) in enumerate(policy.groups):
            here = (given["race"] == race) & (given["sex"] == sex)
            assert np.array_equal(found[here], policy.chances[i, score[here]])
        with pytest.raises(fd.ParameterError, match="dict of 2 columns"):
            policy.decide(score=score, sensitive=given["race"])

    def test_errors__name_no_value(self):
        _, table = make(seed=1)
        policy = table.thresholds("single", gain=1.0, cost=1.0)
        with pytest.raises(fd.DomainError, match="does not have") as raised:
            policy.decide(score=[1.0], sensitive=["SECRET"])
        assert "SECRET" not in str(raised.value)
        with pytest.raises(fd.ParameterError, match="one length"):
            policy.decide(score=[1.0], sensitive=[0, 1])
        with pytest.raises(fd.DomainError, match="NaN"):
            policy.decide(score=[float("nan")], sensitive=[0])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"criterion": "seperation"}, "did you mean 'separation'"), ({"gain": -1}, "gain must be"),
        ({"cost": float("nan")}, "cost must be"), ({"tolerance": 2}, "tolerance must be"),
        ({"criterion": "separation", "randomized": False}, "needs mixtures"),
    ],
)  # fmt: skip
def test_errors__name_the_parameter(change, said):
    given = {"criterion": "independence", "gain": 1, "cost": 1} | change
    with pytest.raises(fd.ParameterError, match=said):
        make()[1].thresholds(**given)
    plain = fd.fairness.table(y_true=[1, 0], y_pred=[1, 0], sensitive={"g": [0, 1]})
    with pytest.raises(fd.ParameterError, match="give score="):
        plain.thresholds("single", gain=1, cost=1)


@pytest.fixture(scope="module")
def table():
    """FICO scores of four groups, counted by their shares."""
    groups, scores, mass = fico()
    group, label, score = (place.ravel() for place in np.indices(mass.shape))
    return fd.fairness.table(
        y_true=label, y_pred=label, sensitive={"race": np.array(groups)[group]}, score=scores[score],
        weights=mass.ravel(),
    )  # fmt: skip


@needs_data
class TestFico:
    """Hardt, Price and Srebro's case study: a loan that defaults costs 82/18 of what one that is paid back brings."""

    def test_base_rates__are_as_published(self, table):
        order = [3, 1, 2, 0]
        assert np.round(table.rates("base").values, 4)[order].tolist() == [0.7587, 0.3366, 0.5681, 0.8068]

    @pytest.mark.parametrize(
        ("criterion", "share"),
        [
            ("profit", 1.0), ("single", 0.9935), ("equal_opportunity", 0.9290), ("separation", 0.8042),
            ("independence", 0.7047),
        ],
    )  # fmt: skip
    def test_price__is_as_published(self, table, criterion, share):
        assert table.price(gain=1, cost=82 / 18)[criterion].share == pytest.approx(share, abs=5e-5)

    def test_thresholds__of_maximum_profit(self, table):
        found = table.thresholds("profit", gain=1, cost=82 / 18)
        edges = dict(zip(found.groups, (one.lower for one in found.thresholds), strict=True))
        assert [edges[name,] for name in ("Non- Hispanic white", "Black", "Hispanic", "Asian")] == [40, 48, 45.5, 38]

    @pytest.mark.parametrize("criterion", [*RATE_OF, "separation"])
    def test_tolerance__costs_less_and_is_kept(self, table, criterion):
        shares = [table.thresholds(criterion, gain=1, cost=82 / 18, tolerance=t).share for t in (0, 0.01, 0.1, 1)]
        assert np.all(np.diff(shares) >= -1e-12)
        assert shares[-1] == pytest.approx(1)
