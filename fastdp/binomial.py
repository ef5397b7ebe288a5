"""Confidence intervals of binomial probabilities."""

from __future__ import annotations

import functools
import math
from statistics import NormalDist

import numpy as np

FEW = 10
"""Counts up to which an end is Poisson's."""


def normal_quantile(level: float, count: int = 1) -> float:
    """The two-sided z of a confidence level, for ``count`` intervals that hold together.

    >>> round(normal_quantile(0.95), 6), round(normal_quantile(0.95, 8), 3)
    (1.959964, 2.734)
    """
    return NormalDist().inv_cdf(1 - (1 - level) / (2 * count))


def score_interval(counts: np.ndarray, n: np.ndarray | float, z: float) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's score interval as published, which covers its level on average over probabilities. [Wilson 1927]"""
    share, extra = counts / n, z * z / n
    centre = (share + extra / 2) / (1 + extra)
    half = np.sqrt(extra * (share * (1 - share) + extra / 4)) / (1 + extra)
    return centre - half, centre + half


def wilson(counts: np.ndarray, n: float, z: float) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's score interval for the probability of each of some binomial counts out of n.

    Next to 0 and 1 it would cover less than its level: counts of up to ten get the exact end of a Poisson count
    instead, if that is further out. [Brown, Cai, DasGupta 2001]
    """
    below, above = score_interval(counts, n, z)
    few = np.array([0.0, *(_least_poisson(x, z) for x in range(1, FEW + 1)), math.inf])
    low = np.minimum(below, _few(few, counts) / n)
    high = np.maximum(above, 1 - _few(few, n - counts) / n)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def _few(few: np.ndarray, counts: np.ndarray) -> np.ndarray:
    found: np.ndarray = few[np.clip(counts, 0, FEW + 1).astype(np.int64)]
    return found


@functools.cache
def _least_poisson(count: int, z: float) -> float:
    """The smallest mean of a Poisson variable that reaches ``count`` with the probability beyond z of a normal one."""
    tail, low, high = NormalDist().cdf(-z), 0.0, float(count)
    for _ in range(60):
        mean = (low + high) / 2
        below = math.exp(-mean) * sum(mean**x / math.factorial(x) for x in range(count))
        low, high = (mean, high) if 1 - below < tail else (low, mean)
    return low


def clopper_pearson(count: int, n: int, level: float) -> tuple[float, float]:
    """The exact interval of a binomial probability: it covers at least its level, whatever the probability.

    >>> [round(end, 6) for end in clopper_pearson(5, 10, 0.95)]
    [0.187086, 0.812914]
    """
    tail = (1 - level) / 2
    low = _beta_quantile(tail, count, n - count + 1) if count else 0.0
    high = 1 - _beta_quantile(tail, n - count, count + 1) if count < n else 1.0
    return low, high


def _beta_quantile(tail: float, a: float, b: float) -> float:
    """The x below which a beta(a, b) variable lies with probability ``tail``, rounded down: Newton within a bracket."""
    low, high = 0.0, 1.0
    mean, spread = a / (a + b), math.sqrt(a * b / (a + b + 1)) / (a + b)
    x = min(max(mean + NormalDist().inv_cdf(tail) * spread, mean * 1e-3), 1 - (1 - mean) * 1e-3)
    for _ in range(200):
        below, density = _beta_cdf(x, a, b)
        low, high = (x, high) if below < tail else (low, x)
        step = x - (below - tail) / density if density else math.nan
        previous, x = x, step if low < step < high else (low + high) / 2
        if abs(x - previous) <= 1e-15 * x:
            break
    return max(0.0, x * (1 - 1e-14))


def _beta_cdf(x: float, a: float, b: float) -> tuple[float, float]:
    """The regularised incomplete beta function and its derivative, by Lentz's continued fraction."""
    whole = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    front = math.exp(whole)
    density = front / (x * (1 - x))
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(x, a, b) / a, density
    return 1 - front * _beta_fraction(1 - x, b, a) / b, density


def _beta_fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    result = d
    for m in range(1, 10**6):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / (1 + even * d), 1 + even / c
        result *= d * c
        d, c = 1 / (1 + odd * d), 1 + odd / c
        result *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return result
