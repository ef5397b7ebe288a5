"""Sensitivity to wrong labels: against labels that were made wrong, and against all shares on a grid."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import fastdp as fd
from fastdp.fairness.labels import corrected, largest_shares, ranges
from fastdp.fairness.rates import RATES, weights_of

TRUTH = np.array([[[500.0, 100], [120, 280]], [[300, 200], [150, 350]]])
SHARES = np.array([[0.05, 0.1], [0.02, 0.2]])


def spoil(cells, shares):
    """Expected observed counts when labels are wrong in these shares."""
    (a, b), negative, positive = shares.T[:, :, None], cells[:, 0], cells[:, 1]
    return np.stack([(1 - a) * negative + b * positive, a * negative + (1 - b) * positive], axis=1)


def table_of(cells):
    group, label, decision = (place.ravel() for place in np.indices(cells.shape))
    return fd.fairness.table(y_true=label, y_pred=decision, sensitive={"g": group}, weights=cells.ravel().astype(float))


def rate(cells, name):
    hits, total = weights_of(name)
    return (cells * hits).sum(axis=(1, 2)) / (cells * total).sum(axis=(1, 2))


def test_counts__are_won_back():
    assert corrected(spoil(TRUTH, SHARES), *SHARES.T) == pytest.approx(TRUTH)
    assert corrected(spoil(TRUTH, SHARES), *SHARES.T[::-1]) != pytest.approx(TRUTH)


@pytest.mark.parametrize("name", RATES)
def test_range__holds_the_truth_and_is_not_wider_than_the_grid_of_shares(name):
    """The corners are the extremes over all shares up to those stated."""
    seen = spoil(TRUTH, SHARES)
    found = table_of(seen).label_sensitivity(name, wrong={0: (0.05, 0.1), 1: (0.02, 0.2)})
    due = rate(TRUTH, name)
    assert (found.low <= due + 1e-12).all()
    assert (due <= found.high + 1e-12).all()
    grid = [
        rate(corrected(seen, SHARES[:, 0] * a, SHARES[:, 1] * b), name)
        for a, b in itertools.product(np.linspace(0, 1, 9), repeat=2)
    ]
    assert found.low == pytest.approx(np.min(grid, axis=0))
    assert found.high == pytest.approx(np.max(grid, axis=0))
    assert found.gap_low <= np.ptp(due) + 1e-12 <= found.gap_high + 2e-12


def test_shares__that_no_table_can_have_are_cut():
    """More wrong labels than there are labels of a kind cannot be."""
    seen = np.array([[[95.0, 40], [5, 60]], [[50, 50], [50, 50]]])
    limits = largest_shares(seen)
    assert limits[0] == pytest.approx([0.05, 0.4])
    assert (corrected(seen, *(limits * 0.999).T) >= 0).all()
    assert (corrected(seen, *(limits * 1.01).T) < 0).any()
    found = table_of(seen).label_sensitivity("tpr", wrong=0.3)
    assert found.rates[0, 0] == pytest.approx(0.05)
    low, high = ranges("tpr", seen, limits * 0.999)
    assert (low >= 0).all()
    assert (high <= 1).all()


def test_tipping__is_where_the_gap_may_vanish():
    table = table_of(TRUTH)
    found = table.label_sensitivity("fpr", wrong=0.01, tolerance=0.05)
    assert found.gap_low > 0.05
    below, above = (table.label_sensitivity("fpr", wrong=found.tipping + step) for step in (-1e-6, 1e-6))
    assert below.gap_low > 0.05 >= above.gap_low - 1e-9
    assert f"{found.tipping:.4f}" in str(found)
    never = table.label_sensitivity("selection", wrong=0.1)
    assert never.tipping == np.inf
    assert never.gap_low == never.gap_high == pytest.approx(never.gap)
    assert np.isnan(table.label_sensitivity("selection", wrong=0.1, tolerance=0.5).tipping)


def test_undefined__stays_undefined():
    found = table_of(np.array([[[5.0, 5], [0, 0]], [[5, 5], [4, 6]]])).label_sensitivity("tpr", wrong=0.1)
    assert np.isnan(found.observed[0])
    assert np.isnan(found.gap)
    assert found.to_dict()["gap"] is None


@pytest.mark.parametrize("wrong", [-0.1, 0.5, (0.1, 0.2, 0.3), "x", {"SECRET": 0.1}])
def test_errors__name_the_rule(wrong):
    with pytest.raises(fd.ParameterError, match="wrong") as raised:
        table_of(TRUTH).label_sensitivity("tpr", wrong=wrong)
    assert "SECRET" not in str(raised.value)
