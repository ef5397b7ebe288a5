"""Rows drawn in strata: exact shares, random order, independence within a group."""

from __future__ import annotations

import numpy as np
from scipy.stats import chisquare

from fastdp.kernels.synthesis.strata import draw_strata, fill_uniforms


def draw(given, weights, seed=1):
    cumulative, groups, rows = np.cumsum(weights, axis=1), weights.shape[0], given.size
    out, order = np.empty(rows, np.int64), np.empty(rows, np.int64)
    ends, starts = np.zeros(groups, np.int64), np.empty(groups + 1, np.int64)
    draw_strata(given, ends, cumulative, np.uint64(seed), starts, order, out)
    return out


def test_draw_strata__gives_every_cell_its_share():
    source = np.random.default_rng(1)
    weights, given = source.dirichlet(np.ones(6), 4), source.integers(0, 4, 10_001)
    cells = draw(given, weights)
    for group in range(4):
        own = cells[given == group]
        expected = weights[group] * own.size
        assert np.all(np.abs(np.bincount(own, minlength=6) - expected) < 1 + 1e-9)


def test_draw_strata__is_random_in_order_and_right_on_average():
    """One row of a group is a draw from its weights; positions say nothing of cells."""
    weights = np.array([[0.5, 0.3, 0.2]])
    singles = [draw(np.zeros(1, np.int64), weights, seed)[0] for seed in range(3000)]
    assert chisquare(np.bincount(singles, minlength=3), 3000 * weights[0]).pvalue > 1e-3
    cells = draw(np.zeros(30_000, np.int64), weights)
    halves = [np.bincount(part, minlength=3) for part in (cells[:15_000], cells[15_000:])]
    assert np.abs(halves[0] - halves[1]).max() < 4 * np.sqrt(30_000 * 0.25)
    assert np.abs(halves[0] - halves[1]).max() > 0


def test_draw_strata__without_weight_is_uniform():
    cells = draw(np.zeros(100, np.int64), np.zeros((1, 4)))
    assert np.array_equal(np.bincount(cells), [25] * 4)


def test_fill_uniforms__are_uniform():
    out = np.empty(50_000)
    fill_uniforms(np.uint64(5), out)
    assert out.min() >= 0
    assert out.max() < 1
    assert chisquare(np.histogram(out, 50, (0, 1))[0]).pvalue > 1e-3
