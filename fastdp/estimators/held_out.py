"""How many steps to take towards the likeliest distribution: what reports that were held out say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastdp.estimators.intervals import Refit, seed_of
from fastdp.estimators.maps import fading_blur, is_map, noise_variance, typical_steps
from fastdp.estimators.paths import After, accelerated_steps, rows_of
from fastdp.estimators.problem import Problem
from fastdp.estimators.run import Bar

FOLDS = 10
DEALS, LARGE = 4, 10_000
"""How often reports are dealt anew; twice for so many inputs or more. On grids of few reports one deal in some thirty
would go on until the noise is fitted, and total variation nearly double; another deal of the same reports would not."""
MOST_STEPS = 2_000
PATIENCE = 100
"""Steps to look ahead for a better score; on maps the typical number at most. As many again as the best so far took, if
that is more."""
SHARE_OF_ERROR = 0.25
"""Where no number of steps is typical, the smallest is taken whose score is within so many standard errors of the best:
scores are flat at their top, and what lies beyond fits noise. Of 0, 1/4, 1/2 and 1, a quarter was best or next to it on
all channels of the table in regularize.py."""
MORE, FEWER = 10.0, 2.0
"""Held-out reports must become 2**10 times as likely for each doubling of the steps beyond the typical number, and 2**2
times for each halving below it. Chance alone brings a city's reports to want four times the steps, for some 2**12."""
DOUBT = 2.5
"""Standard errors by which plain steps must predict better than those with averages to be taken on a map. With two, one
small map in sixty fitted noise."""
LEAST_GAIN = 2.0
"""By so many units of log-likelihood, too."""
LARGEST_DEALT = 2.0**53
"""Counts from here on are split evenly: chance would not move them."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A distribution, the steps it took, and how to do the same to other counts."""

    distribution: np.ndarray
    steps: int
    name: str
    refit: Refit


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """What is done after each step, how many steps are typical, if that is known, and how far to look ahead."""

    after: After | None
    typical: float | None
    patience: int


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """How a way predicted held-out reports: scores of deals by folds at its best, and the steps to take."""

    after: After | None
    best: np.ndarray
    chosen: int
    is_interrupted: bool

    def beats(self, other: _Search) -> bool:
        """Whether it is better beyond doubt, on the deals that both saw.

        Ways that went on to fit the same noise differ by next to nothing, and that quite surely.
        """
        gains = self.best - other.best[: len(self.best)]
        error = gains.std(axis=1, ddof=1).mean() * math.sqrt(FOLDS)
        return bool(gains.sum(axis=1).mean() > max(DOUBT * error, LEAST_GAIN))


def fit_held_out(problem: Problem, shape: tuple[int, ...] | None, limit: int | None, progress: bool | None) -> Fit:
    """As many accelerated steps as predict held-out reports best, over ten folds, dealt several times.

    On maps neighbours are averaged on the way, less and less, unless held-out reports clearly speak against it, and
    numbers of steps far from the typical one need better scores. Reports are dealt by a generator seeded by the counts.
    """
    source, deals = np.random.default_rng(seed_of(problem.counts)), DEALS if problem.size < LARGE else 2
    held = [np.concatenate([_split(counts, source) for _ in range(deals)]) for counts in problem.counts]
    kept = [counts - fold for counts, fold in zip(problem.counts, held, strict=True)]
    if (sum(part.sum(axis=1) for part in kept) == 0).any():  # a single report: nothing can be held out
        return Fit(
            np.full(problem.size, 1 / problem.size), 0, "uniform, for want of reports", _steps_refit(problem, 0, None)
        )
    most, bar = limit or MOST_STEPS, Bar(progress)
    try:
        if shape is None or not is_map(problem, shape):
            found = _search(problem, kept, held, _Way(None, None, PATIENCE), most, bar)
        else:
            variance = noise_variance(problem, shape)
            typical = typical_steps(problem, variance)
            patience = min(PATIENCE, math.ceil(typical))
            way = _Way(fading_blur(shape, variance), typical, patience)
            found = _search(problem, kept, held, way, most, bar)
            if not found.is_interrupted:
                half = slice(deals // 2 * FOLDS)
                parts = [part[half] for part in kept], [part[half] for part in held]
                other = _search(problem, *parts, _Way(None, None, patience), most, bar)
                found = other if other.beats(found) else found
    finally:
        bar.close()
    refit = _steps_refit(problem, found.chosen, found.after)
    p = refit([counts[None, :] for counts in problem.counts])[0]
    how, who = "accelerated steps", "held-out reports"
    if found.after is not None:
        how, who = "accelerated steps with fading averages of neighbours", "what is typical and held-out reports"
    note = ", interrupted" if found.is_interrupted else ""
    return Fit(p, found.chosen, f"{found.chosen} {how}, chosen by {who}{note}", refit)


def _split(counts: np.ndarray, source: np.random.Generator) -> np.ndarray:
    """Each report dealt to one of the folds, as counts of folds by outputs; parts of reports go to all alike."""
    whole = np.where(counts < LARGEST_DEALT, np.floor(counts), 0.0)
    dealt = source.multinomial(whole.astype(np.int64), np.full(FOLDS, 1 / FOLDS)).T
    return dealt + (counts - whole) / FOLDS


def _search(
    problem: Problem,
    kept: Sequence[np.ndarray],
    held: Sequence[np.ndarray],
    way: _Way,
    most: int,
    bar: Bar,
) -> _Search:
    """Scores of a way, step by step, until nothing better is in sight; and the number of steps to take."""
    scores: list[np.ndarray] = []
    best, best_step, is_interrupted = -math.inf, 0, False
    rows = rows_of(problem, kept, mixed=way.after is not None)
    folded = rows.folded(held)
    try:
        for step, _, chances in accelerated_steps(rows, way.after):
            score = sum((fold * np.log(d)).sum(axis=1) for fold, d in zip(folded, chances, strict=True))
            scores.append(score)
            if float(score.sum()) > best:
                best, best_step = float(score.sum()), step
            last = min(most, max(2 * best_step, best_step + way.patience, math.ceil(way.typical or 0)))
            if step >= last:
                break
            if bar.is_due:
                bar.show(step / last, f"step {step:,}, the best was {best_step:,}")
    except KeyboardInterrupt:
        if not scores:
            raise
        is_interrupted = True
    table = np.array(scores).reshape(len(scores), -1, FOLDS)
    chosen = _fewest(table, best_step) if way.typical is None else _most_credible(table, way.typical)
    return _Search(way.after, table[best_step], chosen, is_interrupted)


def _fewest(scores: np.ndarray, best: int) -> int:
    """The fewest steps whose score, by steps, deals and folds, is within a part of a standard error of the best's."""
    differences = scores - scores[best]
    errors = differences.std(axis=2, ddof=1).mean(axis=1) * math.sqrt(FOLDS)
    return int(np.flatnonzero(differences.sum(axis=2).mean(axis=1) >= -SHARE_OF_ERROR * errors)[0])


def _most_credible(scores: np.ndarray, typical: float) -> int:
    """The number of steps that held-out reports and what is typical together make most credible."""
    away = np.log(np.maximum(np.arange(len(scores)), 0.5) / typical)
    return int((scores.sum(axis=2).mean(axis=1) - np.where(away > 0, MORE * away, -FEWER * away)).argmax())


def _steps_refit(problem: Problem, steps: int, after: After | None) -> Refit:
    def refit(counts: Sequence[np.ndarray]) -> np.ndarray:
        rows = rows_of(problem, counts, mixed=after is not None)
        return next(rows.whole(points) for step, points, _ in accelerated_steps(rows, after) if step == steps)

    return refit
