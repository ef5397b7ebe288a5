"""The contract of channels: every kind agrees with its matrix written out by definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastdp as fd
from fastdp.channels import Channel, GeometricChannel, KRRChannel
from tests.channels.cases import CASES, Case, random_matrix

every_kind = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def close(found, expected, error):
    return np.allclose(found, expected, rtol=error, atol=error * max(1.0, np.abs(expected).max()))


def inputs_of(matrix, seed=3):
    """A distribution, weights, and counts of which some are 0, for a matrix."""
    source = np.random.default_rng(seed)
    counts = source.poisson(1.0, matrix.shape[1]).astype(np.float64)
    counts[0] = 3.0
    return source.dirichlet(np.ones(matrix.shape[0])), source.normal(size=matrix.shape[1]), counts


@every_kind
def test_channel__agrees_with_its_matrix(case: Case):
    channel, matrix = case.make(), case.matrix()
    assert channel.shape == matrix.shape
    assert close(channel.dense(), matrix, case.error)
    dense = channel.dense()
    if case.whole:
        assert np.allclose(dense.sum(axis=1), 1, atol=case.error * 10)
    for x in {0, matrix.shape[0] // 2, matrix.shape[0] - 1}:
        assert np.allclose(channel.row(x), dense[x], rtol=1e-13, atol=0)
    for x in (-1, matrix.shape[0]):
        with pytest.raises(fd.ParameterError, match="x must be an input"):
            channel.row(x)


@every_kind
def test_products__agree_with_the_matrix(case: Case):
    channel, matrix = case.make(), case.matrix()
    p, w, _ = inputs_of(matrix)
    assert close(channel.forward(p), p @ matrix, case.error)
    assert close(channel.backward(w), matrix @ w, case.error * 10)
    assert channel.forward(p) @ w == pytest.approx(p @ channel.backward(w), rel=1e-10, abs=1e-12)  # adjoint
    source = np.random.default_rng(5)
    rows, weights = source.random((3, matrix.shape[0])), source.normal(size=(4, matrix.shape[1]))
    assert close(channel.forward(rows), rows @ matrix, case.error * 10)
    assert close(channel.backward(weights), weights @ matrix.T, case.error * 100)
    assert channel.forward(rows[:0]).shape == (0, matrix.shape[1])
    assert channel.backward(weights[:0]).shape == (0, matrix.shape[0])


@every_kind
def test_gradient__agrees_with_the_matrix(case: Case):
    channel, matrix = case.make(), case.matrix()
    p, _, counts = inputs_of(matrix)
    d = p @ matrix
    counts[d < 1e-9] = 0.0
    expected = matrix @ np.divide(counts, d, out=np.zeros(d.size), where=counts > 0)
    likelihood = float(counts @ np.log(d, out=np.zeros(d.size), where=counts > 0))
    for g, found in (channel.gradient(p, counts), channel.prepare(counts).gradient(p)):
        assert isinstance(found, float)
        assert close(g, expected, case.error * 100)
        assert found == pytest.approx(likelihood, rel=case.error * 100, abs=case.error * 1000)
    many, likelihoods = channel.gradient(np.stack([p, p]), np.stack([counts, 2 * counts]))
    assert close(many, [expected, 2 * expected], case.error * 100)
    assert likelihoods == pytest.approx([likelihood, 2 * likelihood], rel=case.error * 100, abs=case.error * 1000)


@every_kind
def test_iterate__is_em_by_hand(case: Case):
    channel, matrix = case.make(), case.matrix()
    start, _, counts = inputs_of(matrix)
    start /= start.sum()
    counts[start @ matrix < 1e-9] = 0.0
    counts += counts.sum() == 0
    p = start
    for _ in range(3):
        d = p @ matrix
        p = p * (matrix @ np.divide(counts, d, out=np.zeros(d.size), where=counts > 0)) / counts.sum()
    given = start.copy()
    assert close(channel.prepare(counts).iterate(given, 3), p, case.error * 100)
    assert np.array_equal(given, start)
    assert close(channel.prepare(counts).iterate(start, 0), start, 1e-15)


@every_kind
def test_select__is_a_part_of_the_matrix(case: Case):
    channel = case.make()
    dense = channel.dense()
    source = np.random.default_rng(7)
    inputs, outputs = (source.integers(0, size, 6) for size in dense.shape)
    assert np.allclose(channel.select(inputs, outputs), dense[np.ix_(inputs, outputs)], rtol=1e-13, atol=0)
    mask = source.random(dense.shape[1]) < 0.5
    assert np.allclose(channel.select(inputs, mask), dense[inputs][:, mask], rtol=1e-13, atol=0)
    assert channel.select([], outputs).shape == (0, 6)


def worst_by_definition(dense, distances):
    """Over all pairs and outputs."""
    worst = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(dense)
        for x, row in enumerate(logs):
            largest = np.where(dense[x] > 0, row - logs, -np.inf).max(axis=1)  # over outputs, for each other input
            others = (np.arange(len(dense)) != x) & (distances[x] < np.inf)
            worst = max(worst, (largest[others] / distances[x][others]).max(initial=0.0))
    return worst


@every_kind
def test_epsilon__is_the_largest_log_ratio(case: Case):
    """With no metric, with numbers of steps, on the line, and with distances of any kind; the witness attains it."""
    channel = case.make()
    dense = channel.dense()
    size = len(dense)
    steps = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    uneven = np.random.default_rng(9).random((size, size)) + 0.1
    for metric, distances in (
        (None, np.ones((size, size))),
        ("line", steps),
        (2, np.where(steps <= 2, 1.0, np.inf)),
        (uneven, uneven),
        (lambda x, other: abs(x - other) ** 2, steps**2),
    ):
        expected = worst_by_definition(dense, distances)
        found, where = channel.epsilon(metric, witness=True)
        assert found == channel.epsilon(metric)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
        if size == 1:
            assert where is None
        else:
            x, other, y = where
            assert x != other
            with np.errstate(divide="ignore"):
                assert np.log(dense[x, y] / dense[other, y]) / distances[x, other] == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize(
    "metric", ["plane", 0, -1, 1.5, True, np.ones((2, 2)), np.full((3, 3), np.nan), -np.ones((3, 3))], ids=str
)
def test_epsilon__refuses_what_is_no_metric(metric):
    with pytest.raises(fd.ParameterError, match="epsilon:"):
        KRRChannel(3, 0.5, 0.25).epsilon(metric)


def test_epsilon__of_distances_that_are_0_or_infinite():
    far = np.array([[0, np.inf], [np.inf, 0]])
    for channel in (KRRChannel(2, 0.7, 0.3), GeometricChannel(2, 1.0), Channel.from_matrix([[0.5, 0.5], [0.4, 0.6]])):
        assert channel.epsilon(np.zeros((2, 2))) == math.inf
        assert channel.epsilon(far) == 0.0
    assert Channel.from_matrix([[0.5, 0.5], [0.5, 0.5]]).epsilon(np.zeros((2, 2))) == 0.0
    assert Channel.from_matrix([[1.0, 0.0], [0.0, 1.0]]).epsilon(far) == 0.0


def test_epsilon__of_channels_too_large_to_write_out():
    with pytest.raises(fd.ParameterError, match="too large"):
        fd.LocalHashing(epsilon=1.0, domain=1 << 20, cohorts=1 << 10).channel().epsilon("line")


@pytest.mark.parametrize(
    ("p", "counts"),
    [([0.5, 0.5], [1, 2, 3]), ([0.5] * 3, [1, 2]), ([0.5] * 3, [1, -2, 3]), ([0.5] * 3, [1, np.nan, 3]),
     ([0.5] * 3, [1, np.inf, 3]), ([0.5] * 3, [[[1, 2, 3]]]), ([[0.5] * 3], [1, 2, 3]), ([0.5] * 3, [[1, 2, 3]])],
)  # fmt: skip
def test_gradient__refuses_wrong_shapes_and_counts(p, counts):
    for channel in (KRRChannel(3, 0.5, 0.25), GeometricChannel(3, 1.0), Channel.from_matrix(np.eye(3))):
        with pytest.raises(fd.ParameterError, match="must"):
            channel.gradient(p, counts)


def test_products__refuse_wrong_shapes():
    channel = GeometricChannel(3, 1.0)
    for call in (channel.forward, channel.backward):
        for bad in ([0.1] * 4, 0.5, [[[0.1] * 3]]):
            with pytest.raises(fd.ParameterError, match="must have 3 entries"):
                call(bad)
    for bad in ([3], [-1], [0.5], [[0]], [True, False]):
        with pytest.raises(fd.ParameterError, match="must be numbers from 0 to 2"):
            channel.select(bad, [0])


def test_gradient__of_an_impossible_output():
    """The log-likelihood says so; the derivative leaves the output out and stays finite."""
    for channel in (Channel.from_matrix(np.eye(3)), Channel.from_matrix(np.eye(3), "float32"), KRRChannel(3, 1.0, 0.0)):
        g, likelihood = channel.gradient([0.0, 0.25, 0.75], [1.0, 2.0, 3.0])
        assert likelihood == -math.inf
        assert np.allclose(g, [0.0, 8.0, 4.0])
        g, likelihood = channel.gradient([0.0, 0.25, 0.75], [0.0, 2.0, 3.0])
        assert likelihood == pytest.approx(2 * math.log(0.25) + 3 * math.log(0.75))


def test_gradient__of_no_counts():
    for case in CASES:
        channel = case.make()
        p = np.full(channel.shape[0], 1 / channel.shape[0])
        g, likelihood = channel.gradient(p, np.zeros(channel.shape[1]))
        assert likelihood == 0.0
        assert not g.any()


def test_compose__is_the_product_of_the_matrices():
    first, second = GeometricChannel(5, 0.4), Channel.from_matrix(random_matrix(5, 8))
    both = first.compose(second)
    assert np.allclose(both.dense(), first.dense() @ second.dense(), rtol=1e-13)
    assert both.epsilon() <= min(first.epsilon(), second.epsilon())
    with pytest.raises(fd.ParameterError, match="5 outputs and the second 4 inputs"):
        first.compose(KRRChannel(4, 0.4, 0.2))


def test_compose__keeps_large_channels_apart():
    first, second = GeometricChannel(3000, 0.4), KRRChannel(3000, 0.5, 0.5 / 2999)
    both = first.compose(second)
    p = np.random.default_rng(1).dirichlet(np.ones(3000))
    assert not isinstance(both, type(Channel.from_matrix([[1.0]])))
    assert np.allclose(both.forward(p), second.forward(first.forward(p)), rtol=1e-13)


def test_condition__is_what_is_known_of_the_rest():
    channel = Channel.from_matrix([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.0, 0.0, 1.0]])
    assert np.allclose(channel.condition(outputs=[2, 0], inputs=[1, 0]).dense(), [[8 / 9, 1 / 9], [2 / 7, 5 / 7]])
    assert np.allclose(channel.condition(inputs=[False, False, True]).dense(), [[0, 0, 1]])
    assert np.allclose(channel.condition().dense(), channel.dense())
    with pytest.raises(fd.ParameterError, match="never has any"):
        channel.condition(outputs=[0])
    with pytest.raises(fd.ParameterError, match="at least one"):
        channel.condition(outputs=[])
    rare = GeometricChannel(60, 10.0).condition(inputs=[0], outputs=[58, 59])
    odds = math.exp(-10) / -math.expm1(-10)
    assert np.allclose(rare.dense(), [[1 / (1 + odds), odds / (1 + odds)]], rtol=1e-12)


def test_channels__of_mechanisms_follow_the_contract():
    for mechanism in (
        fd.KRR(epsilon=1.3, domain=7),
        fd.Geometric(epsilon=0.4, bounds=(-2, 9)),
        fd.Geometric(epsilon=0.4, bounds=(-2, 9), boundary="fold"),
        fd.DiscreteGaussian(scale=2.0, bounds=(0, 5)),
        fd.SquareWave(epsilon=1.0, bounds=(0, 1), bins=9),
        fd.HadamardResponse(epsilon=1.0, domain=5),
        fd.SubsetSelection(epsilon=0.5, domain=6),
        fd.UnaryEncoding(epsilon=1.0, domain=4),
    ):
        channel = mechanism.channel()
        dense = channel.dense()
        assert np.allclose(dense.sum(axis=1), 1, atol=1e-12)
        p, w, counts = inputs_of(dense)
        assert np.allclose(channel.forward(p), p @ dense, atol=1e-14)
        assert np.allclose(channel.backward(w), dense @ w, atol=1e-13)
        assert np.allclose(channel.gradient(p, counts)[0], dense @ (counts / (p @ dense)), rtol=1e-10)
