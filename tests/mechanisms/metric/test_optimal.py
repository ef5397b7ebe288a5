"""The optimal mechanism: known optima, the spanner, bad parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastdp as fd
from fastdp.measures import expected_loss
from fastdp.mechanisms.metric.exponential import ExponentialMetric
from fastdp.mechanisms.metric.optimal import OptimalMechanism, _spanner
from tests.reference.metric import line, plane


@pytest.mark.parametrize("epsilon", [0.4, 0.7, 1.5])
def test_line__the_geometric_mechanism_is_optimal(epsilon):
    """On counts the truncated geometric mechanism, optimally remapped, loses least for every prior and loss."""
    source = np.random.default_rng(2)
    geometric = fd.Geometric(epsilon=epsilon, sensitivity=1, bounds=(0, 7)).channel()
    for prior in (np.ones(8) / 8, source.dirichlet(np.ones(8))):
        mechanism = OptimalMechanism(epsilon=epsilon, prior=prior, distance=line(8))
        best = expected_loss(geometric, prior, "absolute", remap="optimal")
        assert mechanism.expected_loss == pytest.approx(best, abs=1e-6)
        assert mechanism.privacy.epsilon <= epsilon
    assert OptimalMechanism(epsilon=0.7, prior=[1] * 8, distance=line(8)).expected_loss == pytest.approx(
        0.9921304, abs=1e-7
    )


def test_grid__loses_less_than_others_and_keeps_epsilon():
    """On 4 x 4 cells it beats the exponential mechanism with its best remap; a spanner loses at most a little more."""
    distance, prior = plane(4, 4), np.random.default_rng(3).dirichlet(np.ones(16))
    exact = OptimalMechanism(epsilon=1.0, prior=prior, distance=distance)
    dilated = OptimalMechanism(epsilon=1.0, prior=prior, distance=distance, dilation=1.1)
    other = expected_loss(ExponentialMetric(epsilon=1.0, distance=distance).channel(), prior, distance, remap="optimal")
    assert exact.expected_loss < other
    assert exact.expected_loss - 1e-7 <= dilated.expected_loss <= exact.expected_loss * 1.1
    assert exact.privacy.epsilon <= 1.0
    assert 1 - 1e-6 <= dilated.privacy.epsilon <= 1.0  # all of epsilon is used, though paths are shorter than allowed


def test_spanner__keeps_what_it_promises():
    """Along its edges no path is longer than the dilation allows; on a line only neighbours are left."""
    edges, stretch = _spanner(line(9), 1.0)
    assert (sorted(edges), stretch) == ([(x, x + 1) for x in range(8)], 1.0)
    distance = plane(5, 5)
    sizes = []
    for dilation in (1.0, 1.1, 1.5):
        edges, stretch = _spanner(distance, dilation)
        lengths = np.where(np.eye(25, dtype=bool), 0.0, np.inf)
        for x, other in edges:
            lengths[x, other] = lengths[other, x] = distance[x, other]
        for k in range(25):
            lengths = np.minimum(lengths, lengths[:, [k]] + lengths[k])
        assert (lengths <= stretch * distance * (1 + 1e-12)).all()
        assert (lengths[distance > 0] >= stretch * distance[distance > 0] * (1 - 1e-12)).any()
        assert stretch <= dilation * (1 + 1e-8)
        sizes.append(len(edges))
    assert 300 > sizes[0] > sizes[1] > sizes[2]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_spanner__solves_larger_grids(epsilon):
    """6 x 6 cells with neighbours alone: epsilon is kept over all pairs, and less is lost than by the exponential."""
    distance, prior = plane(6, 6), np.random.default_rng(5).dirichlet(np.ones(36))
    mechanism = OptimalMechanism(epsilon=epsilon, prior=prior, distance=distance, dilation=1.5)
    assert len(_spanner(distance, 1.5)[0]) == 2 * 5 * 6
    assert epsilon * (1 - 1e-4) <= mechanism.privacy.epsilon <= epsilon
    other = ExponentialMetric(epsilon=epsilon, distance=distance).remap(prior)
    assert mechanism.expected_loss < other.expected_loss


@pytest.mark.parametrize("given", [
    {"epsilon": 1e-9}, {"dilation": 0.5}, {"dilation": math.nan}, {"loss": [[1.0]]}, {"prior": [1]},
    {"loss": "a"}, {"loss": [[1, 2], [3]]}, {"loss": [[10**400] * 3] * 3}, {"dilation": 1e308}, {"loss": {}},
    {"loss": [[math.nan] * 3] * 3}, {"distance": line(101), "prior": [1] * 101},
])  # fmt: skip
def test_bad_parameters__are_refused(given):
    with pytest.raises(fd.ParameterError):
        OptimalMechanism(**{"epsilon": 1.0, "prior": [1, 1, 1], "distance": line(3)} | given)
