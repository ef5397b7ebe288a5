"""Statistical tests for draws on the integers."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

SMALLEST_EXPECTED = 25


def chisquare_p(draws: np.ndarray, probabilities: np.ndarray, lowest: int, bins: int | None = None) -> float:
    """The p-value of draws against P(lowest + i) = probabilities[i].

    Rare outcomes, and all others, are pooled. With ``bins``, neighbours are pooled into about that many bins of equal
    mass: less detail, and more power against a law that is off as a whole.
    """
    inside = draws[(draws >= lowest) & (draws < lowest + probabilities.size)] - lowest
    seen = np.bincount(inside.astype(np.int64), minlength=probabilities.size)
    expected = probabilities * draws.size
    if bins is not None:
        label = np.minimum((np.cumsum(probabilities) * bins).astype(np.int64), bins)
        seen, expected = np.bincount(label, seen), np.bincount(label, expected)
    common = expected >= SMALLEST_EXPECTED
    seen = np.append(seen[common], draws.size - seen[common].sum())
    expected = np.append(expected[common], draws.size - expected[common].sum())
    if expected[-1] < 1:
        # What is left is too little to test by itself: give it to the last bin.
        seen, expected = np.append(seen[:-2], seen[-2:].sum()), np.append(expected[:-2], expected[-2:].sum())
    statistic = ((seen - expected) ** 2 / expected).sum()
    return float(chi2.sf(statistic, expected.size - 1))
