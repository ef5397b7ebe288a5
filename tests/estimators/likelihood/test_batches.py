"""Many vectors of counts at once give what they give one by one."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from fastdp.channels import DenseChannel, GeometricChannel, KRRChannel
from fastdp.estimators import ibu, ibu_many
from tests.estimators.cases import random_channel

CHANNELS = [
    KRRChannel(6, 0.4, 0.12),
    GeometricChannel(15, 0.3),
    DenseChannel(np.random.default_rng(0).dirichlet(np.full(9, 0.4), size=12)),
    random_channel("duplicates", np.random.default_rng(3)),
    fd.HadamardResponse(epsilon=1.0, domain=6).channel(),
]


@pytest.fixture(params=CHANNELS, ids=lambda channel: type(channel).__name__)
def case(request):
    channel = request.param
    source = np.random.default_rng(8)
    truths = source.dirichlet(np.full(channel.shape[0], 0.5), size=7)
    chances = np.array([channel.forward(truth) for truth in truths])
    return channel, np.array([source.multinomial(400, row / row.sum()) for row in chances])


@pytest.mark.parametrize("steps", [1, 13])
def test_em__is_the_loop(case, steps):
    channel, counts = case
    for row, found in zip(counts, ibu_many(channel, counts, method="em", max_iterations=steps), strict=True):
        one = ibu(channel, row, method="em", max_iterations=steps)
        np.testing.assert_allclose(found.distribution, one.distribution, atol=1e-12)
        assert found.gap == pytest.approx(one.gap, abs=1e-12)
        assert found.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-12)
        assert found.iterations == steps


@pytest.mark.parametrize(
    ("method", "tolerance"), [("auto", 1e-9), ("nesterov", 1e-4), ("em", 1e-2), ("second-order", 1e-8)]
)
def test_each_row__reaches_the_tolerance(case, method, tolerance):
    channel, counts = case
    rows = ibu(channel, counts, method=method, tolerance=tolerance)
    for row, found in zip(counts, rows, strict=True):
        best = ibu(channel, row, tolerance=1e-9)
        assert found.gap <= tolerance
        assert abs(found.log_likelihood - best.log_likelihood) <= (tolerance + 1e-9) * 400
        assert found.distribution.min() >= 0
        assert found.distribution.sum() == pytest.approx(1)


def test_limit__holds_for_each_row(case):
    channel, counts = case
    for found in ibu_many(channel, counts, tolerance=1e-14, max_iterations=10, method="nesterov"):
        assert found.iterations <= 10


def test_rows__keep_their_own_spread():
    channel = KRRChannel(3, 0.6, 0.2)
    many = ibu_many(channel, [[400, 300, 300], [40_000, 30_000, 30_000]], method="nesterov", tolerance=1e-12)
    np.testing.assert_allclose(many[0].std_error, 10 * many[1].std_error, rtol=1e-6)


def test_no_rows():
    assert ibu_many(KRRChannel(3, 0.6, 0.2), np.zeros((0, 3))) == []


def test_refusals():
    channel = DenseChannel([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]])
    with pytest.raises(fd.NotIdentifiableError, match="never gives"):
        ibu_many(channel, [[1, 1, 0], [1, 1, 1]])
    with pytest.raises(fd.ParameterError, match="counts"):
        ibu_many(channel, [[1, 1, 0], [0, 0, 0]])
    with pytest.raises(fd.ParameterError, match="two-dimensional"):
        ibu_many(channel, [1, 1, 0])
    with pytest.raises(fd.ParameterError, match="callback"):
        ibu(channel, [[1, 1, 0]], callback=print)
    with pytest.raises(fd.ParameterError, match="Channel"):
        ibu_many(np.eye(2), [[1, 1]])
