"""How sure an estimate is: standard errors, and confidence intervals that hold whatever the distribution is."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from fastdp.binomial import normal_quantile, wilson
from fastdp.channels import KRRChannel
from fastdp.errors import NotIdentifiableError
from fastdp.estimators.intervals.bounds import CertifiedBounds, Finer, Refit
from fastdp.estimators.likelihood.batches import maximise_many
from fastdp.estimators.likelihood.maximise import maximise
from fastdp.estimators.likelihood.problem import Problem, seed_of
from fastdp.estimators.result import Estimate

REPLICATES = 200
LARGEST_INFORMATION = 2_000
"""Inputs of an information matrix that is inverted."""
LARGEST_INTERVALS = 128
"""Values that get an interval each by the solver."""
MOST_REPORTS = 1e15
"""Reports of a sample of the bootstrap; more would not be less varied in float64."""
CLEAR = 3.0
"""Standard errors that an entry must be away from 0 to count as inside, and its multiplier to count as outside."""
LARGEST_CONDITION = 1e10
NEGLIGIBLE = 0.01
"""Units of log-likelihood, over all reports, that an estimate may be short of the maximum to count as it."""

Ends = tuple[np.ndarray, np.ndarray]
Bound = Callable[[int], float]


class Spread(Protocol):
    """What an estimate knows of its own uncertainty."""

    @property
    def std_error(self) -> np.ndarray:
        """How much each entry varies from sample to sample."""

    def interval(self, level: float) -> Ends:
        """Confidence intervals, one per value."""

    def bounds(self, functionals: np.ndarray, level: float, count: int = 1) -> Ends:
        """Confidence intervals of functionals, one per row; ``count`` of them hold together."""

    def open_bounds(self, functionals: np.ndarray, z: float, finer: Finer | None = None) -> tuple[Bound, Bound]:
        """Functions that give the lower and the upper bound of a row, worked out one by one when asked for."""


def likelihood_spread(problem: Problem) -> Callable[[Estimate], Spread]:
    """The spread of a maximum-likelihood estimate."""
    return lambda estimate: LikelihoodSpread(problem, estimate, _refit_likeliest(problem, estimate))


def with_spread(estimate: Estimate, problem: Problem) -> Estimate:
    """A maximum-likelihood estimate that knows the counts it came from, and so its spread."""
    return dataclasses.replace(estimate, _spread=likelihood_spread(problem))


def bootstrap_spread(problem: Problem, estimate: Estimate, refit: Refit) -> Spread:
    """The spread of a regularised estimate."""
    return ReportSpread(problem, estimate, refit)


class ReportSpread:
    """From the counts of outputs: a bootstrap of the estimate, and certified bounds.

    The bootstrap says how much the estimate varies. It knows nothing of the bias of a regularised one, and so no
    interval is made of it.
    """

    def __init__(self, problem: Problem, estimate: Estimate, refit: Refit) -> None:
        self._problem, self._estimate, self._refit = problem, estimate, refit

    @functools.cached_property
    def std_error(self) -> np.ndarray:
        spread: np.ndarray = self.replicates.std(axis=0, ddof=1)
        return spread

    @functools.cached_property
    def replicates(self) -> np.ndarray:
        """Estimates from samples drawn from the estimate itself, as many reports of each channel.

        The draws are seeded by the counts, so that an estimate has one spread. They are not noise of a mechanism.
        """
        problem = self._problem
        source = np.random.default_rng(seed_of(problem.counts))
        samples = []
        for channel, counts in zip(problem.channels, problem.counts, strict=True):
            chances = np.maximum(channel.forward(self._estimate.distribution), 0.0)
            reports = round(min(max(1.0, float(counts.sum())), MOST_REPORTS))
            samples.append(source.multinomial(reports, chances / chances.sum(), REPLICATES))
        return self._refit(samples)

    def interval(self, level: float) -> Ends:
        problem, p = self._problem, self._estimate.distribution
        if len(problem.channels) == 1 and type(problem.channels[0]) is KRRChannel:
            return hull(krr_interval(problem.channels[0], problem.counts[0], level), p)
        if any(channel.grid is not None for channel in problem.channels):
            raise NotIdentifiableError(
                "interval: reports do not determine single cells of a map; ask for the share of a block of cells, by a "
                "mask: estimate.share(...)"
            )
        if problem.size > LARGEST_INTERVALS:
            raise NotIdentifiableError(
                f"interval: no interval for each of {problem.size:,} values, {LARGEST_INTERVALS} at the most; ask for "
                "the share of a group of values by estimate.share(...), or for any functional by estimate.bounds(...)"
            )
        return self.bounds(np.eye(problem.size), level)

    def bounds(self, functionals: np.ndarray, level: float, count: int = 1) -> Ends:
        found = CertifiedBounds(self._problem, self._refit, normal_quantile(level, count), functionals)
        return hull(found.both(), functionals @ self._estimate.distribution)

    def open_bounds(self, functionals: np.ndarray, z: float, finer: Finer | None = None) -> tuple[Bound, Bound]:
        found = CertifiedBounds(self._problem, self._refit, z, functionals, finer)
        return found.lower, found.upper


class LikelihoodSpread(ReportSpread):
    """Of the likeliest distribution: by the information matrix where that is regular."""

    @functools.cached_property
    def std_error(self) -> np.ndarray:
        errors = self._information
        return super().std_error if errors is None else errors

    @functools.cached_property
    def _information(self) -> np.ndarray | None:
        return information_errors(self._problem, _sharpened(self._problem, self._estimate))

    def interval(self, level: float) -> Ends:
        """Normal ones where the maximum of the likelihood is regular and no value is at 0."""
        closed = len(self._problem.channels) == 1 and type(self._problem.channels[0]) is KRRChannel
        if closed or self._information is None or not (self._information > 0).all():
            return super().interval(level)
        p, half = self._estimate.distribution, normal_quantile(level) * self._information
        return np.maximum(p - half, 0.0), np.minimum(p + half, 1.0)


class FrequencySpread:
    """Of unbiased frequencies that were projected onto the simplex: their own intervals, widened to the projection."""

    def __init__(self, frequencies: Any, projected: np.ndarray) -> None:
        self._frequencies, self._projected = frequencies, projected

    @property
    def std_error(self) -> np.ndarray:
        return np.asarray(self._frequencies.std_error, np.float64)

    def interval(self, level: float) -> Ends:
        low, high = self._frequencies.interval(level)
        return hull((np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)), self._projected)

    def bounds(self, functionals: np.ndarray, level: float, count: int = 1) -> Ends:
        return self._ends(functionals, normal_quantile(level, count))

    def open_bounds(self, functionals: np.ndarray, z: float, finer: Finer | None = None) -> tuple[Bound, Bound]:  # noqa: ARG002
        low, high = (end.tolist() for end in self._ends(functionals, z))
        return low.__getitem__, high.__getitem__

    def _ends(self, functionals: np.ndarray, z: float) -> Ends:
        """By the sum of standard errors, which no correlation between frequencies can exceed.

        A number that is subtracted from all entries of a functional changes nothing: their median makes the sum least.
        """
        errors = self.std_error
        low, high = functionals.min(axis=1), functionals.max(axis=1)
        middle = np.median(functionals, axis=1)
        centred = functionals - middle[:, None]
        centre, half = middle + centred @ np.asarray(self._frequencies.frequencies), z * (np.abs(centred) @ errors)
        ends = np.clip(centre - half, low, high), np.clip(centre + half, low, high)
        return hull(ends, functionals @ self._projected)


def hull(ends: Ends, estimates: np.ndarray) -> Ends:
    """Intervals widened to hold the estimates, which can only add to what they cover."""
    return np.minimum(ends[0], estimates), np.maximum(ends[1], estimates)


def krr_interval(channel: KRRChannel, counts: np.ndarray, level: float) -> Ends:
    """Wilson's interval for the share of each report, mapped to that of the value.

    A value's reports are binomial with probability q + (p - q) f, whatever the other values are. [Wilson 1927]
    """
    size = channel.shape[0]
    if size == 1:
        return np.ones(1), np.ones(1)
    p, q = channel.row(0)[:2].tolist()
    low, high = wilson(counts, float(counts.sum()), normal_quantile(level))
    ends = (low - q) / (p - q), (high - q) / (p - q)
    if p < q:
        ends = ends[1], ends[0]
    return np.clip(ends[0], 0.0, 1.0), np.clip(ends[1], 0.0, 1.0)


def _sharpened(problem: Problem, estimate: Estimate) -> Estimate:
    """The estimate carried on to well below its own noise; steps of EM that were counted stay as they are."""
    if estimate.gap * problem.n <= NEGLIGIBLE or estimate.method.startswith("EM"):
        return estimate
    start = 0.999 * estimate.distribution + 0.001 / problem.size
    return maximise(problem, start, tolerance=max(0.1 * NEGLIGIBLE / problem.n, 1e-13), progress=False)


def _refit_likeliest(problem: Problem, estimate: Estimate) -> Refit:
    iterations = estimate.iterations if estimate.method.startswith("EM") else None

    def refit(counts: Sequence[np.ndarray]) -> np.ndarray:
        tolerance = max(estimate.gap, NEGLIGIBLE / problem.n)
        return np.array([row.distribution for row in maximise_many(problem, counts, tolerance, iterations)])

    return refit


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
