"""Patrols that follow records: the urn's own law, the runaway, and the correction."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fastdp.errors import ParameterError
from fastdp.fairness.longrun.patrols import patrols


def test_urn__follows_the_beta_binomial_law():
    """With an incident at every visit it is Pólya's urn: 60 visits, beta-binomial, exactly."""
    found = patrols([1.0, 1.0], [2.0, 3.0], days=61, runs=4000, seed=1)
    visits = np.round(found.shares[:, 60, 0] * 65 - 2).astype(int)
    law = stats.betabinom(60, 2, 3)
    edges = np.arange(0, 61, 6)
    seen = np.histogram(visits, [*edges, 61])[0]
    due = np.diff([*law.cdf(edges - 1), 1.0]) * 4000
    assert stats.chisquare(seen, due).pvalue > 1e-3
    wrong = np.diff([*stats.betabinom(60, 3, 3).cdf(edges - 1), 1.0]) * 4000
    assert stats.chisquare(seen, wrong).pvalue < 1e-6


def test_equal_districts__stay_where_chance_took_them():
    """The mean share never moves, and equal districts end up far apart."""
    found = patrols([0.5, 0.5], [3.0, 3.0], days=500, runs=2000, seed=2)
    assert found.mean[-1, 0] == pytest.approx(0.5, abs=4 * found.spread[-1, 0] / np.sqrt(2000))
    assert found.spread[-1, 0] > 0.15
    assert found.shares.sum(axis=2) == pytest.approx(1)


@pytest.mark.parametrize("rates", [[0.6, 0.4], [0.5, 0.3, 0.2]])
def test_correction__brings_the_truth_where_the_loop_runs_away(rates):
    start = [20.0] * len(rates)
    runaway = patrols(rates, start, days=4000, runs=60, seed=3)
    corrected = patrols(rates, start, days=4000, runs=60, seed=3, corrected=True)
    assert runaway.mean[-1, 0] > runaway.truth[0] + 0.1
    assert corrected.mean[-1] == pytest.approx(corrected.truth, abs=0.03)


@pytest.mark.parametrize(
    "change", [{"rates": [0.5]}, {"rates": [0.5, 0]}, {"rates": [0.5, 1.1]}, {"recorded": [1, 0]}, {"days": 0}]
)
def test_errors__name_the_parameter(change):
    with pytest.raises(ParameterError):
        patrols(**({"rates": [0.5, 0.5], "recorded": [1, 1]} | change))
