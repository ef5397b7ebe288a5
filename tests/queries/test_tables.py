"""Trees and marginals: published variances, agreement of nodes, and the certified optimum."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import fastdp as fd
from fastdp.queries.tasks.marginals import best_shares
from fastdp.queries.tasks.trees import height, leaf_weights, make_consistent, node_sums


def operator(branching, levels):
    """The matrix from all nodes to consistent leaves, column by column."""
    sizes = [branching**level for level in range(levels)]
    columns = []
    for level, size in enumerate(sizes):
        for node in range(size):
            nodes = [np.zeros(one) for one in sizes]
            nodes[level][node] = 1.0
            columns.append(make_consistent(nodes, branching))
    return np.array(columns).T


@pytest.mark.parametrize(
    ("branching", "leaf", "root", "ranges"),
    [(2, 0.6095238095, 0.5333333333, 0.8148148148), (4, 0.7899159664, 0.7529411765, 2.3261797027)],
)
def test_tree__has_the_variances_of_hay(branching, leaf, root, ranges):
    """Unit noise on every node of four (or three) levels: a leaf, the root, and the mean over all ranges of leaves."""
    matrix = operator(branching, 4)
    covariance = matrix @ matrix.T
    size = covariance.shape[0]
    assert math.isclose(covariance[0, 0], leaf, rel_tol=1e-9)
    assert math.isclose(covariance.sum(), root, rel_tol=1e-9)
    cumulative = np.zeros((size + 1, size + 1))
    cumulative[1:, 1:] = covariance.cumsum(axis=0).cumsum(axis=1)
    every = [
        cumulative[b, b] - 2 * cumulative[a, b] + cumulative[a, a]
        for a, b in itertools.combinations(range(size + 1), 2)
    ]
    assert math.isclose(np.mean(every), ranges, rel_tol=1e-9)
    weights = leaf_weights(branching, 4)
    assert math.isclose(sum(weight**2 * count for weight, count in weights), leaf, rel_tol=1e-9)


def test_tree__leaves_exact_counts_alone():
    leaves = np.random.default_rng(1).integers(0, 50, 9)
    nodes = node_sums(leaves, 3, 3)
    np.testing.assert_allclose(make_consistent(nodes, 3), leaves)
    assert (height(9, 3), height(10, 3), height(1, 3)) == (3, 4, 1)


@pytest.mark.parametrize(("size", "best", "apart"), [(2, 36.0, 108.0), (3, 92.67598087025, 216.0)])
def test_marginals__reach_the_least_total_variance(size, best, apart):
    """All one- and two-way marginals of three columns at rho 1/2; one by one they would have three or two times it."""
    sizes = dict.fromkeys("abc", size)
    assert math.isclose(best_shares(sizes, 2)[1], best, rel_tol=1e-9)
    cells = 3 * size + 3 * size**2
    assert math.isclose(6 * cells, apart)  # six marginals, each a sixth of rho
    # The SVD bound of any linear mechanism: (sum of singular values)**2 / number of cells.
    workload = []
    for subset in [*itertools.combinations(range(3), 1), *itertools.combinations(range(3), 2)]:
        for cell in itertools.product(range(size), repeat=len(subset)):
            row = np.zeros((size,) * 3)
            row[tuple(cell[subset.index(axis)] if axis in subset else slice(None) for axis in range(3))] = 1
            workload.append(row.ravel())
    singular = np.linalg.svd(np.array(workload), compute_uv=False)
    assert math.isclose(singular.sum() ** 2 / size**3, best, rel_tol=1e-9)


def test_marginals__are_as_far_off_as_they_say():
    """Total squared error over many runs, against the optimum that was certified; and marginals agree."""
    source = np.random.default_rng(2)
    data = {name: source.integers(0, 3, 1000) for name in "abc"}
    domains = dict.fromkeys("abc", range(3))
    exact = {
        names: np.histogramdd([data[name] for name in names], [np.arange(4)] * len(names))[0].ravel()
        for size in (1, 2)
        for names in itertools.combinations("abc", size)
    }
    total = []
    for seed in range(150):
        found = fd.release.marginals(data, domains, ways=2, rho=0.5, rng=fd.Rng.unsafe_seed(seed))
        total.append(sum(((found[" × ".join(names)].value - truth) ** 2).sum() for names, truth in exact.items()))
    assert abs(np.mean(total) - 92.676) < 4 * np.std(total) / math.sqrt(150)
    pair = found["a × b"].value.reshape(3, 3)
    np.testing.assert_allclose(pair.sum(axis=1), found["a"].value)
    np.testing.assert_allclose(pair.sum(axis=0), found["b"].value)
    assert found.privacy.rho <= 0.5


def test_marginals__of_persons_count_few_rows_of_each():
    data = {"a": [0] * 1000 + [1] * 100, "b": [0] * 1100, "u": [7] * 1000 + list(range(100, 200))}
    found = fd.release.marginals(data, {"a": [0, 1], "b": [0, 1]}, rho=100.0, person="u", max_rows=2)
    np.testing.assert_allclose(found["a"].value, [2, 100], atol=3)


def test_marginals__take_rho():
    with pytest.raises(fd.ParameterError, match="give the budget as rho"):
        fd.ReleasePlan(queries=[{"marginals": {"a": [0, 1]}, "ways": 1}], budget={"epsilon": 1.0}).run({"a": [0, 1]})
