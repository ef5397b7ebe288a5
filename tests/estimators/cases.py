"""Random channels with counts, easy and nasty ones, for tests of convergence."""

from __future__ import annotations

import numpy as np

from fastdp.channels import DenseChannel, GeometricChannel, KRRChannel

KINDS = ("plain", "duplicates", "low rank", "sparse", "krr", "geometric", "blur", "skewed", "extreme")


def random_case(seed):
    """A channel and counts of its outputs: any size up to 60, from 1 to 1e7 reports, sometimes wildly unbalanced."""
    source = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    channel = random_channel(kind, source)
    rows, columns = channel.shape
    truth = source.dirichlet(np.full(rows, 10 ** source.uniform(-1.5, 1)))
    chances = channel.forward(truth)
    counts = source.multinomial(int(10 ** source.uniform(0, 7)), chances / chances.sum()).astype(np.float64)
    if source.random() < 0.15:
        counts *= 10 ** source.uniform(-8, 8, size=columns)
    possible = channel.forward(np.full(rows, 1 / rows)) > 0
    if source.random() < 0.1:
        counts[:] = 0
        counts[source.choice(np.flatnonzero(possible), 2)] = source.exponential(size=2) + 1e-9
    counts[~possible] = 0
    return kind, channel, counts


def random_channel(kind, source):
    n, m = (int(v) for v in source.integers(1, 60, size=2))
    if kind == "krr":
        power = np.exp(source.uniform(0.05, 4))
        return KRRChannel(n + 1, power / (power + n), 1 / (power + n))
    if kind == "geometric":
        return GeometricChannel(n + 1, 10 ** source.uniform(-2.5, 1))
    if kind == "plain":
        matrix = source.exponential(size=(n, m))
    elif kind == "duplicates":
        matrix = source.exponential(size=(n, m))[source.integers(0, n, size=n)]
    elif kind == "low rank":
        rank = int(source.integers(1, 4))
        matrix = source.exponential(size=(n, rank)) @ source.exponential(size=(rank, m))
    elif kind == "sparse":
        matrix = source.exponential(size=(n, m)) * (source.random((n, m)) < 0.15)
        matrix[:, source.integers(m)] += 1e-3
    elif kind == "blur":
        steps = np.abs(np.linspace(0, 1, n)[:, None] * m - np.arange(m))
        matrix = np.exp(-source.uniform(0.01, 5) * steps**2 / m) + 1e-300
    elif kind == "skewed":
        matrix = source.exponential(size=(n, m)) ** 8 + 1e-30
    else:
        matrix = np.exp(40 * source.normal(size=(n, m)) - 50)
    return DenseChannel(matrix / matrix.sum(axis=1, keepdims=True))


def mean_log_likelihood(matrix, counts, p):
    """By plain numpy, independent of the estimators."""
    seen = counts > 0
    return float((counts[seen] * np.log((p @ matrix)[seen])).sum() / counts.sum())
