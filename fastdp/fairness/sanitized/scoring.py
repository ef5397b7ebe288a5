"""Scores whose groups or labels are reports: the likely table of the truth, and calibration with intervals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fastdp.binomial import normal_quantile
from fastdp.fairness.contrasts import Contrast, Group, largest_gap
from fastdp.fairness.criteria import widest_gap
from fastdp.fairness.sanitized.moments import Moments, Sums, monotone_counts, pull, win_back
from fastdp.fairness.scores import Calibration, ScoreTable
from fastdp.fairness.tally import Tally

Inverses = Mapping[int, np.ndarray]


def true_scores(naive: ScoreTable, inverses: Inverses, told: np.ndarray) -> ScoreTable:
    """Counts of the truth, none of them negative, and sums of them as near to the truth as unbiased ones.

    Groups that are not ``told`` have none.
    """
    counts = monotone_counts(win_back(naive.tally.counts, inverses)) * told[..., None, None]
    return ScoreTable(Tally(naive.tally.values, counts), naive.width)


def score_moments(table: ScoreTable, inverses: Inverses, present: np.ndarray, truth: str) -> Moments:
    """Of positives among all of each group [score, group], at each score of a table."""
    counts = table.tally.counts
    shape, places = counts.shape[:-1], np.flatnonzero(present)
    member = np.eye(present.size)[places].reshape(places.size, *shape[:-1], 1)
    positive = np.array([int(value) for value in table.tally.values[-2]], float)
    sums = Sums(pull(member * positive, inverses), pull(member * np.ones(positive.size), inverses))
    squares = counts if table.tally.squares is None else table.tally.squares
    reports, spread = (part.reshape(-1, counts.shape[-1]).T.astype(float) for part in (counts, squares))
    return sums.moments(reports, spread, truth=truth)


def calibration_of(moments: Moments, scores: np.ndarray, groups: tuple[Group, ...], level: float) -> Calibration:
    """The share of positives at each score, with Fieller's intervals."""
    low, high = moments.fieller(normal_quantile(level))
    return Calibration(groups, scores, moments.t.T, moments.rates(low, high).T, low.T, high.T, level)


def gap_over(moments: Moments, rate: str, groups: tuple[Group, ...], level: float) -> Contrast:
    """The largest gap at any score, or in any stratum, of moments [place, group]; all intervals hold together."""
    places = len(moments.x)
    pairs = max(places * len(groups) * (len(groups) - 1) // 2, 1)
    z = normal_quantile(level, pairs)
    low, high = moments.differences(z)
    rates = moments.rates(*moments.fieller(z))
    found = [largest_gap(rate, groups, rates[i], low[i], high[i], level) for i in range(places)]
    return widest_gap(found, rate, groups, level)
