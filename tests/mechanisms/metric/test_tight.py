"""Tight constraints: the mechanisms it is known to be, its privacy, and where it does not exist."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.stats import chisquare

import fastdp as fd
from fastdp.measures import expected_loss
from tests.reference.metric import exact_epsilon, line, plane


def manhattan(rows: int, columns: int) -> np.ndarray:
    i, j = np.divmod(np.arange(rows * columns), columns)
    return (np.abs(i[:, None] - i) + np.abs(j[:, None] - j)).astype(float)


def star(leaves: int) -> np.ndarray:
    distance = np.full((leaves + 1, leaves + 1), 2.0)
    distance[0] = distance[:, 0] = 1.0
    np.fill_diagonal(distance, 0.0)
    return distance


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0])
def test_channel__is_the_known_mechanism(epsilon):
    """Truncated geometric on a line, k-RR where all are equally far, a product of geometrics on a city's blocks."""

    def channel(distance: np.ndarray) -> np.ndarray:
        return fd.TightConstraints(epsilon=epsilon, distance=distance).channel().dense()

    def geometric(size: int) -> np.ndarray:
        return fd.Geometric(epsilon=epsilon, bounds=(0, size - 1)).channel().dense()

    near = {"rtol": 1e-8, "atol": 1e-12}
    assert np.allclose(channel(line(9)), geometric(9), **near)
    assert np.allclose(channel(1 - np.eye(12)), fd.KRR(epsilon=epsilon, domain=12).channel().dense(), **near)
    assert np.allclose(channel(manhattan(4, 5)), np.kron(geometric(4), geometric(5)), **near)


@pytest.mark.parametrize(("epsilon", "distance"), [
    (0.05, line(6)), (1.0, plane(5, 5)), (0.8, plane(3, 7) * 1.7), (6.0, plane(4, 4)), (30.0, line(4)),
    (2.0, star(5)),
])  # fmt: skip
def test_privacy__is_tight(epsilon, distance):
    """The integers cost at most what is stated, that at most what was asked, and hardly less."""
    mechanism = fd.TightConstraints(epsilon=epsilon, distance=distance, unit="km")
    with mpmath.workdps(60):
        assert exact_epsilon(mechanism._shares, distance) <= mpmath.mpf(mechanism.privacy.epsilon)
    assert epsilon * (1 - 2e-6) <= mechanism.privacy.epsilon <= epsilon
    assert (mechanism.privacy.unit, mechanism.privacy.neighbours) == ("1 km", "replace")
    if epsilon * distance.max() < 25:  # where no probability is near the uniform share of 2**-56
        logs = np.log(mechanism.channel().dense())
        spread = np.diag(logs) - logs
        assert np.allclose(spread, epsilon * distance, rtol=1e-6)


@pytest.mark.parametrize(("leaves", "edge"), [(3, math.log(2)), (5, math.log(4)), (9, math.log(8))])
def test_star__exists_from_its_threshold_on(leaves, edge):
    """The middle of a star of k leaves has weight 1 - k a / (1 + a), a = e**-epsilon: none below ln(k - 1)."""
    middle = fd.TightConstraints(epsilon=edge * 1.01, distance=star(leaves)).channel().dense()[0, 0]
    a = math.exp(-edge * 1.01)
    assert middle == pytest.approx(1 - leaves * a / (1 + a), rel=1e-6)
    with pytest.raises(fd.ParameterError, match="OptimalMechanism or ExponentialMetric, or a larger epsilon"):
        fd.TightConstraints(epsilon=edge * 0.99, distance=star(leaves))


def test_plane__does_not_exist_for_small_epsilon_and_is_optimal_where_it_does():
    """With a uniform prior it loses as little as the linear program's mechanism, and less than the exponential."""
    with pytest.raises(fd.ParameterError, match="negative"):
        fd.TightConstraints(epsilon=0.3, distance=plane(4, 4))
    distance, prior = plane(3, 3), np.full(9, 1 / 9)
    for epsilon in (1.5, 2.5, 4.0):
        tight = expected_loss(fd.TightConstraints(epsilon=epsilon, distance=distance).channel(), prior, distance)
        best = fd.OptimalMechanism(epsilon=epsilon, prior=prior, distance=distance).expected_loss
        other = expected_loss(fd.ExponentialMetric(epsilon=epsilon, distance=distance).channel(), prior, distance)
        assert tight == pytest.approx(best, rel=1e-6)
        assert tight < other


@pytest.mark.parametrize("epsilon", [0.9, 1.7, 4.0])
def test_reports__follow_the_channel(epsilon):
    """Reports of one value are distributed as its row; those of an epsilon 1 % larger are told apart."""
    size = 4_000_000
    made = [fd.TightConstraints(epsilon=epsilon * factor, distance=plane(3, 3)) for factor in (1.0, 1.01)]
    reports = made[0].randomize(np.full(size, 4, np.uint8), rng=fd.Rng.unsafe_seed(5))
    seen = np.bincount(reports, minlength=9)
    passed = [chisquare(seen, mechanism.channel().row(4) * size).pvalue for mechanism in made]
    assert passed[0] > 1e-3
    assert passed[1] < 1e-3


@pytest.mark.parametrize("given", [
    {"epsilon": 0}, {"epsilon": -1.0}, {"epsilon": math.nan}, {"epsilon": math.inf}, {"epsilon": True},
    {"epsilon": "1"}, {"epsilon": None}, {"epsilon": 1e-12}, {"epsilon": 1e308}, {"unit": ""},
    {"distance": [[0, 1], [2, 0]]},
    {"distance": [[0, 1e-9], [1e-9, 0]]},
])  # fmt: skip
def test_bad_parameters__are_refused(given):
    with pytest.raises(fd.ParameterError, match="TightConstraints"):
        fd.TightConstraints(**{"epsilon": 1.0, "distance": line(3)} | given)
