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
planar 25 x 25, e=.5   1e4      .790       .643       .219   .361    .210
planar 25 x 25, e=.5   1e6      .286       .213       .128   .365    .120
=====================  =======  =========  =========  =====  ======  =====

``python -m tests.estimators.test_quality`` prints it, with Wasserstein distances. "cv" is best or within a tenth of it
everywhere, and so it is the default of :func:`estimate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastdp.errors import ParameterError
from fastdp.estimators.ibu import maximise
from fastdp.estimators.intervals import Refit, bootstrap_spread, information_errors, seed_of
from fastdp.estimators.paths import After, Rows, accelerated_steps, em_steps, fading_blur, rows_of, steady_blur
from fastdp.estimators.problem import Problem
from fastdp.estimators.result import Estimate
from fastdp.estimators.run import Bar, certificate

FOLDS = 10
DEALS, LARGE = 4, 10_000
"""How often reports are dealt anew; twice for so many inputs or more. On grids of few reports one deal in some thirty
would go on until the noise is fitted, and total variation nearly double; another deal of the same reports would not."""
MOST_STEPS = 2_000
PATIENCE = 100
"""Steps to look ahead for a better score; as many again as the best so far took, if that is more."""
SHARE_OF_ERROR = 0.25
"""The smallest number of steps is taken whose score is within so many standard errors of the best. Of 0, 1/4, 1/2 and
1, a quarter was best or next to it on all of the channels above."""
DOUBT, TIMES, SLACK = 2.0, 3, 5
"""On maps no more than three times as many steps are taken, and five, as the fewest within two standard errors of the
best: of some thirty maps of few reports one would else go on until noise is fitted, on a gain that is chance."""
LARGEST_REGULAR = 300
"""Inputs up to which the likeliest distribution is tried first: where it is regular, nothing beats it."""
LARGEST_DEALT = 2.0**53
"""Counts from here on are split evenly: chance would not move them."""
SMOOTH_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """A distribution, the steps it took, and how to do the same to other counts."""

    distribution: np.ndarray
    steps: int
    name: str
    refit: Refit


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
        fit = _fit_cv(problem, shape, options.get("limit"), options.get("progress"))
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


def _split(counts: np.ndarray, source: np.random.Generator) -> np.ndarray:
    """Each report dealt to one of the folds, as counts of folds by outputs; parts of reports go to all alike."""
    whole = np.where(counts < LARGEST_DEALT, np.floor(counts), 0.0)
    dealt = source.multinomial(whole.astype(np.int64), np.full(FOLDS, 1 / FOLDS)).T
    return dealt + (counts - whole) / FOLDS


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """How a way predicted held-out reports: scores of deals by folds at its best, and the steps to take."""

    after: After | None
    best: np.ndarray
    chosen: int
    is_interrupted: bool

    def beats(self, other: _Search) -> bool:
        """Whether it is better by more than a standard error, on the deals that both saw."""
        gains = self.best - other.best[: len(self.best)]
        return bool(gains.sum(axis=1).mean() > gains.std(axis=1, ddof=1).mean() * math.sqrt(FOLDS))


def _fit_cv(problem: Problem, shape: tuple[int, ...] | None, limit: int | None, progress: bool | None) -> _Fit:
    """As many accelerated steps as predict held-out reports best, over ten folds, dealt several times.

    On maps neighbours are averaged on the way, less and less, unless held-out reports speak against it. Reports are
    dealt by a generator seeded by the counts.
    """
    source, deals = np.random.default_rng(seed_of(problem.counts)), DEALS if problem.size < LARGE else 2
    held = [np.concatenate([_split(counts, source) for _ in range(deals)]) for counts in problem.counts]
    kept = [counts - fold for counts, fold in zip(problem.counts, held, strict=True)]
    if (sum(part.sum(axis=1) for part in kept) == 0).any():  # a single report: nothing can be held out
        return _Fit(
            np.full(problem.size, 1 / problem.size), 0, "uniform, for want of reports", _steps_refit(problem, 0, None)
        )
    bar = Bar(progress)
    try:
        is_map, most = shape is not None and len(shape) > 1 and min(shape) > 1, limit or MOST_STEPS
        after = fading_blur(shape) if shape is not None and is_map else None
        found = _search(problem, kept, held, after, most, bar, is_map=is_map)
        if is_map and not found.is_interrupted:
            half = slice(deals // 2 * FOLDS)
            parts = [part[half] for part in kept], [part[half] for part in held]
            plain = _search(problem, *parts, None, most, bar, is_map=is_map)
            found = plain if plain.beats(found) else found
    finally:
        bar.close()
    refit = _steps_refit(problem, found.chosen, found.after)
    p = refit([counts[None, :] for counts in problem.counts])[0]
    how = "accelerated steps" if found.after is None else "accelerated steps with fading averages of neighbours"
    note = ", interrupted" if found.is_interrupted else ""
    return _Fit(p, found.chosen, f"{found.chosen} {how}, chosen by held-out reports{note}", refit)


def _search(
    problem: Problem,
    kept: Sequence[np.ndarray],
    held: Sequence[np.ndarray],
    after: After | None,
    most: int,
    bar: Bar,
    *,
    is_map: bool,
) -> _Search:
    """The smallest number of steps whose score is within a quarter of a standard error of the best.

    The score is flat at its top, and what lies beyond fits noise.
    """
    scores: list[np.ndarray] = []
    best, best_step, is_interrupted = -math.inf, 0, False
    rows = rows_of(problem, kept, mixed=after is not None)
    folded = rows.folded(held)
    try:
        for step, _, chances in accelerated_steps(rows, after):
            score = sum((fold * np.log(d)).sum(axis=1) for fold, d in zip(folded, chances, strict=True)) / problem.n
            scores.append(score)
            if float(score.sum()) > best:
                best, best_step = float(score.sum()), step
            last = min(most, max(2 * best_step, best_step + PATIENCE))
            if step >= last:
                break
            if bar.is_due:
                bar.show(step / last, f"step {step:,}, the best was {best_step:,}")
    except KeyboardInterrupt:
        if not scores:
            raise
        is_interrupted = True
    table = np.array(scores[: best_step + 1]).reshape(best_step + 1, -1, FOLDS)
    if is_map:
        table = table[: TIMES * _fewest(table, DOUBT) + SLACK + 1]
        table = table[: int(table.sum(axis=(1, 2)).argmax()) + 1]
    return _Search(after, table[-1], _fewest(table, SHARE_OF_ERROR), is_interrupted)


def _fewest(scores: np.ndarray, share: float) -> int:
    """The fewest steps whose score, by steps, deals and folds, is within so many standard errors of the last one's."""
    differences = scores - scores[-1]
    errors = differences.std(axis=2, ddof=1).mean(axis=1) * math.sqrt(FOLDS)
    return int(np.flatnonzero(differences.sum(axis=2).mean(axis=1) >= -share * errors)[0])


def _steps_refit(problem: Problem, steps: int, after: After | None) -> Refit:
    def refit(counts: Sequence[np.ndarray]) -> np.ndarray:
        rows = rows_of(problem, counts, mixed=after is not None)
        return next(rows.whole(points) for step, points, _ in accelerated_steps(rows, after) if step == steps)

    return refit


def _em_refit(problem: Problem, steps: int, after: After | None) -> Refit:
    def refit(counts: Sequence[np.ndarray]) -> np.ndarray:
        return next(points for step, points, _ in em_steps(Rows(problem, counts), after) if step == steps)

    return refit


def _fit_early(problem: Problem) -> _Fit:
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
    return _Fit(p, step, f"EM stopped early, after {step} steps", _em_refit(problem, step, None))


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


def _fit_smooth(problem: Problem, shape: tuple[int, ...]) -> _Fit:
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
    return _Fit(p, step, f"EM with smoothing, {step} steps", _em_refit(problem, step, after))
