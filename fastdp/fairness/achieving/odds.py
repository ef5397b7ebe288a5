"""Equalized odds at the best profit: a point under the ROC hulls of all groups, reached by mixing thresholds.

What a group can reach is everything from the diagonal, a coin, up to the hull of its ROC curve. The best common point
lies on the lowest of the hulls. [Hardt, Price, Srebro 2016]
"""

from __future__ import annotations

import itertools

import numpy as np

from fastdp.fairness.achieving.hulls import Hull
from fastdp.fairness.achieving.policies import Economics
from fastdp.fairness.achieving.thresholds import best_chances, rate_of


def odds_chances(above: np.ndarray, economics: Economics, tolerance: float) -> np.ndarray:
    """The best mixtures whose false and true positive rates are each at most ``tolerance`` apart."""
    fpr, tpr = rate_of(above, "fpr"), rate_of(above, "tpr")
    bound = np.flatnonzero(~np.isnan(fpr).any(axis=1) & ~np.isnan(tpr).any(axis=1))
    chances = best_chances(above, economics)
    if not bound.size:
        return chances
    hulls = [Hull.over(fpr[group], tpr[group]) for group in bound]
    totals = above[bound, :, 0]
    if tolerance == 0:
        points = np.tile(_common_point(hulls, *economics_of(totals, economics)), (bound.size, 1))
    else:
        points = _near_points(hulls, totals, economics, tolerance)
    for group, hull, (x, y) in zip(bound, hulls, points, strict=True):
        top = float(hull.height(x))
        weight = (y - x) / (top - x) if top > x else 1.0
        coin = np.full(chances.shape[1], x)
        chances[group] = np.clip(weight * hull.chances(x, chances.shape[1]) + (1 - weight) * coin, 0, 1)
    return chances


def economics_of(totals: np.ndarray, economics: Economics) -> tuple[float, float]:
    """What a unit of the true positive rate brings, and one of the false positive rate costs, over all groups."""
    return float(economics.gain * totals[:, 1].sum()), float(economics.cost * totals[:, 0].sum())


def _common_point(hulls: list[Hull], gain: float, cost: float) -> tuple[float, float]:
    """The best point on the lowest hull: a corner, or a crossing next to the best corner, for profit is concave."""
    corners = np.unique(np.concatenate([hull.x for hull in hulls]))

    def lowest(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.min([hull.height(x) for hull in hulls], axis=0))

    best = int(np.argmax(gain * lowest(corners) - cost * corners))
    places = [corners[best]]
    for left, right in itertools.pairwise(corners[max(best - 1, 0) : best + 2]):
        ends = np.array([[float(hull.height(left)), float(hull.height(right))] for hull in hulls])
        for (a, b), (c, d) in itertools.combinations(ends, 2):
            if (a - c) * (b - d) < 0:
                places.append(left + (right - left) * (a - c) / ((a - c) - (b - d)))
    found = np.array(places)
    heights = lowest(found)
    winner = int(np.argmax(gain * heights - cost * found))
    return float(found[winner]), float(heights[winner])


def _near_points(hulls: list[Hull], totals: np.ndarray, economics: Economics, tolerance: float) -> np.ndarray:
    """The best points that are at most the tolerance apart: a linear programme."""
    from fastdp import optional
    from fastdp.fairness.encoding import OWNER

    linprog = optional.load(f"{OWNER}: separation with a tolerance", "scipy.optimize", extra="optimal").linprog
    size = len(hulls)  # variables: x and y of each group, then the lowest x and y
    rows, limits = [], []

    def add(terms: dict[int, float], limit: float) -> None:
        row = np.zeros(2 * size + 2)
        for place, value in terms.items():
            row[place] += value
        rows.append(row)
        limits.append(limit)

    for i, hull in enumerate(hulls):
        x, y = 2 * i, 2 * i + 1
        for (a, b), (c, d) in itertools.pairwise(zip(hull.x, hull.y, strict=True)):
            slope = (d - b) / (c - a)
            add({y: 1.0, x: -slope}, b - slope * a)
        add({x: 1.0, y: -1.0}, 0.0)
        for one, low in ((x, 2 * size), (y, 2 * size + 1)):
            add({low: 1.0, one: -1.0}, 0.0)
            add({one: 1.0, low: -1.0}, tolerance)
    worth = np.zeros(2 * size + 2)
    worth[0 : 2 * size : 2], worth[1 : 2 * size : 2] = economics.cost * totals[:, 0], -economics.gain * totals[:, 1]
    found = linprog(worth / totals.sum(), A_ub=np.array(rows), b_ub=np.array(limits), bounds=(0, 1), method="highs")
    return np.asarray(np.clip(found.x[: 2 * size], 0, 1).reshape(size, 2))
