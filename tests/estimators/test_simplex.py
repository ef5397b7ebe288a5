"""Projections onto the simplex."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastdp as fd
from fastdp.estimators import clip_simplex, project_simplex


def naive_projection(values):
    """By sorting. [Held, Wolfe, Crowder 1974]"""
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, values.size + 1)
    return np.maximum(values - excess[np.flatnonzero(falling > excess)[-1]], 0)


@pytest.mark.parametrize("seed", range(40))
def test_projection__agrees_with_sorting(seed):
    source = np.random.default_rng(seed)
    values = source.normal(size=int(source.integers(1, 300))) * 10 ** source.uniform(-5, 3) + source.normal()

    found = project_simplex(values)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(found, naive_projection(values), atol=1e-10)


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=30))
def test_projection__is_a_distribution_for_any_floats(values):
    found = project_simplex(values)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert found[int(np.argmax(values))] == found.max()


def test_projection__leaves_a_distribution_alone():
    p = np.random.default_rng(3).dirichlet(np.ones(50))
    np.testing.assert_allclose(project_simplex(p), p, atol=1e-15)


def test_projection__keeps_its_input():
    values = np.array([0.7, 0.9, -3.0])
    project_simplex(values)
    clip_simplex(values)
    assert values.tolist() == [0.7, 0.9, -3.0]


@pytest.mark.parametrize("bad", [[], [[1.0]], [np.nan], [np.inf, 0], "abc", None])
def test_projection__refuses_what_is_no_vector(bad):
    for function in (project_simplex, clip_simplex):
        with pytest.raises(fd.ParameterError, match="finite numbers"):
            function(bad)


def test_clip__refuses_when_nothing_is_left():
    with pytest.raises(fd.ParameterError, match="nothing is left"):
        clip_simplex([-1.0, 0.0])
