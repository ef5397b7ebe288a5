"""Trees, inference, fitting and drawing, against the whole joint distribution."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from fastdp.synthesis.fitting.descent import Measurement, fit, merge
from fastdp.synthesis.fitting.drawing import CHUNK, Drawer
from fastdp.synthesis.fitting.model import infer
from fastdp.synthesis.fitting.trees import build_tree, model_cells

SIZES = (3, 2, 4, 2, 3)


def marginal(joint, subset):
    return joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis not in subset)).reshape(-1)


@pytest.mark.parametrize(
    "subsets", [[(0,)], [(0, 1), (2, 3)], [(0, 1), (1, 2), (2, 3), (0, 3)], [(0, 2, 4), (1, 2), (3, 4)]]
)
def test_infer__is_the_normalized_product(subsets):
    """Marginals of cliques, and across cliques, are those of the product of all potentials."""
    tree, source = build_tree(SIZES, subsets), np.random.default_rng(2)
    held = [set(clique) for clique in tree.cliques]
    assert all(any(set(one) <= clique for clique in held) for one in [*subsets, *((c,) for c in range(5))])
    potentials = [source.normal(0, 2, int(np.prod([SIZES[c] for c in clique]))) for clique in tree.cliques]
    tables, level = infer(tree, potentials)
    joint = np.zeros(SIZES)
    for clique, table in zip(tree.cliques, potentials, strict=True):
        shape = [SIZES[c] if c in clique else 1 for c in range(5)]
        joint = joint + table.reshape(shape)
    assert level == pytest.approx(np.log(np.exp(joint).sum()))
    joint = np.exp(joint) / np.exp(joint).sum()
    for clique, table in zip(tree.cliques, tables, strict=True):
        assert np.allclose(table, marginal(joint, clique))
    model = fit(SIZES, [Measurement(c, 1e6 * marginal(joint, c), 1.0) for c in tree.cliques], tolerance=1e-9)
    for size in range(1, 6):
        for subset in itertools.combinations(range(5), size):
            assert np.allclose(model.marginal(subset), marginal(joint, subset), atol=2e-4)


def test_model_cells__counts_the_cliques():
    assert model_cells(SIZES, [(0, 1), (1, 2)]) == 6 + 8 + 2 + 3
    assert model_cells(SIZES, [tuple(range(5))]) == 144


def test_fit__is_the_least_sum_of_squares():
    """Against a general solver over the whole joint distribution."""
    source, sizes, rows = np.random.default_rng(3), (2, 3, 2), 1000
    truth = source.dirichlet(np.ones(12)).reshape(sizes)
    noisy = [
        Measurement(c, rows * marginal(truth, c) + source.normal(0, np.sqrt(v), marginal(truth, c).size), v)
        for c, v in [((0, 1), 400.0), ((1, 2), 100.0), ((0, 2), 900.0), ((0, 1), 200.0)]
    ]
    model = fit(sizes, noisy, tolerance=1e-8, max_iterations=4000)

    def loss(values):
        joint = values.reshape(sizes)
        return sum(
            np.square(model.rows * marginal(joint, one.subset) - one.values).sum() / (2 * one.variance) for one in noisy
        )

    best = minimize(
        loss, np.full(12, 1 / 12), bounds=[(0, 1)] * 12, constraints={"type": "eq", "fun": lambda v: v.sum() - 1},
        options={"maxiter": 500, "ftol": 1e-10},
    )  # fmt: skip
    assert loss(model.marginal((0, 1, 2))) <= best.fun * (1 + 1e-4) + 1e-4
    assert len(merge(noisy)) == 3


def test_fit__keeps_declared_cells_empty_and_starts_from_a_model():
    mask = np.zeros(6, bool)
    mask[[1, 4]] = True
    measured = [
        Measurement((0, 1), np.array([50.0, 9, 20, 30, 7, 40]), 25.0),
        Measurement((1, 2), np.ones(6) * 25, 9.0),
    ]
    model = fit((2, 3, 2), measured, empty={(0, 1): mask})
    assert model.marginal((0, 1))[mask].max() < 1e-200
    again = fit((2, 3, 2), [*measured, Measurement((0, 2), np.full(4, 37.0), 9.0)], start=model, empty={(0, 1): mask})
    assert again.marginal((0, 1))[mask].max() < 1e-200
    codes = np.concatenate(list(Drawer(again).chunks(5000, b"key")), axis=1)
    assert not np.any((codes[0] * 3 + codes[1] == 1) | (codes[0] * 3 + codes[1] == 4))


def test_drawer__draws_the_model_in_chunks():
    source = np.random.default_rng(4)
    joint = source.dirichlet(np.full(144, 0.3)).reshape(SIZES)
    subsets = [(0, 1), (1, 2), (2, 3, 4)]
    model = fit(SIZES, [Measurement(c, 1e6 * marginal(joint, c), 1.0) for c in subsets], tolerance=1e-8)
    rows = CHUNK + 1000
    chunks = list(Drawer(model).chunks(rows, b"key"))
    assert [chunk.shape[1] for chunk in chunks] == [CHUNK, 1000]
    assert all(np.array_equal(a, b) for a, b in zip(chunks, Drawer(model).chunks(rows, b"key"), strict=True))
    assert not np.array_equal(chunks[0], next(Drawer(model).chunks(rows, b"other")))
    codes = np.concatenate(chunks, axis=1)
    for subset in [*subsets, (0, 4), (0, 2)]:
        flat = np.ravel_multi_index([codes[c] for c in subset], [SIZES[c] for c in subset])
        shares = np.bincount(flat, minlength=model.marginal(subset).size) / rows
        slack = 5 * np.sqrt(model.marginal(subset) / rows) + 40 / rows
        assert np.all(np.abs(shares - model.marginal(subset)) <= slack)
