"""Mechanisms on finite metrics: their integers, their reports, their containers."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.stats import chisquare

import fastdp as fd
from fastdp.mechanisms.metric.blahut_arimoto import BlahutArimoto
from fastdp.mechanisms.metric.exponential import ExponentialMetric
from fastdp.mechanisms.metric.optimal import OptimalMechanism
from tests.mechanisms.report_checks import check_containers, check_same_reports
from tests.reference.metric import exact_epsilon, line, plane

MADE = {
    "exponential": lambda epsilon, distance: ExponentialMetric(epsilon=epsilon, distance=distance),
    "blahut-arimoto": lambda epsilon, distance: BlahutArimoto(
        prior=np.arange(len(distance)) ** 2, distance=distance, beta=epsilon / 2
    ),
    "optimal": lambda epsilon, distance: OptimalMechanism(
        epsilon=epsilon, prior=np.arange(len(distance)) + 1, distance=distance
    ),
}
each_kind = pytest.mark.parametrize("make", MADE.values(), ids=MADE)


def seeded(seed: int = 5) -> fd.Rng:
    return fd.Rng.unsafe_seed(seed)


@each_kind
@pytest.mark.parametrize("epsilon", [0.2, 1.1, 4.0, 30.0])
@pytest.mark.parametrize("distance", [line(6), plane(3, 4) * 0.7], ids=["line", "grid"])
def test_privacy__is_no_less_than_the_integers_cost(make, epsilon, distance):
    """The realised integers cost at most what is stated, which is at most what was asked."""
    mechanism = make(epsilon, distance)
    assert all(sum(row) == 1 << 128 for row in mechanism._shares)
    realised = exact_epsilon(mechanism._shares, distance)
    stated = mechanism.privacy
    with mpmath.workdps(60):
        assert realised <= mpmath.mpf(stated.epsilon) <= realised + mpmath.mpf(1e-11)
    assert stated.epsilon <= epsilon
    assert (stated.unit, stated.neighbours) == ("1 unit", "replace")


def test_exponential__without_the_factor_is_caught():
    """The same weights at e**(-epsilon d) cost more than epsilon per unit."""
    distance = plane(5, 5)
    assert ExponentialMetric(epsilon=0.8, distance=distance).privacy.epsilon <= 0.8
    assert ExponentialMetric(epsilon=1.6, distance=distance).privacy.epsilon > 0.8 * 1.01


@pytest.mark.parametrize("kind", [ExponentialMetric, fd.TightConstraints])
def test_distances__without_the_triangle_inequality_are_refused(kind):
    """Squared distances are: with them a mechanism of the same form costs more than its epsilon."""
    squared = line(5) ** 2
    with pytest.raises(fd.ParameterError, match="triangle inequality"):
        kind(epsilon=2.0, distance=squared)
    weights = np.exp(-1.0 * squared)
    channel = fd.Channel.from_matrix(weights / weights.sum(axis=1, keepdims=True))
    assert channel.epsilon(squared) > 2.0 * 1.1
    mechanism = kind(epsilon=2.0, distance=line(70) * 0.1234567)  # sums are rounded
    assert mechanism.privacy.epsilon <= 2.0


def test_exponential__has_its_probabilities():
    distance = plane(4, 5)
    for epsilon in (0.1, 0.9, 5.0):
        weights = np.exp(-epsilon * distance / 2)
        channel = ExponentialMetric(epsilon=epsilon, distance=distance).channel()
        assert np.abs(channel.dense() - weights / weights.sum(axis=1, keepdims=True)).max() < 1e-15


@each_kind
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_reports__follow_the_channel(make, epsilon):
    """Reports of one value are distributed as its row; those of an epsilon 1 % larger are told apart."""
    size, distance = 20_000_000, line(9)
    mechanism, mutant = make(epsilon, distance), make(epsilon * 1.01, distance)
    seen = np.bincount(mechanism.randomize(np.full(size, 6, np.uint8), rng=seeded()), minlength=9)

    def p_value(row: np.ndarray) -> float:
        common = row * size > 20
        pooled = [np.append(part[common], part[~common].sum() + 1e-6) for part in (seen, row * size)]
        return chisquare(pooled[0], pooled[1] * pooled[0].sum() / pooled[1].sum()).pvalue

    assert p_value(mechanism.channel().row(6)) > 1e-3
    assert p_value(mutant.channel().row(6)) < 1e-3


@each_kind
def test_reports__are_the_same_for_any_threads_and_batches(make, threads):
    mechanism = make(0.8, plane(3, 3))
    values = np.arange(300_000) % 9
    check_same_reports(mechanism, values, threads)


@each_kind
def test_containers__come_back_as_they_went_in(make):
    mechanism = make(0.8, line(5))
    values = [3, 0, 4, 1, 1]
    check_containers(mechanism, values)
    assert mechanism.randomize(np.zeros(0, int)).size == 0


@each_kind
def test_bad_input__is_refused_without_its_value(make):
    mechanism = make(0.8, line(5))
    for bad in (np.array([1, 5]), np.array([-7777]), np.array([2**64 - 7777], np.uint64)):
        with pytest.raises(fd.DomainError) as caught:
            mechanism.randomize(bad)
        assert not any(digit in str(caught.value) for digit in "57")
    with pytest.raises(fd.SchemaError):
        mechanism.randomize([0.5])


@each_kind
@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf])
def test_bad_parameters__are_refused(make, epsilon):
    with pytest.raises(fd.ParameterError):
        make(epsilon, line(4))


@pytest.mark.parametrize("epsilon", [True, "1", None])
def test_bad_types__are_refused(epsilon):
    with pytest.raises(fd.ParameterError):
        ExponentialMetric(epsilon=epsilon, distance=line(4))
    with pytest.raises(fd.ParameterError):
        BlahutArimoto(prior=[1] * 4, distance=line(4), beta=epsilon)
    with pytest.raises(fd.ParameterError):
        OptimalMechanism(epsilon=epsilon, prior=[1] * 4, distance=line(4))


@each_kind
@pytest.mark.parametrize("distance", [
    [[0, 1], [2, 0]], [[0, math.nan], [math.nan, 0]], [[0, math.inf], [math.inf, 0]], [[1, 1], [1, 0]],
    [[0, 0], [0, 0]], [[0, -1], [-1, 0]], [[0]], [[0, 1, 2], [1, 0, 1]], [["a", "b"], ["c", "d"]],
])  # fmt: skip
def test_bad_distances__are_refused(make, distance):
    with pytest.raises(fd.ParameterError):
        make(1.0, distance)
