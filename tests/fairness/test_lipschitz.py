"""The Lipschitz condition over all pairs, against a loop."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fastdp as fd
from fastdp.fairness.lipschitz import BLOCK

METRICS = {
    "euclidean": lambda a, b: np.sqrt(((a - b) ** 2).sum()),
    "manhattan": lambda a, b: np.abs(a - b).sum(),
    "hamming": lambda a, b: (a != b).sum(),
}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("people", [2, 40])
def test_pairs__are_those_of_a_loop(metric, people):
    source = np.random.default_rng(people)
    rows, given = source.integers(0, 3, (people, 4)).astype(float), source.random(people)
    found = fd.fairness.individual(rows, given, metric=metric, lipschitz=0.2, show=5)
    naive = sorted(
        ((abs(given[i] - given[j]) - 0.2 * METRICS[metric](rows[i], rows[j]), i, j)
         for i in range(people) for j in range(i + 1, people)), reverse=True,
    )  # fmt: skip
    bad = [one for one in naive if one[0] > 1e-12]
    assert found.violations == len(bad)
    assert found.compared == len(naive)
    assert [(p.first, p.second) for p in found.pairs] == [(i, j) for _, i, j in bad[:5]]
    assert found.violation == pytest.approx(bad[0][0] if bad else 0)
    ratios = [abs(given[i] - given[j]) / d if (d := METRICS[metric](rows[i], rows[j])) else np.inf for _, i, j in naive]
    assert found.constant == pytest.approx(max(ratios))
    assert fd.fairness.individual(rows, given, metric=metric, lipschitz=10.0).holds == (max(ratios) <= 10)


def test_pairs__of_different_blocks_are_compared():
    rows, given = np.arange(2 * BLOCK + 3)[:, None] * 10.0, np.zeros(2 * BLOCK + 3)
    given[[3, 2 * BLOCK + 1]], rows[2 * BLOCK + 1] = (0.0, 0.7), rows[3]
    found = fd.fairness.individual(rows, given)
    assert not found.holds
    assert (found.pairs[0].first, found.pairs[0].second, found.violations) == (3, 2 * BLOCK + 1, 1)
    assert found.constant == np.inf
    assert found.to_dict()["constant"] is None


def test_metric__of_the_user():
    """Only income counts: two who differ in sex alone must be treated alike."""
    people = pd.DataFrame({"sex": ["f", "m", "m"], "income": [10, 10, 30]})

    def metric(a, b):
        return np.abs(a[:, 1:2].astype(float) - b[:, 1:2].astype(float).T) / 10

    found = fd.fairness.individual(people, [0.2, 0.6, 0.9], metric=metric)
    assert [(p.first, p.second, p.distance, p.difference) for p in found.pairs] == [(0, 1, 0.0, pytest.approx(0.4))]


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"metric": "cosine"}, fd.ParameterError, "metric must be one of"),
        ({"metric": lambda a, b: -np.ones((len(a), len(b)))}, fd.ParameterError, "distance >= 0"),
        ({"metric": lambda a, b: np.ones(3)}, fd.ParameterError, "distance >= 0"),
        ({"lipschitz": 0}, fd.ParameterError, "lipschitz"), ({"treatment": [0.1]}, fd.ParameterError, "two people"),
        ({"treatment": [0.1, float("nan")]}, fd.DomainError, "NaN"),
        ({"features": [[1.0], [float("inf")]]}, fd.DomainError, "features"),
    ],
)  # fmt: skip
def test_errors__name_the_parameter(change, error, said):
    with pytest.raises(error, match=said):
        fd.fairness.individual(**({"features": [[1.0], [2.0]], "treatment": [0.1, 0.2]} | change))
