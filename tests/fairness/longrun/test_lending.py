"""Loans that change scores: the first round in closed form, and the criterion that harms."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from fastdp.fairness.longrun.lending import lending
from tests.fairness.achieving.test_thresholds import table_of

SCORES = np.arange(10.0, 100.0, 10.0)


def loans():
    """Two groups; scores mean the same in both, and one has lower ones."""
    shares = np.linspace(0.1, 0.9, 9)
    low, high = np.exp(-0.5 * (np.arange(9) - 2) ** 2 / 2), np.exp(-0.5 * (np.arange(9) - 6) ** 2 / 2)
    mass = np.stack([low / low.sum() * 300, high / high.sum() * 1000])
    return table_of(np.stack([mass * (1 - shares), mass * shares], axis=1), SCORES), mass, shares


def test_first_round__is_the_expected_change():
    """Sum over those chosen of p up - (1 - p) down, where nobody reaches an end."""
    table, mass, shares = loans()
    policy = table.thresholds("profit", gain=1, cost=1)
    found = lending(table, "profit", gain=1, cost=1, up=10, down=20, rounds=1)
    moved = policy.chances * (shares * np.minimum(10, 90 - SCORES) - (1 - shares) * np.minimum(20, SCORES - 10))
    due = (mass * moved).sum(axis=1) / mass.sum(axis=1)
    assert found.change == pytest.approx(due)
    assert found.scores[0] == pytest.approx((mass * SCORES).sum(axis=1) / mass.sum(axis=1))
    assert found.profit[0] == pytest.approx(policy.profit)
    assert found.selection[0] == pytest.approx(policy.selection)


def test_statistical_parity__may_harm_those_it_means_to_help():
    """Lending beyond what is paid back lowers the scores of the group with lower ones; profit alone does not."""
    table, _, _ = loans()
    changes = {
        name: lending(table, name, gain=1, cost=2, up=10, down=20, rounds=5).change[0]
        for name in ("profit", "equal_opportunity", "independence")
    }
    assert changes["profit"] > 0
    assert changes["independence"] < 0
    assert changes["independence"] < changes["equal_opportunity"]


def test_people__are_neither_lost_nor_made():
    table, _, _ = loans()
    found = lending(table, "independence", gain=1, cost=1, up=5, down=35, rounds=40)
    assert ((found.scores >= 10) & (found.scores <= 90)).all()
    assert found.scores.shape == (41, 2)
    assert found.to_dict()["groups"] == [[0], [1]]


def test_errors__name_the_parameter():
    table, _, _ = loans()
    with pytest.raises(fd.ParameterError, match="down"):
        lending(table, "profit", gain=1, cost=1, up=1, down=-1)
    plain = fd.fairness.table(y_true=[1, 0], y_pred=[1, 0], sensitive={"g": [0, 1]})
    with pytest.raises(fd.ParameterError, match="score="):
        lending(plain, "profit", gain=1, cost=1, up=1, down=1)
