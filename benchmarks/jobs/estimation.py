"""Estimation: problems of known size, one iteration or a whole estimate at a time, and how results are judged.

An iteration of IBU is d = p C, then p <- p C (q / d). By hand it is two products of a matrix and a vector. Rivals of
structured channels get the same channel as a matrix.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import fastdp as fd
from benchmarks.rivals.ways import Call, Way
from fastdp.channels import DenseChannel, GeometricChannel, GridChannel, KRRChannel

if TYPE_CHECKING:
    from benchmarks.jobs.job import Job

GAP = 1e-6
EM_STEPS = {"to-gap": 80_000, "to-gap-on-a-grid": 240_000}
"""Steps of plain EM that do not reach the gap; on the grid of 50 x 50 cells some 245,000 do."""
EM_TIMED = 4_000
"""Those that are timed: all take the same time."""


@dataclass(frozen=True)
class Problem:
    """A channel, what was observed of its outputs, and a distribution to start from."""

    channel: Any
    counts: np.ndarray
    p: np.ndarray

    @functools.cached_property
    def matrix(self) -> np.ndarray:
        return self.channel.dense()


def observe(channel: Any, samples: int, share: float = 1.0) -> Problem:
    """Counts of so many reports of a smooth distribution; with a share, only that part of the outputs is seen."""
    source = np.random.default_rng(2026)
    size = channel.shape[0]
    truth = np.exp(-(((np.arange(size) / size - 0.4) / 0.2) ** 2)) + 0.05
    counts = source.multinomial(samples, np.clip(channel.forward(truth / truth.sum()), 0, None)).astype(float)
    if share < 1:
        counts[source.permutation(counts.size)[round(share * counts.size) :]] = 0
    p = source.dirichlet(np.full(size, 50.0))
    return Problem(channel, counts, p)


def _random_matrix(size: int) -> np.ndarray:
    matrix = np.random.default_rng(1).random((size, size))
    matrix += np.eye(size) * size / 8
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix


@functools.lru_cache(maxsize=1)
def dense(size: int, storage: str = "float64", share: float = 1.0) -> Problem:
    """A random channel with a heavy diagonal."""
    return observe(DenseChannel(_random_matrix(size), storage), 20 * size, share)


@functools.lru_cache(maxsize=1)
def line(size: int, rate: float) -> Problem:
    """The truncated geometric."""
    return observe(GeometricChannel(size, rate), 100 * size)


@functools.lru_cache(maxsize=1)
def grid(side: int) -> Problem:
    """Planar Laplace on a square of cells, its mass outside clamped to the border."""
    return observe(GridChannel.laplace(0.5, (side, side)), 20 * side * side)


@functools.lru_cache(maxsize=1)
def krr(size: int) -> Problem:
    """k-ary randomized response at epsilon 1."""
    e = np.e
    return observe(KRRChannel(size, e / (e + size - 1), 1 / (e + size - 1)), 1_000_000)


@functools.lru_cache(maxsize=1)
def ring(size: int) -> Problem:
    """Noise around a ring: a symmetric channel, the only kind that every rival gets right."""
    apart = np.minimum(np.arange(size), size - np.arange(size))
    weights = np.exp(-apart / 20.0)
    places = (np.arange(size)[:, None] - np.arange(size)) % size
    return observe(DenseChannel((weights / weights.sum())[places]), 100 * size)


def fastdp_steps(job: Job, times: np.ndarray) -> Call:
    fd.set_threads(1)
    problem = job.mechanism()
    observed = problem.channel.prepare(problem.counts)
    return lambda: observed.iterate(problem.p, times.size)


def numpy_steps(job: Job, times: np.ndarray) -> Call:
    problem = job.mechanism()
    return _two_products(problem, problem.p, times.size)


def _two_products(problem: Problem, start: np.ndarray, steps: int) -> Call:
    """The loop of two products, with the matrix and the shares made beforehand."""
    matrix, shares = problem.matrix, problem.counts / problem.counts.sum()

    def call() -> np.ndarray:
        p = start
        for _ in range(steps):
            p = p * (matrix @ (shares / (p @ matrix)))
        return p

    return call


def judge_steps(job: Job, found: np.ndarray, times: np.ndarray) -> float:
    """The same as by hand, to the precision of the storage."""
    due = numpy_steps(job, times)()
    return float(np.allclose(found, due, rtol=1e-5 if job.kind == "steps-float32" else 1e-8))


def judge_sum(_job: Job, found: np.ndarray, _times: np.ndarray) -> float:
    """A distribution: all that is asked of channels whose matrix is too large to compare with."""
    return float(np.isfinite(found).all() and abs(found.sum() - 1) < 1e-9 and found.min() >= 0)


def fastdp_estimate(job: Job, times: np.ndarray) -> Call:
    fd.set_threads(1)
    problem = job.mechanism()

    def call() -> Any:
        for _ in range(times.size):
            found = fd.ibu(problem.channel, problem.counts, tolerance=GAP)
        return found

    return call


def judge_gap(_job: Job, found: Any, _times: np.ndarray) -> float:
    return float(found.gap <= GAP)


def numpy_thousand(job: Job, times: np.ndarray) -> Call:
    """A thousand dense iterations, which come nowhere near the optimum."""
    problem = job.mechanism()
    matrix, shares = problem.matrix, problem.counts / problem.counts.sum()

    def call() -> np.ndarray:
        for _ in range(times.size):
            p = np.full(matrix.shape[0], 1 / matrix.shape[0])
            for _ in range(1000):
                p = p * (matrix @ (shares / (p @ matrix)))
        return p

    return call


def fastdp_em(job: Job, times: np.ndarray) -> Call:
    """Plain EM on the same structured channel; all its steps do not reach the gap, so the ratio is a lower bound."""
    problem = job.mechanism()

    def call() -> Any:
        for _ in range(times.size):
            found = fd.ibu(problem.channel, problem.counts, method="em", max_iterations=EM_TIMED, progress=False)
        return found

    return call


def fastdp_em_to_gap(job: Job, times: np.ndarray) -> Call:
    """Plain EM on the same channel, a few hundred steps at a time, up to the same gap."""
    problem = job.mechanism()

    def call() -> Any:
        for _ in range(times.size):
            found, p = None, None
            while found is None or found.gap > GAP:
                found = fd.ibu(problem.channel, problem.counts, start=p, method="em", max_iterations=200)
                p = found.distribution
        return found

    return call


def judge_unfinished(job: Job, found: Any, _times: np.ndarray) -> float:
    """From where the timed steps came, the others do not reach the gap either."""
    problem, rest = job.mechanism(), EM_STEPS[job.kind] - EM_TIMED
    last = fd.ibu(
        problem.channel, problem.counts, start=found.distribution, method="em", max_iterations=rest, progress=False
    )
    return float(last.gap > GAP)


def many(count: int, size: int) -> Problem:
    """Count vectors of groups on one dense channel, as rows."""
    one = dense(size)
    rows = np.random.default_rng(3).poisson(one.counts, (count, size)).astype(float)
    return Problem(one.channel, rows, one.p)


EM_ROUNDS = 20


def fastdp_many(job: Job, times: np.ndarray) -> Call:
    fd.set_threads(1)
    problem = job.mechanism()

    def call() -> np.ndarray:
        for _ in range(times.size):
            found = fd.ibu(problem.channel, problem.counts, method="em", max_iterations=EM_ROUNDS)
        return np.stack([one.distribution for one in found])

    return call


def numpy_many(job: Job, times: np.ndarray) -> Call:
    """The loop over count vectors."""
    problem = job.mechanism()
    matrix = problem.matrix

    def call() -> np.ndarray:
        for _ in range(times.size):
            found = []
            for counts in problem.counts:
                p = np.full(matrix.shape[0], 1 / matrix.shape[0])
                for _ in range(EM_ROUNDS):
                    p = p * (matrix @ (counts / counts.sum() / (p @ matrix)))
                found.append(p)
        return np.stack(found)

    return call


def judge_many(job: Job, found: np.ndarray, _times: np.ndarray) -> float:
    return float(np.allclose(found, numpy_many(job, np.zeros(1))(), rtol=1e-7, atol=1e-12))


def fastdp_em_steps(job: Job, times: np.ndarray) -> Call:
    fd.set_threads(1)
    problem = job.mechanism()
    return lambda: fd.ibu(problem.channel, problem.counts, method="em", max_iterations=times.size).distribution


def numpy_em_steps(job: Job, times: np.ndarray) -> Call:
    problem = job.mechanism()
    size = problem.channel.shape[0]
    return _two_products(problem, np.full(size, 1 / size), times.size)


def qif_em_steps(job: Job, times: np.ndarray) -> Call:
    import qif

    problem = job.mechanism()
    matrix, shares = problem.matrix, problem.counts / problem.counts.sum()
    start = np.full(matrix.shape[0], 1 / matrix.shape[0])
    step = qif.channel.iterative_bayesian_update
    return lambda: step(matrix, shares, start, max_diff=0.0, max_iter=times.size)[0]


def multi_freq_em_steps(job: Job, times: np.ndarray) -> Call:
    from multi_freq_ldpy.estimators.Histogram_estimator import IBU

    problem = job.mechanism()
    matrix, shares = problem.matrix, problem.counts / problem.counts.sum()
    return lambda: IBU(matrix.shape[0], matrix, shares, times.size, 1e-300, "max_abs")


def judge_em(job: Job, found: np.ndarray, times: np.ndarray) -> float:
    """The same as by hand, a step more or less."""
    due = [numpy_em_steps(job, np.zeros(max(1, times.size + more)))() for more in (-1, 0, 1)]
    return float(any(np.allclose(found, one, rtol=1e-6, atol=1e-12) for one in due))


FASTDP = {
    "em": Way(fastdp_em_steps),
    "steps": Way(fastdp_steps),
    "steps-float32": Way(fastdp_steps),
    "steps-sparse": Way(fastdp_steps),
    "estimate": Way(fastdp_estimate),
    **dict.fromkeys(EM_STEPS, Way(fastdp_estimate)),
    "within-reach": Way(fastdp_estimate),
    "many": Way(fastdp_many),
}
NUMPY = {
    "em": Way(numpy_em_steps),
    "steps": Way(numpy_steps),
    "steps-float32": Way(numpy_steps),
    "steps-sparse": Way(numpy_steps, largest=4),
    "estimate": Way(numpy_thousand, judge=lambda _job, p, _times: float(np.isfinite(p).all()), largest=1),
    "many": Way(numpy_many),
}
QIF = {"em": Way(qif_em_steps)}
MULTI_FREQ_LDPY = {"em": Way(multi_freq_em_steps)}
PLAIN_EM = {
    **{
        kind: Way(fastdp_em, judge=judge_unfinished, largest=1, part=EM_TIMED / steps)
        for kind, steps in EM_STEPS.items()
    },
    "within-reach": Way(fastdp_em_to_gap, largest=1),
}


def times_of(count: int) -> np.ndarray:
    """The input of a job that is done ``count`` times: nothing but its length is used."""
    return np.zeros(count)
