"""Beyond maximum likelihood: estimates that stop before they fit the noise.

The likeliest distribution of few reports through a channel that blurs is a few spikes, far from the truth. The number
of steps away from uniform is what tells signal from noise, and the reports themselves can say where to stop.

Total variation to the truth, means of six samples; "inversion" is projected onto the simplex:

=====================  =======  =========  =========  =====  ======  =====
channel                reports  inversion  likeliest  early  smooth  cv
=====================  =======  =========  =========  =====  ======  =====
k-RR 10, e=1, Zipf     1e4      .092       .092       .104   .261    .084
k-RR 10, e=1, Zipf     1e6      .009       .009       .013   .261    .009
k-RR 100, e=2, Zipf    1e4      .291       .295       .352   .234    .238
k-RR 100, e=2, Zipf    1e6      .059       .059       .068   .230    .055
k-RR 500, e=1, Zipf    1e4      .854       .868       .751   .741    .760
k-RR 500, e=1, Zipf    1e6      .417       .425       .700   .751    .359
geometric 1000, e=.05  1e4      .983       .895       .367   .108    .021
geometric 1000, e=.05  1e6      .906       .742       .011   .011    .004
dense random 300       1e4      .980       .270       .335   .506    .268
dense random 300       1e6      .543       .050       .106   .499    .055
planar 25 x 25, e=.5   1e4      .790       .643       .219   .361    .213
planar 25 x 25, e=.5   1e6      .286       .213       .128   .365    .124
=====================  =======  =========  =========  =====  ======  =====

``python -m tests.estimators.test_quality`` prints it, with Wasserstein distances. "cv" is best or within a tenth of it
everywhere, and so it is the default of :func:`estimate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fastdp.errors import ParameterError
from fastdp.estimators.held_out import MOST_STEPS, Fit, fit_held_out
from fastdp.estimators.ibu import maximise
from fastdp.estimators.intervals import Refit, bootstrap_spread, information_errors
from fastdp.estimators.maps import steady_blur
from fastdp.estimators.paths import After, Rows, em_steps
from fastdp.estimators.problem import Problem
from fastdp.estimators.result import Estimate
from fastdp.estimators.run import certificate

LARGEST_REGULAR = 300
"""Inputs up to which the likeliest distribution is tried first: where it is regular, nothing beats it."""
SMOOTH_TOLERANCE = 1e-9


def fit_regularised(
    problem: Problem, regularize: str | None, *, shape: tuple[int, ...] | None = None, **options: Any
) -> Estimate:
    """The estimate by one of the rules, with the gap and spread of what it found."""
    uniform = np.full(problem.size, 1 / problem.size)
    if regularize is None:
        return maximise(problem, uniform, **options)
    if shape is not None and math.prod(shape) != problem.size:
        raise ParameterError(f"estimate: shape must multiply to the number of values, {problem.size}, got {shape}")
    if regularize == "cv" and problem.size <= LARGEST_REGULAR:
        likeliest = maximise(problem, uniform, **{**options, "tolerance": min(1e-3 / problem.n, 1e-9)})
        if information_errors(problem, likeliest) is not None:
            return replace(likeliest, method=f"maximum likelihood, which is regular here ({likeliest.method})")
    if regularize == "cv":
        fit = fit_held_out(problem, shape, options.get("limit"), options.get("progress"))
    elif regularize == "early":
        fit = _fit_early(problem)
    else:
        fit = _fit_smooth(problem, shape or (problem.size,))
    g, likelihood = problem.gradient(fit.distribution)
    gap = certificate(g) if likelihood > -math.inf else math.inf
    return Estimate(
        fit.distribution,
        gap,
        likelihood * problem.n,
        fit.steps,
        fit.name,
        problem.n,
        None,
        lambda estimate: bootstrap_spread(problem, estimate, fit.refit),
    )


def _em_refit(problem: Problem, steps: int, after: After | None) -> Refit:
    def refit(counts: Sequence[np.ndarray]) -> np.ndarray:
        return next(points for step, points, _ in em_steps(Rows(problem, counts), after) if step == steps)

    return refit


def _fit_early(problem: Problem) -> Fit:
    """EM until the counts are no further from their expectation than chance would put them.

    The discrepancy principle: twice the log-likelihood that is missing to a perfect fit has on average as many units as
    there are free counts.
    """
    free = sum(np.count_nonzero(counts) - 1 for counts in problem.counts)

    def is_enough(chances: list[np.ndarray]) -> bool:
        deviance = 0.0
        for counts, d in zip(problem.counts, chances, strict=True):
            seen, expected = counts > 0, counts.sum() * d[0]
            deviance += 2 * float((counts[seen] * np.log(counts[seen] / expected[seen])).sum())
        return bool(deviance <= free)

    p, step = _em_until(problem, is_enough, None)
    return Fit(p, step, f"EM stopped early, after {step} steps", _em_refit(problem, step, None))


def _em_until(
    problem: Problem,
    is_enough: Callable[[list[np.ndarray]], bool],
    after: After | None,
) -> tuple[np.ndarray, int]:
    """EM until the probabilities of outputs are enough; the distribution and the number of steps."""
    path = em_steps(Rows(problem, [counts[None, :] for counts in problem.counts]), after)
    step, points, chances = next(path)
    while step < MOST_STEPS and not is_enough(chances):
        step, points, chances = next(path)
    return points[0], step


def _fit_smooth(problem: Problem, shape: tuple[int, ...]) -> Fit:
    """EM with a (1, 2, 1) / 4 average along each axis after each step, until the likelihood stands still.

    Entries must be in an order in which neighbours are alike. At the ends the average is reflected. [Silverman et al.
    1990; Li et al. 2020, EMS]
    """
    after, last = steady_blur(shape), -math.inf

    def is_enough(chances: list[np.ndarray]) -> bool:
        nonlocal last
        before = last
        last = sum(float(q[q > 0] @ np.log(d[0][q > 0])) for q, d in zip(problem.shares, chances, strict=True))
        return abs(last - before) <= SMOOTH_TOLERANCE * abs(last)

    p, step = _em_until(problem, is_enough, after)
    return Fit(p, step, f"EM with smoothing, {step} steps", _em_refit(problem, step, after))
