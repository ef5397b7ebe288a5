"""The worst pair of rows, against all pairs one by one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from fastdp.kernels.products.ratios import find_worst_pair


def by_hand(logs, distances):
    pairs = itertools.permutations(range(len(logs)), 2)
    return max(float((logs[x] - logs[y]).max()) / distances[x, y] for x, y in pairs)


@pytest.mark.parametrize(("rows", "outputs"), [(2, 1), (3, 8), (9, 17)])
def test_worst_pair__is_that_of_all_pairs(rows, outputs):
    """And ``where`` attains it; distances of another metric have another one."""
    source, where = np.random.default_rng(rows), np.zeros(2, np.int64)
    logs, distances = source.normal(size=(rows, outputs)), source.uniform(1, 2, (rows, rows))
    found = find_worst_pair(logs, distances, 1e9, where)
    assert found == pytest.approx(max(0, by_hand(logs, distances)), rel=1e-15)
    x, other = where
    assert found == pytest.approx(max(0, (logs[x] - logs[other]).max()) / distances[x, other], rel=1e-15)
    assert found != pytest.approx(by_hand(logs, distances * 1.001), rel=1e-6)


def test_worst_pair__of_rows_that_are_equal_apart_or_in_one_place():
    logs, where = np.array([[0.0, -1.0], [-1.0, 0.0]]), np.zeros(2, np.int64)
    far, near = np.full((2, 2), math.inf), np.zeros((2, 2))
    assert find_worst_pair(logs, far, 1e9, where) == 0
    assert find_worst_pair(logs, near, 1e9, where) == math.inf
    assert find_worst_pair(np.zeros((2, 2)), near, 1e9, where) == 0
    assert find_worst_pair(logs, np.ones((2, 2)), 1.0, where) == math.inf
