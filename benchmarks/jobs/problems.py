"""Problems of estimation on the structured kinds of channel, and what a pass over each must read and write."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

import fastdp as fd
from benchmarks.jobs.estimation import EM_ROUNDS, Problem, observe
from benchmarks.rivals.ways import Call, Way
from fastdp.channels import DenseChannel, GeometricChannel, ProductChannel, SparseChannel, SupportChannel

if TYPE_CHECKING:
    from benchmarks.jobs.job import Job

ITEM = {"float64": 8, "float32": 4, "float16": 2}


@functools.lru_cache(maxsize=1)
def sparse(size: int, apart: int) -> Problem:
    """Each value is reported as itself or as one of a few at either side, around a ring: the rest is zero."""
    near = np.arange(-apart, apart + 1)
    weights = np.exp(-np.abs(near) / apart)
    matrix = np.zeros((size, size))
    matrix[np.arange(size)[:, None], (np.arange(size)[:, None] + near) % size] = weights / weights.sum()
    return observe(SparseChannel(matrix), 100 * size)


@functools.lru_cache(maxsize=1)
def product(side: int) -> Problem:
    """Two numbers, each through a geometric of its own."""
    return observe(ProductChannel(GeometricChannel(side, 0.5), GeometricChannel(side, 0.2)), 20 * side * side)


@functools.lru_cache(maxsize=1)
def hadamard(k: int) -> Problem:
    """Hadamard response at epsilon 1."""
    return observe(fd.HadamardResponse(epsilon=1.0, domain=k).channel(), 1_000 * k)


@functools.lru_cache(maxsize=1)
def cohorts(k: int, count: int) -> Problem:
    """Local hashing at epsilon 1, with hash functions that cohorts share."""
    return observe(fd.LocalHashing(epsilon=1.0, domain=k, cohorts=count).channel(), 1_000 * k)


@functools.lru_cache(maxsize=1)
def support(k: int, count: int) -> Problem:
    """The unary reports themselves, in place of a channel's outputs."""
    source = np.random.default_rng(2026)
    mechanism = fd.UnaryEncoding(epsilon=1.0, domain=k)
    codes = np.minimum(source.geometric(4 / k, count) - 1, k - 1).astype(np.int32)
    sets = mechanism.randomize(codes, rng=fd.Rng.unsafe_seed(1))
    return Problem(SupportChannel(sets, k, 1.0), np.ones(count), source.dirichlet(np.full(k, 50.0)))


def scipy_steps(job: Job, times: np.ndarray) -> Call:
    """The loop of two products with scipy's sparse matrices, one stored by rows and one by columns."""
    from scipy.sparse import csr_array

    problem = job.mechanism()
    across, down = csr_array(problem.matrix), csr_array(problem.matrix.T)
    shares, start = problem.counts / problem.counts.sum(), problem.p

    def call() -> np.ndarray:
        p = start
        for _ in range(times.size):
            p = p * (across @ (shares / (down @ p)))
        return p

    return call


SCIPY = {"steps-sparse": Way(scipy_steps)}


def pass_of(job: Job, times: int) -> tuple[float, float, float]:
    """Bytes read and written by one pass over the channel for each time the job is done, and how often that is.

    A matrix is read where there are counts: two products need one pass if they share it. What has structure need not be
    read at all, so that only the counts and two distributions are; a whole estimate needs one pass at the least.
    """
    problem = job.mechanism()
    rows, columns = problem.channel.shape
    vectors = 8 * (rows + columns)
    return times * (vectors + _stored(problem)), times * 8 * rows, times


def operations_of(job: Job, times: int) -> float:
    """Multiplications and additions of the two products of each iteration with the entries of a dense or sparse matrix.

    They are two of each for an entry, where there are counts; a whole estimate has one iteration at the least. What has
    structure need not multiply at all.
    """
    problem = job.mechanism()
    channel = problem.channel
    if isinstance(channel, DenseChannel):
        entries = np.count_nonzero(problem.counts) * channel.shape[0]
    elif isinstance(channel, SparseChannel):
        entries = np.count_nonzero(problem.matrix)
    else:
        entries = 0
    return 4.0 * entries * times * (EM_ROUNDS if job.kind == "many" else 1)


def _stored(problem: Problem) -> float:
    channel: Any = problem.channel
    if isinstance(channel, DenseChannel):
        seen = np.count_nonzero(problem.counts) / problem.counts.size
        return seen * channel.shape[0] * channel.shape[1] * ITEM[channel.storage]
    if isinstance(channel, SparseChannel):
        return 12 * np.count_nonzero(problem.matrix)
    if isinstance(channel, SupportChannel):
        return channel.shape[0] * channel.shape[1] / 8
    return 0
