"""Matrices: what is refused, what fewer bits cost, and numbers at the ends of the range."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastdp as fd
from fastdp.channels import Channel, DenseChannel, SparseChannel
from tests.channels.cases import random_matrix

STORAGES = ("float64", "float32", "float16")


@pytest.mark.parametrize(
    "bad",
    [np.ones(3), np.zeros((0, 2)), np.zeros((2, 0)), np.ones((1, 1, 1)), [[0.5, 0.6]], [[0.5, 0.5 - 2e-9]],
     [[-0.1, 1.1]], [[np.nan, 1.0]], [[np.inf, 0.0]], [[0.0, 0.0]], [[-1e-300, 1.0]]],
)  # fmt: skip
@pytest.mark.parametrize("make", [DenseChannel, Channel.from_matrix, SparseChannel])
def test_matrix__is_refused_if_it_is_no_channel(bad, make):
    with pytest.raises(fd.ParameterError, match="Channel"):
        make(bad)


@pytest.mark.parametrize("storage", ["float128", "", None, 64])
def test_matrix__is_refused_with_an_unknown_storage(storage):
    with pytest.raises(fd.ParameterError, match="storage must be one of"):
        Channel.from_matrix(np.eye(2), storage)


def test_matrix__is_copied():
    """What is done to the matrix later does not change the channel, nor the other way round."""
    for order in "CF":
        matrix = np.array([[0.5, 0.5], [0.25, 0.75]], order=order)
        channel = Channel.from_matrix(matrix)
        matrix[:] = 0
        channel.dense()[:] = 0
        channel.row(0)[:] = 0
        assert np.array_equal(channel.dense(), [[0.5, 0.5], [0.25, 0.75]])


@pytest.mark.parametrize(("storage", "error"), [("float64", 0.0), ("float32", 6e-8), ("float16", 2.5e-4)])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (300, 513)])
def test_storage__moves_entries_by_no_more_than_it_says(storage, error, shape):
    matrix = random_matrix(*shape)
    found = Channel.from_matrix(matrix, storage).dense()
    large = matrix > matrix.max(axis=0) * 2.0**-30
    assert (np.abs(found - matrix)[large] <= error * matrix[large]).all()
    assert (np.abs(found - matrix) <= matrix.max(axis=0) * 2.0**-30).all(where=~large)
    assert storage == "float16" or np.array_equal(found == 0, matrix == 0)


def test_storage__keeps_zeros_and_powers_of_two():
    matrix = np.array([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    for storage in STORAGES:
        assert np.array_equal(Channel.from_matrix(matrix, storage).dense(), matrix)


def test_storage__16_bits_round_to_the_nearest():
    """All fractions of 14 bits: half a unit in the last of 11, and the largest of a column never overflows."""
    for value in np.concatenate((np.linspace(0.5, 1, 1 << 14), np.nextafter(1, 0, dtype=np.float64)[None])):
        found = Channel.from_matrix([[value, 1 - value]], "float16").row(0)[0]
        assert abs(found - value) <= value * 2.0**-11 / 2 * 1.0001


@pytest.mark.parametrize(("storage", "error"), [("float32", 2e-7), ("float16", 3e-4)])
@pytest.mark.parametrize("size", [100, 1500])
def test_gradient__in_fewer_bits(storage, error, size):
    """Sums over thousands of entries are no worse than the entries."""
    matrix = random_matrix(size, size)
    source = np.random.default_rng(2)
    p, counts = source.dirichlet(np.ones(size)), source.poisson(100.0, size)
    wide, likelihood = Channel.from_matrix(matrix).gradient(p, counts)
    g, found = Channel.from_matrix(matrix, storage).gradient(p, counts)
    assert np.abs(g / wide - 1).max() < error
    assert found == pytest.approx(likelihood, rel=error / 10)


@pytest.mark.parametrize("storage", STORAGES)
def test_gradient__stays_finite_for_outputs_of_any_small_probability(storage):
    """All entries of an output about 1e-300, 1e12 counts beside single ones, unlikely inputs."""
    channel = Channel.from_matrix([[1 - 1e-300, 1e-300], [1.0, 3e-300]], storage)
    for p in ([0.5, 0.5], [1e-12, 1 - 1e-12], [1.0, 1e-30], [0.0, 1.0]):
        for counts in ([1e12, 1e12], [1.0, 1e12], [1e12, 1.0], [0.0, 1e-6]):
            g, likelihood = channel.gradient(p, counts)
            d = p[0] + 3 * p[1]
            expected = [counts[0] / sum(p) + counts[1] / d, counts[0] / sum(p) + counts[1] * 3 / d]
            assert g == pytest.approx(expected, rel=5e-4)
            logs = math.log(sum(p)), math.log(d) + math.log(1e-300)
            assert likelihood == pytest.approx(
                counts[0] * logs[0] + counts[1] * logs[1], rel=1e-5, abs=1e-7 * sum(counts)
            )


def test_gradient__stays_finite_for_entries_of_any_small_probability():
    """An output that is likely for one input and has 1e-300 for another, when only the other is left."""
    matrix = [[1 - 1e-300, 1e-300, 0.0], [1.0, 0.0, 0.0], [0.5, 0.25, 0.25]]
    for channel in (Channel.from_matrix(matrix), SparseChannel(matrix)):
        g, likelihood = channel.gradient([0.001, 0.999, 0.0], [0.5, 0.5, 0.0])
        assert g == pytest.approx([500.5, 0.5, 0.25 + 0.125e303])
        assert likelihood == pytest.approx(0.5 * math.log(1e-303))


@pytest.mark.parametrize("storage", STORAGES)
def test_gradient__reads_only_what_was_observed(storage):
    """Any number of observed outputs, whole blocks of eight or not, in any place."""
    matrix = random_matrix(40, 37)
    channel = Channel.from_matrix(matrix, storage)
    p = np.full(40, 1 / 40)
    for seen in range(37):
        counts = np.zeros(37)
        counts[np.random.default_rng(seen).permutation(37)[:seen]] = np.arange(1, seen + 1)
        d = p @ channel.dense()
        g, likelihood = channel.gradient(p, counts)
        assert np.allclose(g, channel.dense() @ (counts / d), rtol=1e-6)
        assert likelihood == pytest.approx(counts @ np.log(d), rel=1e-6)


def test_gradient__does_not_change_between_calls_or_threads():
    from concurrent.futures import ThreadPoolExecutor

    matrix, source = random_matrix(200, 200), np.random.default_rng(1)
    counts, starts = source.poisson(3.0, 200), source.dirichlet(np.ones(200), 64)
    for storage in STORAGES:
        observed = Channel.from_matrix(matrix, storage).prepare(counts)
        alone = [observed.gradient(p) for p in starts]
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(observed.gradient, starts))
        for (g, likelihood), (again, same) in zip(alone, together, strict=True):
            assert np.array_equal(g, again)
            assert likelihood == same


def test_sparse__takes_scipys_matrices():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = random_matrix(12, 9, density=0.3)
    for kind in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        assert np.array_equal(SparseChannel(kind(matrix)).dense(), matrix)
    twice = sparse.coo_array(([0.25, 0.25, 0.5, 1.0], ([0, 0, 0, 1], [1, 1, 0, 0])), shape=(2, 2))
    assert np.array_equal(SparseChannel(twice).dense(), [[0.5, 0.5], [1.0, 0.0]])
    with pytest.raises(fd.ParameterError, match="sum to 1"):
        SparseChannel(sparse.csr_matrix(matrix * 0.5))


def test_sparse__of_full_columns_has_an_epsilon():
    matrix = random_matrix(5, 4)
    assert SparseChannel(matrix).epsilon() == pytest.approx(Channel.from_matrix(matrix).epsilon(), rel=1e-12)


@pytest.mark.parametrize("given", ["x", None, [[1], [2, 3]], {"a": 1}, [["a", "b"]], [[1j, 0]], object(), [[None, 1]]])
def test_matrix__that_is_no_matrix_is_refused(given):
    with pytest.raises(fd.ParameterError, match="Channel: the matrix must"):
        fd.Channel.from_matrix(given)
