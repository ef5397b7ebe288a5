"""How much an estimate varies from sample to sample: the information matrix where it is regular, else a bootstrap."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fastdp.errors import NotIdentifiableError
from fastdp.estimators.problem import Problem
from fastdp.estimators.result import Estimate

REPLICATES = 200
LARGEST_INFORMATION = 2_000
"""Inputs of an information matrix that is inverted."""
MOST_REPORTS = 1e15
"""Reports of a sample of the bootstrap; more would not be less varied in float64."""
CLEAR = 3.0
"""Standard errors that an entry must be away from 0 to count as inside, and its multiplier to count as outside."""
LARGEST_CONDITION = 1e10
NEGLIGIBLE = 0.01
"""Units of log-likelihood, over all reports, that an estimate may be short of the maximum to count as it."""

Refit = Callable[[Sequence[np.ndarray]], np.ndarray]
"""Estimates for many samples: a matrix of counts for each channel, one row per sample, to a matrix of distributions."""


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Standard errors, and the replicates they came from if it was a bootstrap."""

    std_error: np.ndarray
    replicates: np.ndarray | None = None

    def interval(self, centre: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
        if self.replicates is None:
            width = NormalDist().inv_cdf((1 + level) / 2) * self.std_error
            return np.maximum(centre - width, 0.0), np.minimum(centre + width, 1.0)
        tail = (1 - level) / 2
        low, high = np.quantile(self.replicates, [tail, 1 - tail], axis=0)
        return np.minimum(low, centre), np.maximum(high, centre)


def unknown_spread(estimate: Estimate) -> Spread:
    """Refuse: the estimate does not know its counts."""
    raise NotIdentifiableError(f"Estimate: {estimate.method} leaves no counts behind to work out standard errors from")


def likelihood_spread(problem: Problem) -> Callable[[Estimate], Spread]:
    """The spread of a maximum-likelihood estimate."""

    def spread(estimate: Estimate) -> Spread:
        errors = information_errors(problem, _sharpened(problem, estimate))
        if errors is not None:
            return Spread(errors)
        return bootstrap_spread(problem, estimate, _refit_likeliest(problem, estimate))

    return spread


def _sharpened(problem: Problem, estimate: Estimate) -> Estimate:
    """The estimate carried on to well below its own noise; steps of EM that were counted stay as they are."""
    if estimate.gap * problem.n <= NEGLIGIBLE or estimate.method.startswith("EM"):
        return estimate
    from fastdp.estimators.ibu import maximise

    start = 0.999 * estimate.distribution + 0.001 / problem.size
    return maximise(problem, start, tolerance=max(0.1 * NEGLIGIBLE / problem.n, 1e-13), progress=False)


def _refit_likeliest(problem: Problem, estimate: Estimate) -> Refit:
    from fastdp.estimators.batches import maximise_many

    iterations = estimate.iterations if estimate.method.startswith("EM") else None

    def refit(counts: Sequence[np.ndarray]) -> np.ndarray:
        tolerance = max(estimate.gap, NEGLIGIBLE / problem.n)
        return np.array([row.distribution for row in maximise_many(problem, counts, tolerance, iterations)])

    return refit


def bootstrap_spread(problem: Problem, estimate: Estimate, refit: Refit) -> Spread:
    """The spread of estimates from samples drawn from the estimate itself, as many reports of each channel.

    The draws are seeded by the counts, so that an estimate has one spread. They are not noise of a mechanism.
    """
    source = np.random.default_rng(seed_of(problem.counts))
    samples = []
    for channel, counts in zip(problem.channels, problem.counts, strict=True):
        chances = np.maximum(channel.forward(estimate.distribution), 0.0)
        reports = round(min(max(1.0, float(counts.sum())), MOST_REPORTS))
        samples.append(source.multinomial(reports, chances / chances.sum(), REPLICATES))
    replicates = refit(samples)
    return Spread(replicates.std(axis=0, ddof=1), replicates)


def seed_of(counts: Sequence[np.ndarray]) -> int:
    """A seed that is a function of the counts."""
    digest = hashlib.blake2b(digest_size=8)
    for part in counts:
        digest.update(np.ascontiguousarray(part, np.float64).tobytes())
    return int.from_bytes(digest.digest(), "little")


def information_errors(problem: Problem, estimate: Estimate) -> np.ndarray | None:
    """Standard errors by the inverse information on the support, if the estimate is regular; else None.

    Regular: it is the maximum of the likelihood to well below its own noise, the information has a good inverse, each
    entry is three standard errors above 0, or is 0 with a multiplier three of its standard errors above 0.
    """
    p, n = estimate.distribution, problem.n
    if problem.size > LARGEST_INFORMATION or not problem.fits(problem.size) or estimate.gap * n > NEGLIGIBLE:
        return None
    a, q = problem.columns(np.arange(problem.size))
    d = p @ a
    inside = p > 1e-9 / problem.size
    scaled = a * (np.sqrt(q) / d)
    curvature, slopes = (scaled * scaled).sum(axis=1), a @ (q / d)
    noise = np.sqrt(np.maximum(curvature - slopes**2, 0.0) / n)
    if not ((1 - slopes)[~inside] > CLEAR * noise[~inside]).all():
        return None
    errors = np.zeros(problem.size)
    part = scaled[inside]
    information = part @ part.T
    scale = 1 / np.sqrt(np.diag(information))
    values, vectors = np.linalg.eigh(information * np.outer(scale, scale))
    if not values[0] * LARGEST_CONDITION > values[-1]:
        return None
    # the covariance of a distribution: that without the constraint, less its part along the change of the sum
    half = (vectors * scale[:, None]) / np.sqrt(values)
    along = half @ (half.T @ np.ones(half.shape[0]))
    variance = (half * half).sum(axis=1) - along * along / along.sum()
    errors[inside] = np.sqrt(np.maximum(variance, 0.0) / n)
    return errors if (p[inside] >= CLEAR * errors[inside]).all() else None
