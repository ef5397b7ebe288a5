"""Jobs of audits and attacks: epsilon proven from draws, and bits won back from noisy counts; how numpy does them."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

import fastdp as fd
from benchmarks.jobs.job import Job
from benchmarks.rivals.ways import Call, Way

BINS = 4096
RATIO = 4
"""The square root of the number of bits over the standard deviation of the noise: Phi(-1) of the bits stay wrong."""


@functools.lru_cache(maxsize=2)
def bits_of(count: int) -> np.ndarray:
    """Fair bits, as many as the next power of two below; read-only."""
    made = np.random.default_rng(2026).integers(0, 2, 1 << (count.bit_length() - 1)).astype(np.float64)
    made.flags.writeable = False
    return made


def zeros_of(count: int) -> np.ndarray:
    """The first of the two inputs, for every draw."""
    return np.zeros(count)


def judge_audit(_job: Job, found: Any, values: np.ndarray) -> float:
    """What is proven of an epsilon of 1 is below it, and by no more than ten times the best that is possible."""
    gap = 1 - float(found)
    return 1.0 if 0 < gap < 10 * 15.2 / math.sqrt(values.size) else 0.0


def judge_bits(_job: Job, found: np.ndarray, bits: np.ndarray) -> float:
    """The share of wrong bits is Phi(-1)."""
    from scipy import stats

    wrong = int((found != (bits > 0.5)).sum())
    return float(stats.binomtest(wrong, bits.size, stats.norm.cdf(-RATIO / 4)).pvalue)


def fastdp_audit(_job: Job, values: np.ndarray) -> Call:
    fd.set_threads(1)
    mechanism, half = fd.Laplace(epsilon=1.0, sensitivity=1.0), values.size // 2
    return lambda: fd.audit.epsilon(mechanism, 0.0, 1.0, draws=half, training=max(half // 20, 1000)).epsilon


def numpy_audit(_job: Job, values: np.ndarray) -> Call:
    """Histograms of both inputs, and the half-line that separates them best by limits of the normal law."""
    source, half = np.random.default_rng(), values.size // 2

    def call() -> float:
        edges = np.linspace(-20, 20, BINS + 1)
        a, b = (np.cumsum(np.histogram(x + source.laplace(size=half), edges)[0]) / half for x in (0.0, 1.0))
        z = 5.7
        low, high = a - z * np.sqrt(a * (1 - a) / half), b + z * np.sqrt(b * (1 - b) / half) + z * z / half
        return float(np.log(np.maximum(low, 1e-300) / high).max())

    return call


def _answers(bits: np.ndarray) -> np.ndarray:
    """Noisy counts of all Hadamard subsets, the same for every library."""
    from fastdp.kernels.products.walsh import apply_walsh

    values = bits.copy()
    apply_walsh(values)
    counts = (values + values[0]) / 2
    sigma = math.sqrt(bits.size) / RATIO
    noisy: np.ndarray = counts + np.random.default_rng(7).normal(0, sigma, counts.size)
    noisy[0] = counts[0]
    return noisy


def fastdp_bits(_job: Job, bits: np.ndarray) -> Call:
    from fastdp.attacks.reconstruction import win_back

    answers = _answers(bits)
    return lambda: win_back(answers) > 0.5


def numpy_bits(_job: Job, bits: np.ndarray) -> Call:
    """The same transform, step by step in numpy."""
    answers = _answers(bits)

    def call() -> np.ndarray:
        values, half = 2 * answers - answers[0], 1
        while half < values.size:
            pairs = values.reshape(-1, 2, half)
            values = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1).reshape(-1)
            half *= 2
        return values / values.size > 0.5

    return call


JOBS = (
    Job(
        "audit-laplace", "audits", "audit", "float64", "epsilon of Laplace noise proven at 1 - 1e-6, from both inputs",
        lambda: fd.Laplace(epsilon=1.0, sensitivity=1.0), unit="draws", size=8_000_000, make=zeros_of,
        judge=judge_audit, random=6,
    ),
    Job(
        "reconstruction", "audits", "reconstruction", "float64", "bits won back from as many noisy Hadamard counts",
        lambda: None, unit="bits", size=1 << 20, make=bits_of, judge=judge_bits,
    ),
)  # fmt: skip
FASTDP = {"audit": Way(fastdp_audit), "reconstruction": Way(fastdp_bits)}
NUMPY = {"audit": Way(numpy_audit), "reconstruction": Way(numpy_bits)}
