"""Thresholds per group at the best profit, for criteria that ask one rate to be equal: exact on the score table.

With mixtures of two thresholds a group's profit is a concave, piecewise linear function of its rate, and so is the best
sum of profits as a function of the lowest rate, whose corners are those of the groups: the best corner is the
best of all.
"""

from __future__ import annotations

import numpy as np

from fastdp.fairness.achieving.hulls import Hull
from fastdp.fairness.achieving.policies import Economics
from fastdp.fairness.rates import divide

RATE_OF = {"independence": "selection", "equal_opportunity": "tpr", "predictive_equality": "fpr"}
"""The rate that each criterion asks to be equal."""


def rate_of(above: np.ndarray, rate: str) -> np.ndarray:
    """The rate [group, threshold] among those above each threshold, from counts [group, label, threshold]."""
    counts = above.sum(axis=1) if rate == "selection" else above[:, int(rate == "tpr")]
    return divide(counts, np.broadcast_to(counts[:, :1], counts.shape))


def best_chances(above: np.ndarray, economics: Economics) -> np.ndarray:
    """The best threshold of every group by itself, as chances [group, score]."""
    profits = economics.profit(above[:, 0], above[:, 1])
    last = profits.shape[1] - 1 - np.argmax(profits[:, ::-1], axis=1)  # of equal profits the strictest
    return np.asarray(np.arange(profits.shape[1] - 1)[None, :] >= last[:, None], float)


def single_chances(above: np.ndarray, economics: Economics) -> np.ndarray:
    """The best threshold that all groups have in common."""
    pooled = best_chances(above.sum(axis=0, keepdims=True), economics)
    return np.repeat(pooled, above.shape[0], axis=0)


def mixed_chances(above: np.ndarray, rate: str, economics: Economics, tolerance: float) -> np.ndarray:
    """The best mixtures of thresholds whose rates are at most ``tolerance`` apart."""
    rates, profits = rate_of(above, rate), economics.profit(above[:, 0], above[:, 1])
    bound = ~np.isnan(rates).any(axis=1)
    chances = best_chances(above, economics)
    hulls = {group: Hull.over(rates[group], profits[group]) for group in np.flatnonzero(bound)}
    if not hulls:
        return chances
    corners = np.concatenate([hull.x for hull in hulls.values()])
    lowest = np.unique(np.clip(np.concatenate([corners, corners - tolerance]), 0, max(1 - tolerance, 0)))
    total = sum(hull.height(np.clip(hull.peak, lowest, lowest + tolerance)) for hull in hulls.values())
    best = float(lowest[int(np.argmax(total))])
    for group, hull in hulls.items():
        chances[group] = hull.chances(float(np.clip(hull.peak, best, best + tolerance)), chances.shape[1])
    return chances


def plain_chances(above: np.ndarray, rate: str, economics: Economics, tolerance: float) -> np.ndarray:
    """The best single thresholds whose rates are at most ``tolerance`` apart; nobody at all is always among them."""
    rates, profits = rate_of(above, rate), economics.profit(above[:, 0], above[:, 1])
    bound = np.flatnonzero(~np.isnan(rates).any(axis=1))
    chances = best_chances(above, economics)
    if not bound.size:
        return chances
    lowest = np.unique(rates[bound])
    total, chosen = np.zeros(lowest.size), np.empty((bound.size, lowest.size), np.int64)
    for i, group in enumerate(bound):
        values, heights = rates[group, ::-1], profits[group, ::-1]  # rising
        first = np.searchsorted(values, lowest)
        stop = np.searchsorted(values, lowest + tolerance * (1 + 1e-12), "right")
        chosen[i] = _largest(heights, first, stop)
        total += np.where(chosen[i] >= 0, heights[chosen[i]], -np.inf)
        chosen[i] = values.size - 1 - chosen[i]
    best = int(np.argmax(total))
    for i, group in enumerate(bound):
        chances[group] = np.arange(chances.shape[1]) >= chosen[i, best]
    return chances


def _largest(heights: np.ndarray, first: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """The place of the largest height in each range [first, stop), -1 where it is empty: a sparse table."""
    levels = [np.arange(heights.size)]
    while 2 ** len(levels) <= heights.size:
        step, below = 2 ** (len(levels) - 1), levels[-1]
        left, right = below[:-step], below[step:]
        levels.append(np.where(heights[left] >= heights[right], left, right))
    found = np.full(first.size, -1)
    for i in np.flatnonzero(stop > first):
        level = int(stop[i] - first[i]).bit_length() - 1
        left, right = levels[level][first[i]], levels[level][stop[i] - 2**level]
        found[i] = left if heights[left] >= heights[right] else right
    return found
