"""Choose among candidate estimates by cross-validation, and by samples of the truths that it finds credible.

Held-out reports tell how credible each candidate is as the truth, but hardly which is the nearest to it: on a channel
that blurs, a smooth distribution and one of spikes explain the reports alike, and one is ten times as far from the
truth as the other. So the credible candidates are taken for the truth in turn, reports are drawn from each, and every
rule is tried on them. The rule that loses least against the best of its rivals, on average over what is credible, wins;
rules that lose nearly as little have a part in the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fastdp.estimators.intervals.bounds import Refit
from fastdp.estimators.likelihood.problem import Problem, deal_reports, seed_of
from fastdp.estimators.likelihood.search import Bar
from fastdp.estimators.smoothing.candidates import STEPS, Candidate, Ladder, inverter
from fastdp.estimators.smoothing.map_prior import fading_blur, is_map, noise_variance, typical_steps
from fastdp.estimators.smoothing.step_paths import CountRows
from fastdp.estimators.smoothing.work import FOLDS, MOST_TRUTHS, Allowance, is_quick
from fastdp.typing import Progress

PATIENCE = 100
"""Steps to look ahead for a better score. As many again as the best so far took, if that is more."""
DROP, LEAST_CREDIBLE = 10.0, 0.02
"""Units of log-likelihood by which the end of a path may be less credible than its best for sparse candidates to be
tried (for protocols with many values they always are), and the least credibility, of the best's, of what is tried as
the truth."""
TRUTHS = (0, 2, 5, 12, 32, 91, 256, 724, 2048)
"""Numbers of steps that are tried as the truth; neighbours would say the same."""
TEMPERATURE = 0.5
"""Credibility is the likelihood of held-out reports to this power. They come from the sample that the candidates were
made from, so that chance in it speaks twice."""
MORE, FEWER, PLAIN = 2.0, 0.5, 2.0
"""What the typical number of steps on maps weighs: units of log-credibility for each factor e of steps beyond it, for
each below it, and for candidates without averages of neighbours."""
LEAST_RATIO, POWER = 0.8, 2.0
"""A rule's loss under a truth is the power of its total variation over that of the best rival, and this at least."""
SOFTNESS, LEAST_PART = 0.05, 0.02
"""Parts of rules fall by a factor e for each such loss beyond the least; those below the second are left out."""
NAMES = {
    "steps": "{} accelerated steps",
    "averaged": "{} accelerated steps with fading averages of neighbours",
    "inversion": "the inverted channel on the simplex",
    "sparse": "the largest {} values alone",
}
MOST_DRAWN = 1e15
"""Reports of a sample; more would not be less varied in float64."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A distribution, the steps it took, and how to do the same to other counts."""

    distribution: np.ndarray
    steps: int
    name: str
    refit: Refit


def fit_held_out(
    problem: Problem,
    shape: tuple[int, ...] | None,
    allowance: Allowance,
    limit: int | None,
    progress: Progress | bool | None,
) -> Fit:
    """The candidates that lose least under the truths that held-out reports find credible.

    Reports are dealt, and samples drawn, by a generator seeded by the counts.
    """
    source = np.random.default_rng(seed_of(problem.counts))
    held = [
        np.concatenate([deal_reports(counts, FOLDS, source) for _ in range(allowance.deals)])
        for counts in problem.counts
    ]
    kept = [counts - fold for counts, fold in zip(problem.counts, held, strict=True)]
    ladder, typical = _open_ladder(problem, shape, allowance, limit or STEPS[-1])
    if (sum(part.sum(axis=1) for part in kept) == 0).any():  # a single report: nothing can be held out
        uniform = Candidate("steps", 0)
        points = np.full(problem.size, 1 / problem.size)
        return _take(ladder, {uniform: points}, {uniform: 1.0}, "uniform, for want of reports")
    search, bar, note = _Search(ladder, held), Bar(progress), ""
    try:
        search.run(kept, bar)
        credibility = search.credibility(typical)
        truths = np.array([search.points[one] for one in credibility])
        samples = _draw(problem, truths, allowance.replicates, source)
        parts = _weigh(ladder.until(search.reached), truths, np.array(list(credibility.values())), samples)
    except KeyboardInterrupt:
        if not search.scores:
            raise
        parts, note = {search.best: 1.0}, ", interrupted"
    finally:
        bar.close()
    return _take(ladder.until(search.reached), search.points, parts, _describe(parts) + note)


def _open_ladder(
    problem: Problem, shape: tuple[int, ...] | None, allowance: Allowance, limit: int
) -> tuple[Ladder, float | None]:
    """All candidates, and the number of steps that is typical, if that is known."""
    most = max(step for step in STEPS if step <= min(limit, allowance.steps))
    until = {"steps": most, "averaged": most, "sparse": int(allowance.cuts)}
    if shape is None or not is_map(problem, shape):
        return Ladder(problem, None, inverter(problem), until), None
    variance = noise_variance(problem, shape)
    averages = fading_blur(shape, variance)
    return Ladder(problem, averages, inverter(problem), until), typical_steps(problem, variance)


class _Search:
    """Log-likelihoods of held-out reports by candidate, in sum over the folds and as means of the deals.

    All reports together are one more row, of which nothing is held out: its points are the estimates.
    """

    def __init__(self, ladder: Ladder, held: Sequence[np.ndarray]) -> None:
        self._ladder, self._held = ladder, held
        self.scores: dict[Candidate, float] = {}
        self.points: dict[Candidate, np.ndarray] = {}
        self.reached = {"steps": 0, "averaged": 0, "sparse": 0}
        self._best = dict.fromkeys(self.reached, (-math.inf, 0))

    @property
    def best(self) -> Candidate:
        return max(self.scores, key=self.scores.__getitem__)

    def run(self, kept: Sequence[np.ndarray], bar: Bar) -> None:
        deals = len(self._held[0]) / FOLDS
        counts = [np.vstack([part, all_of]) for part, all_of in zip(kept, self._ladder.problem.counts, strict=True)]
        held = [np.vstack([part, np.zeros(part.shape[1])]) for part in self._held]
        folded: Sequence[np.ndarray] = held
        folded_for: CountRows | None = None
        for candidate, points, chances, rows in self._ladder.walk(counts, self._goes_on):
            if rows is not folded_for:
                folded, folded_for = rows.folded(held), rows
            score = 0.0
            for fold, d in zip(folded, chances, strict=True):
                score += float((fold * np.log(d)).sum())
            score /= deals
            self.points[candidate] = rows.last(points).copy()
            self.scores[candidate] = score
            kind = candidate.kind
            if kind in self.reached:
                self.reached[kind] = max(self.reached[kind], candidate.number)
                if score > self._best[kind][0]:
                    self._best[kind] = (score, candidate.number)
            if bar.is_due:
                done, most = len(self.scores), 4 * len(STEPS)
                bar.show(done / most, f"{kind}, {candidate.number:,}", done, most)

    def _goes_on(self, kind: str, step: int) -> bool:
        if kind == "sparse":
            if all(map(is_quick, self._ladder.problem.channels)):  # the path's end fits noise in thousands of values
                return True
            return self.scores[Candidate("steps", self.reached["steps"])] > self.scores[self.best] - DROP
        best = self._best[kind][1]
        return step < max(2 * best, best + PATIENCE)

    def credibility(self, typical: float | None) -> dict[Candidate, float]:
        """Of the candidates that are tried as the truth; in sum 1."""
        tried = {
            candidate: TEMPERATURE * score + _log_prior(candidate, typical)
            for candidate, score in self.scores.items()
            if candidate.number in TRUTHS or candidate.number == self.reached.get(candidate.kind, candidate.number)
            or candidate.kind in {"inversion", "sparse"} or candidate == self.best
        }  # fmt: skip
        top = max(tried.values())
        chosen = sorted(tried, key=tried.__getitem__, reverse=True)[:MOST_TRUTHS]
        weights = {one: math.exp(tried[one] - top) for one in chosen}
        weights = {one: weight for one, weight in weights.items() if weight >= LEAST_CREDIBLE}
        total = sum(weights.values())
        return {one: weight / total for one, weight in weights.items()}


def _log_prior(candidate: Candidate, typical: float | None) -> float:
    """What is known of maps before any report; 0 where nothing is."""
    if typical is None:
        return 0.0
    if candidate.kind != "averaged":
        return -PLAIN
    away = math.log(max(candidate.number, 0.5) / typical)
    return -MORE * away if away > 0 else FEWER * away


def _weigh(
    ladder: Ladder, truths: np.ndarray, credibility: np.ndarray, samples: Sequence[np.ndarray]
) -> dict[Candidate, float]:
    """The part of each rule in the estimate, by what it loses on samples of credible truths."""
    repeated = np.repeat(truths, len(samples[0]) // len(truths), axis=0)
    rules, losses = [], []
    for rule, points, _, rows in ladder.walk(samples):
        variation = np.abs(rows.whole(points) - repeated).sum(axis=1) / 2
        rules.append(rule)
        losses.append(variation.reshape(len(truths), -1).mean(axis=1))
    return _parts(rules, np.array(losses), credibility)


def _draw(problem: Problem, truths: np.ndarray, replicates: int, source: np.random.Generator) -> list[np.ndarray]:
    """Reports of each truth, as many of each channel as there are, several times."""
    samples = []
    for channel, counts in zip(problem.channels, problem.counts, strict=True):
        chances = np.maximum(channel.forward(truths / truths.sum(axis=1, keepdims=True)), 0.0)
        reports = round(min(max(1.0, float(counts.sum())), MOST_DRAWN))
        drawn = [source.multinomial(reports, row / row.sum(), replicates) for row in chances]
        samples.append(np.concatenate(drawn).astype(np.float64))
    return samples


def _parts(rules: Sequence[Candidate], variations: np.ndarray, weights: np.ndarray) -> dict[Candidate, float]:
    """Parts of rules, by their total variations under truths of such weights."""
    rivals = [rule.kind == "inversion" or (rule.kind != "sparse" and rule.number >= 3) for rule in rules]
    best = variations[rivals].min(axis=0) if any(rivals) else variations.min(axis=0)
    ratios = variations / np.maximum(best, 1e-4)
    losses = np.maximum(ratios, LEAST_RATIO) ** POWER @ weights + 1e-6 * ratios @ weights
    parts = np.exp(-(losses - losses.min()) / SOFTNESS)
    parts[parts < LEAST_PART * parts.sum()] = 0
    return {rule: float(part / parts.sum()) for rule, part in zip(rules, parts, strict=True) if part}


def _take(ladder: Ladder, points: Mapping[Candidate, np.ndarray], parts: Mapping[Candidate, float], name: str) -> Fit:
    """The mixture of candidates, and the same for other counts."""
    last = {kind: max((one.number for one in parts if one.kind == kind), default=-1) for kind in ("steps", "averaged")}
    if any(one.kind in {"sparse", "inversion"} for one in parts):
        last = {**last, "steps": ladder.most["steps"], "sparse": 1}
    short = ladder.until(last)

    def refit(counts: Sequence[np.ndarray]) -> np.ndarray:
        mixture = np.zeros((len(counts[0]), ladder.problem.size))
        for one, found, _, rows in short.walk(counts):
            if one in parts:
                mixture += parts[one] * rows.whole(found)
        return mixture

    p = np.sum([part * points[one] for one, part in parts.items()], axis=0)
    return Fit(p, max(last["steps"], last["averaged"], 0), name, refit)


def _describe(parts: dict[Candidate, float]) -> str:
    """What the estimate is made of, the largest part first."""
    kinds = sorted({one.kind for one in parts}, key=lambda kind: -sum(parts[one] for one in parts if one.kind == kind))
    names = []
    for kind in kinds:
        numbers = sorted(one.number for one in parts if one.kind == kind)
        span = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        names.append(NAMES[kind].format(span))
    return f"{' and '.join(names)}, chosen by held-out reports"
