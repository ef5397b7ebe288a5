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
planar 25 x 25, e=.5   1e4      .790       .643       .219   .361    .221
planar 25 x 25, e=.5   1e6      .286       .213       .128   .365    .121
=====================  =======  =========  =========  =====  ======  =====

``python -m tests.estimators.test_quality`` prints it, with Wasserstein distances. "cv" is best or within a tenth of it
everywhere, and so it is the default of :func:`estimate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastdp.channels import Channel, DenseChannel, GridChannel, KRRChannel
from fastdp.errors import ParameterError
from fastdp.estimators.accelerate import LEAST_LOG
from fastdp.estimators.ibu import maximise
from fastdp.estimators.intervals import Refit, bootstrap_spread, information_errors, seed_of
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
LARGEST_REGULAR = 300
"""Inputs up to which the likeliest distribution is tried first: where it is regular, nothing beats it."""
LARGEST_WRITTEN = 1_000
"""Cells of a grid up to which a matrix product beats transforms of forty rows: 7 times at 400, 1.7 times at 900."""
LEAST_CHANCE = 1e-300
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
    if regularize == "cv" and problem.size <= LARGEST_REGULAR:
        likeliest = maximise(problem, uniform, **{**options, "tolerance": min(1e-3 / problem.n, 1e-9)})
        if information_errors(problem, likeliest) is not None:
            return replace(likeliest, method=f"maximum likelihood, which is regular here ({likeliest.method})")
    if regularize == "cv":
        fit = _fit_cv(problem, options.get("limit"), options.get("progress"))
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


class _Rows:
    """Distributions of many rows of counts, and their gradients."""

    def __init__(self, problem: Problem, counts: Sequence[np.ndarray]) -> None:
        total = sum(part.sum(axis=1, keepdims=True) for part in counts)
        self._pairs = [
            (_written(channel), part / total) for channel, part in zip(problem.channels, counts, strict=True)
        ]
        self.start = np.full((len(counts[0]), problem.size), 1 / problem.size)

    def products(self, points: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """G of each row, and the probabilities of outputs by channel."""
        g, chances = np.zeros(points.shape), []
        for channel, q in self._pairs:
            d = np.maximum(channel.forward(points), LEAST_CHANCE)  # a transform may leave a rounded zero, or below
            g += channel.backward(q / d)
            chances.append(d)
        return np.maximum(g, 0.0), chances

    def normalised(self, points: np.ndarray) -> np.ndarray:
        return points / points.sum(axis=1, keepdims=True)

    def whole(self, points: np.ndarray) -> np.ndarray:
        """Points with an entry for each input."""
        return points

    def folded(self, counts: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Counts added up to the entries of the probabilities of outputs."""
        return counts


def _written(channel: Channel) -> Channel:
    """The channel, written out if it is that of a small grid: one matrix product for all rows, no transform of each."""
    is_small = isinstance(channel, GridChannel) and channel.shape[0] <= LARGEST_WRITTEN
    return DenseChannel(channel.dense()) if is_small else channel


class _KRRRows(_Rows):
    """k-RR treats all values alike, so those with equal counts keep equal probabilities: one entry stands for all.

    A million values have a few thousand different counts.
    """

    def __init__(self, channel: KRRChannel, counts: np.ndarray) -> None:
        row = channel.row(0)
        self._p, self._q = float(row[0]), float(row[-1])
        groups = [np.unique(one, return_inverse=True, return_counts=True) for one in counts]
        width = max(len(values) for values, _, _ in groups)
        self._places = [places for _, places, _ in groups]
        self._shares, self._sizes = np.zeros((len(groups), width)), np.zeros((len(groups), width))
        for i, (values, _, sizes) in enumerate(groups):
            self._shares[i, : len(values)], self._sizes[i, : len(values)] = values, sizes
        self._shares /= (self._shares * self._sizes).sum(axis=1, keepdims=True)
        self.start = np.full(self._shares.shape, 1 / channel.shape[0])

    def products(self, points: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        d = self._q + (self._p - self._q) * points
        w = self._shares / d
        return self._q * (self._sizes * w).sum(axis=1, keepdims=True) + (self._p - self._q) * w, [d]

    def normalised(self, points: np.ndarray) -> np.ndarray:
        return points / (self._sizes * points).sum(axis=1, keepdims=True)

    def whole(self, points: np.ndarray) -> np.ndarray:
        return np.array([point[places] for point, places in zip(points, self._places, strict=True)])

    def folded(self, counts: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        width = self._shares.shape[1]
        return [np.array([np.bincount(*pair, width) for pair in zip(self._places, counts[0], strict=True)])]


def _rows(problem: Problem, counts: Sequence[np.ndarray]) -> _Rows:
    if len(problem.channels) == 1 and type(problem.channels[0]) is KRRChannel and problem.size > 1:
        return _KRRRows(problem.channels[0], counts[0])
    return _Rows(problem, counts)


def _accelerated(rows: _Rows) -> Iterator[tuple[int, np.ndarray, list[np.ndarray]]]:
    """Accelerated steps from uniform, of all rows in step: their number, the points, and their outputs' probabilities.

    Momentum is never dropped, so that a number of steps means the same for every row.
    """
    points, plain = rows.start, None
    t, step = 1.0, 0
    while True:
        g, chances = rows.products(points)
        yield step, points, chances
        with np.errstate(divide="ignore"):
            stepped = np.maximum(np.log(points * g), LEAST_LOG)
        t_next = (1 + math.sqrt(1 + 4 * t * t)) / 2
        logs = stepped if plain is None else stepped + ((t - 1) / t_next) * (stepped - plain)
        logs = np.maximum(logs - logs.max(axis=1, keepdims=True), LEAST_LOG)
        points = rows.normalised(np.exp(logs))
        plain, t, step = stepped, t_next, step + 1


def _split(counts: np.ndarray, source: np.random.Generator) -> np.ndarray:
    """Each report dealt to one of the folds, as counts of folds by outputs; parts of reports go to all alike."""
    whole = np.where(counts < LARGEST_DEALT, np.floor(counts), 0.0)
    dealt = source.multinomial(whole.astype(np.int64), np.full(FOLDS, 1 / FOLDS)).T
    return dealt + (counts - whole) / FOLDS


def _fit_cv(problem: Problem, limit: int | None, progress: bool | None) -> _Fit:
    """As many accelerated steps as predict held-out reports best, over ten folds, dealt several times.

    The smallest number whose score is within a quarter of a standard error of the best: the score is flat at its top,
    and what lies beyond fits noise. Reports are dealt by a generator seeded by the counts.
    """
    source, deals = np.random.default_rng(seed_of(problem.counts)), DEALS if problem.size < LARGE else 2
    held = [np.concatenate([_split(counts, source) for _ in range(deals)]) for counts in problem.counts]
    kept = [counts - fold for counts, fold in zip(problem.counts, held, strict=True)]
    if (sum(part.sum(axis=1) for part in kept) == 0).any():  # a single report: nothing can be held out
        return _Fit(
            np.full(problem.size, 1 / problem.size), 0, "uniform, for want of reports", _steps_refit(problem, 0)
        )
    scores: list[np.ndarray] = []
    most, best, best_step, note = limit or MOST_STEPS, -math.inf, 0, ""
    bar = Bar(progress)
    rows = _rows(problem, kept)
    folded = rows.folded(held)
    try:
        for step, _, chances in _accelerated(rows):
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
        note = ", interrupted"
    finally:
        bar.close()
    differences = (np.array(scores[: best_step + 1]) - scores[best_step]).reshape(-1, deals, FOLDS)
    errors = differences.std(axis=2, ddof=1).mean(axis=1) * math.sqrt(FOLDS)
    chosen = int(np.flatnonzero(differences.sum(axis=2).mean(axis=1) >= -SHARE_OF_ERROR * errors)[0])
    refit = _steps_refit(problem, chosen)
    p = refit([counts[None, :] for counts in problem.counts])[0]
    return _Fit(p, chosen, f"{chosen} accelerated steps, chosen by held-out reports{note}", refit)


def _steps_refit(problem: Problem, steps: int) -> Refit:
    def refit(counts: Sequence[np.ndarray]) -> np.ndarray:
        rows = _rows(problem, counts)
        return next(rows.whole(points) for step, points, _ in _accelerated(rows) if step == steps)

    return refit


def _em(
    rows: _Rows, after: Callable[[np.ndarray], np.ndarray] | None
) -> Iterator[tuple[int, np.ndarray, list[np.ndarray]]]:
    """Steps of EM from uniform, of all rows in step, each followed by ``after``."""
    points, step = rows.start, 0
    while True:
        g, chances = rows.products(points)
        yield step, points, chances
        points = rows.normalised(points * g if after is None else after(points * g))
        step += 1


def _em_refit(problem: Problem, steps: int, after: Callable[[np.ndarray], np.ndarray] | None) -> Refit:
    def refit(counts: Sequence[np.ndarray]) -> np.ndarray:
        return next(points for step, points, _ in _em(_Rows(problem, counts), after) if step == steps)

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
    after: Callable[[np.ndarray], np.ndarray] | None,
) -> tuple[np.ndarray, int]:
    """EM until the probabilities of outputs are enough; the distribution and the number of steps."""
    path = _em(_Rows(problem, [counts[None, :] for counts in problem.counts]), after)
    step, points, chances = next(path)
    while step < MOST_STEPS and not is_enough(chances):
        step, points, chances = next(path)
    return points[0], step


def _fit_smooth(problem: Problem, shape: tuple[int, ...]) -> _Fit:
    """EM with a (1, 2, 1) / 4 average along each axis after each step, until the likelihood stands still.

    Entries must be in an order in which neighbours are alike. At the ends the average is reflected. [Silverman et al.
    1990; Li et al. 2020, EMS]
    """
    if math.prod(shape) != problem.size:
        raise ParameterError(f"estimate: shape must multiply to the number of values, {problem.size}, got {shape}")

    def after(rows: np.ndarray) -> np.ndarray:
        block = rows.reshape(len(rows), *shape)
        for axis in range(1, block.ndim):
            block = _average(block, axis)
        return block.reshape(rows.shape)

    last = -math.inf

    def is_enough(chances: list[np.ndarray]) -> bool:
        nonlocal last
        before = last
        last = sum(float(q[q > 0] @ np.log(d[0][q > 0])) for q, d in zip(problem.shares, chances, strict=True))
        return abs(last - before) <= SMOOTH_TOLERANCE * abs(last)

    p, step = _em_until(problem, is_enough, after)
    return _Fit(p, step, f"EM with smoothing, {step} steps", _em_refit(problem, step, after))


def _average(block: np.ndarray, axis: int) -> np.ndarray:
    size = block.shape[axis]
    places = np.arange(size)
    below = np.take(block, np.maximum(places - 1, 0), axis)
    above = np.take(block, np.minimum(places + 1, size - 1), axis)
    return (below + 2 * block + above) / 4
