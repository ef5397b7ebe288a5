"""Platt scaling per group: scores that mean the same share of positives in every group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp.errors import ParameterError
from fastdp.fairness.contrasts import Group
from fastdp.fairness.encoding import OWNER, as_floats, group_places
from fastdp.fairness.rates import number
from fastdp.fairness.scores import ScoreTable

STEPS, CLOSE = 200, 1e-12


@dataclass(frozen=True, slots=True)
class Scaling:
    """The share of positives at a score s of each group, 1 / (1 + exp(-(slope s + intercept))).

    Fitted by maximum likelihood with Platt's targets, (n1 + 1) / (n1 + 2) and 1 / (n0 + 2), so that it is finite also
    where scores separate the labels. NaN for a group with one label only. [Platt 1999]
    """

    groups: tuple[Group, ...]
    slope: np.ndarray
    intercept: np.ndarray

    def apply(self, *, score: Any, sensitive: Any) -> np.ndarray:
        """The scaled scores of people, by their scores and their attribute, or a dict of several, as the table had."""
        scores = as_floats("score", score)
        places = group_places(self.groups, sensitive)
        if places.size != scores.size:
            raise ParameterError(f"{OWNER}: score and sensitive must have one length")
        return sigmoid(self.slope[places] * scores + self.intercept[places])

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        rows = zip(self.groups, self.slope, self.intercept, strict=True)
        return {"groups": [{"group": list(g), "slope": number(a), "intercept": number(b)} for g, a, b in rows]}


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)), without overflow."""
    return np.asarray(np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), 1 - 1 / (1 + np.exp(-np.abs(x)))))


def scale_groups(scores: ScoreTable, groups: tuple[Group, ...]) -> Scaling:
    """Platt's fit of every group."""
    fits = [fit(scores.scores, negative, positive) for negative, positive in scores.effective()]
    slope, intercept = np.array(fits).reshape(-1, 2).T
    return Scaling(groups, slope, intercept)


def fit(scores: np.ndarray, negative: np.ndarray, positive: np.ndarray) -> tuple[float, float]:
    """Slope and intercept from the counts of both labels at each score: Newton's steps, halved while they overshoot."""
    zeros, ones = negative.sum(), positive.sum()
    if zeros == 0 or ones == 0:
        return np.nan, np.nan
    high, low = (ones + 1) / (ones + 2), 1 / (zeros + 2)
    n, hits = negative + positive, high * positive + low * negative
    seen = n > 0
    middle = float((n * scores).sum() / n.sum())
    spread = float(np.sqrt((n * (scores - middle) ** 2).sum() / n.sum())) or 1.0
    x = (scores - middle) / spread
    design = np.stack([x, np.ones_like(x)], axis=1)

    def loss(weights: np.ndarray) -> float:
        z = design @ weights
        return float((n * np.logaddexp(0, z) - hits * z)[seen].sum())

    weights = np.array([0.0, np.log((ones + 1) / (zeros + 1))])
    best = loss(weights)
    for _ in range(STEPS):
        p = sigmoid(design @ weights)
        gradient = design.T @ (n * p - hits)
        curvature = (design.T * (n * p * (1 - p))) @ design + 1e-12 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        while (after := loss(weights - step)) > best and np.abs(step).max() > CLOSE:
            step = step / 2
        weights, previous, best = weights - step, best, min(after, best)
        if previous - best <= CLOSE * max(1.0, abs(best)):
            break
    return float(weights[0] / spread), float(weights[1] - weights[0] * middle / spread)
