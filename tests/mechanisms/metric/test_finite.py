"""Mechanisms between numbered values: counts of reports, estimates, and the optimal remap."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

import fastdp as fd
from fastdp.channels.remapped import RemappedChannel
from fastdp.measures import expected_loss
from tests.mechanisms.report_checks import check_same_reports, seeded
from tests.reference.metric import plane

SHAPE, SIZE = (3, 4), 12
PRIOR = np.random.default_rng(8).dirichlet(np.full(SIZE, 0.4))
MADE = {
    "exponential": lambda: fd.ExponentialMetric(epsilon=0.8, distance=plane(*SHAPE)),
    "tight": lambda: fd.TightConstraints(epsilon=1.2, distance=plane(*SHAPE)),
    "blahut-arimoto": lambda: fd.BlahutArimoto(prior=PRIOR, distance=plane(*SHAPE), beta=0.9),
    "optimal": lambda: fd.OptimalMechanism(epsilon=0.8, prior=np.ones(SIZE), distance=plane(*SHAPE)),
    "grid-geometric": lambda: fd.GridGeometric(epsilon=0.8, shape=SHAPE),
    "grid-laplace": lambda: fd.GridLaplace(epsilon=0.8, shape=SHAPE),
}
each_kind = pytest.mark.parametrize("make", MADE.values(), ids=MADE)
MATRICES = {"absolute": plane(*SHAPE), "squared": plane(*SHAPE) ** 2, "zero-one": 1 - np.eye(SIZE)}


@each_kind
@pytest.mark.parametrize("loss", [*MATRICES, "matrix"])
def test_remap__loses_least_and_costs_nothing(make, loss):
    """The Bayes risk of the mechanism's channel; moving any one report's guess loses more or as much."""
    mechanism = make()
    matrix = MATRICES.get(loss, np.random.default_rng(3).random((SIZE, SIZE)))
    remapped = mechanism.remap(PRIOR * 70, matrix if loss == "matrix" else loss)
    assert remapped.privacy == mechanism.privacy
    best = expected_loss(mechanism.channel(), PRIOR, matrix, remap="optimal")
    assert remapped.expected_loss == pytest.approx(best, rel=1e-12)
    assert best <= expected_loss(mechanism.channel(), PRIOR, matrix) + 1e-12
    for y in range(SIZE):
        for guess in range(SIZE):
            other = remapped.table.copy()
            other[y] = guess
            assert expected_loss(mechanism.channel(), PRIOR, matrix, remap=other) >= best - 1e-12


@each_kind
def test_remap__loses_less_with_a_prior_that_tells(make):
    """A concentrated prior makes it strictly better than the mechanism's own reports."""
    mechanism = make()
    remapped = mechanism.remap(PRIOR)
    assert remapped.expected_loss < expected_loss(mechanism.channel(), PRIOR, MATRICES["absolute"]) - 1e-3


@each_kind
def test_remap__channel_is_the_mechanism_s_with_columns_added_up(make):
    mechanism = make()
    remapped = mechanism.remap(PRIOR, "squared")
    matrix = np.zeros((SIZE, SIZE))
    for y, target in enumerate(remapped.table):
        matrix[:, target] += mechanism.channel().dense()[:, y]
    assert np.abs(remapped.channel().dense() - matrix).max() < 1e-15
    distance = plane(*SHAPE)
    possible = matrix.max(axis=0) > 0
    kept = fd.Channel.from_matrix(matrix[:, possible])
    assert kept.epsilon(distance) <= mechanism.privacy.epsilon


@each_kind
def test_remap__reports_follow_its_channel_and_are_the_mechanism_s(make, threads):
    """Report for report those of the mechanism, looked up; distributed as the channel says, not as the mechanism's."""
    mechanism = make()
    remapped = mechanism.remap(PRIOR)
    values = np.full(1_000_000, 7, np.uint8)
    reports = remapped.randomize(values, rng=seeded())
    assert reports.dtype == np.uint8
    assert np.array_equal(reports, remapped.table[mechanism.randomize(values, rng=seeded())])
    seen = np.bincount(reports, minlength=SIZE)

    def p_value(row: np.ndarray) -> float:
        return chisquare(seen + 1e-9, (row + 1e-12) / (row + 1e-12).sum() * (values.size + 1e-9 * SIZE)).pvalue

    assert p_value(remapped.channel().row(7)) > 1e-3
    assert p_value(mechanism.channel().row(7)) < 1e-3
    check_same_reports(remapped, np.arange(300_000) % SIZE, threads)


@each_kind
def test_containers__and_counts(make):
    """Remapped reports come in the caller's container; counts are those of bincount, from any of them."""
    for mechanism in (make(), make().remap(PRIOR)):
        values = [3, 0, 11, 7, 7]
        expected = mechanism.randomize(values, rng=seeded())
        chunked = pa.chunked_array([values[:2], values[2:]], pa.int32())
        reports = mechanism.randomize(chunked, rng=seeded())
        assert reports.to_pylist() == expected
        for given in (expected, np.array(expected, np.uint8), reports):
            assert mechanism.count_outputs(given).tolist() == np.bincount(expected, minlength=SIZE).tolist()
        with pytest.raises(fd.DomainError, match="declared domain"):
            mechanism.count_outputs([0, SIZE])
        with pytest.raises(fd.DomainError, match="declared domain"):
            mechanism.randomize([0, SIZE])


@each_kind
def test_estimate__takes_reports(make):
    """The public estimate from reports is that of the channel and their counts; other reports give another."""
    mechanism = make()
    values = np.random.default_rng(2).choice(SIZE, 100_000, p=0.5 * PRIOR + 0.5 / SIZE)
    reports = mechanism.randomize(values, rng=seeded())
    counts = np.bincount(reports, minlength=SIZE)
    found, expected = fd.estimate(mechanism, reports), fd.estimate(mechanism.channel(), counts)
    assert np.array_equal(found.distribution, expected.distribution)
    assert not np.array_equal(fd.estimate(mechanism, reports[reports < 7]).distribution, expected.distribution)


def test_large__remap_keeps_its_structure():
    """A grid too large to write out keeps the products of its own channel."""
    mechanism = fd.GridGeometric(epsilon=0.4, shape=(33, 33))
    remapped = mechanism.remap(np.ones(33 * 33), "squared")
    channel = remapped.channel()
    assert isinstance(channel, RemappedChannel)
    p, w = np.random.default_rng(1).dirichlet(np.ones(33 * 33), 2)
    matrix = channel.dense()
    assert np.allclose(channel.forward(p), p @ matrix, atol=1e-15)
    assert np.allclose(channel.backward(w), matrix @ w, atol=1e-15)
    assert np.allclose(channel.select([5, 9], [3, 2, 600]), matrix[np.ix_([5, 9], [3, 2, 600])], atol=1e-17)
    assert np.allclose(channel.row(77), matrix[77], atol=1e-17)


@pytest.mark.parametrize(("prior", "loss"), [
    ([1, 2], "absolute"), ([0] * SIZE, "absolute"), (None, "absolute"), (PRIOR, "cubic"), (PRIOR, np.ones((3, 3))),
    (PRIOR, np.full((SIZE, SIZE), np.nan)), (PRIOR, np.ones((SIZE + 1, SIZE))), (-PRIOR, "absolute"),
])  # fmt: skip
@each_kind
def test_bad_parameters__are_refused(make, prior, loss):
    with pytest.raises(fd.ParameterError):
        make().remap(prior, loss)


def test_remapped__refuses_other_mechanisms():
    with pytest.raises(fd.ParameterError, match="finitely many"):
        fd.Remapped(mechanism=fd.Laplace(epsilon=1.0, sensitivity=1.0), prior=[1, 1])
