"""Beyond maximum likelihood: estimates that stop before they fit the noise.

The likeliest distribution of few reports through a channel that blurs is a few spikes, far from the truth. The number
of steps away from uniform is what tells signal from noise, and the reports themselves can say where to stop.

docs/estimation.md compares the default with simple methods on truths of many classes, and names where it loses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fastdp.errors import ParameterError
from fastdp.estimators.intervals.bounds import Refit
from fastdp.estimators.intervals.spread import CLEAR, bootstrap_spread, with_spread
from fastdp.estimators.likelihood.maximise import is_krr, maximise
from fastdp.estimators.likelihood.problem import Problem
from fastdp.estimators.likelihood.search import certificate
from fastdp.estimators.result import Estimate
from fastdp.estimators.smoothing.candidates import inverter
from fastdp.estimators.smoothing.cross_validation import Fit, fit_held_out
from fastdp.estimators.smoothing.map_prior import is_map, steady_blur
from fastdp.estimators.smoothing.step_paths import After, CountRows, em_steps
from fastdp.estimators.smoothing.work import Allowance, is_quick

LEAST_SIGNAL = 30.0
"""Mean square of k-RR's estimates less uniform, in standard errors, from which on shrinking wins less than 2 %."""
SMOOTH_TOLERANCE = 1e-9
MOST_STEPS = 2_000


def fit_regularised(
    problem: Problem, regularize: str | None, *, shape: tuple[int, ...] | None = None, **options: Any
) -> Estimate:
    """The estimate by one of the rules, with the gap and spread of what it found."""
    uniform = np.full(problem.size, 1 / problem.size)
    if regularize is None:
        return with_spread(maximise(problem, uniform, **options), problem)
    if shape is not None and math.prod(shape) != problem.size:
        raise ParameterError(f"estimate: shape must multiply to the number of values, {problem.size}, got {shape}")
    if regularize == "cv":
        allowance = Allowance.of(problem.channels, problem.counts, paths=2 if is_map(problem, shape) else 1)
        if is_krr(problem.channels) and (allowance is None or _is_clear(problem)):
            likeliest = with_spread(maximise(problem, uniform), problem)
            why = "too large to choose" if allowance is None else "which is regular here"
            return replace(likeliest, method=f"maximum likelihood, {why} ({likeliest.method})")
        if allowance is None:
            fit = _fit_cheaply(problem)
        else:
            fit = fit_held_out(problem, shape, allowance, options.get("limit"), options.get("progress"))
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


def _is_clear(problem: Problem) -> bool:
    """Whether k-RR's values are all clear of 0, and so far from uniform that nothing is won by steps towards it."""
    channel, shares = problem.channels[0], problem.shares[0]
    row = channel.row(0)
    contrast = abs(float(row[0] - row[-1]))
    if problem.size == 1 or contrast == 0:
        return False
    errors = np.sqrt(shares * (1 - shares) / problem.n) / contrast
    p = (shares - row[-1]) / (row[0] - row[-1])
    if not (p > CLEAR * errors).all():
        return False
    return bool((((p - 1 / problem.size) / errors) ** 2).mean() >= LEAST_SIGNAL)


def _fit_cheaply(problem: Problem) -> Fit:
    """What is left where a choice would take too long: the inverted channel, or EM stopped early."""
    inverse = inverter(problem) if all(map(is_quick, problem.channels)) else None
    if inverse is None:
        return _fit_early(problem)
    p = inverse(problem.counts[0][None, :])[0]
    return Fit(p, 0, "the inverted channel on the simplex, too large to choose", lambda counts: inverse(counts[0]))


def _em_refit(problem: Problem, steps: int, after: After | None) -> Refit:
    def refit(counts: Sequence[np.ndarray]) -> np.ndarray:
        return next(points for step, points, _ in em_steps(CountRows(problem, counts), after) if step == steps)

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
    path = em_steps(CountRows(problem, [counts[None, :] for counts in problem.counts]), after)
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
