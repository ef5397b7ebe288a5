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
    return lower_limit(count, n, tail), upper_limit(count, n, tail)


def lower_limit(count: int, n: int, tail: float) -> float:
    """The Clopper-Pearson lower limit: above the probability with chance at most ``tail``. Rounded down.

    >>> round(lower_limit(5, 10, 0.025), 6), lower_limit(0, 10, 0.025)
    (0.187086, 0.0)
    """
    return _beta_limit(tail, count, n - count + 1, above=False) if count else 0.0


def upper_limit(count: int, n: int, tail: float) -> float:
    """The Clopper-Pearson upper limit: below the probability with chance at most ``tail``. Rounded up.

    >>> round(upper_limit(0, 10, 0.025), 6), upper_limit(10, 10, 0.025)
    (0.308497, 1.0)
    """
    return _beta_limit(tail, count + 1, n - count, above=True) if count < n else 1.0


def binomial_tail(count: int, n: int, probability: float) -> float:
    """The probability of at least ``count`` successes out of n.

    >>> round(binomial_tail(1, 2, 0.5), 12), binomial_tail(0, 9, 0.1)
    (0.75, 1.0)
    """
    return math.exp(_log_tail(probability, count, n - count + 1, above=False)[0]) if count else 1.0


SLACK = 2e-10
"""By how much of itself a tail is made smaller: more than the error of `_log_tail` at a billion trials, 1e-11."""


def _beta_limit(tail: float, a: float, b: float, *, above: bool) -> float:
    """The x beyond which a beta(a, b) variable lies with probability ``tail``, rounded outward.

    Newton's method on the logarithm of the tail, within a bracket. Its end with the smaller tail is the result.
    """
    target = math.log(tail) - SLACK
    mean, spread = a / (a + b), math.sqrt(a * b / (a + b + 1)) / (a + b)
    z = -NormalDist().inv_cdf(max(tail, 1e-300))
    x = mean + z * spread if above else mean - z * spread
    x = min(max(x, mean * 1e-3), 1 - (1 - mean) * 1e-3)
    far, near = (1.0, 0.0) if above else (0.0, 1.0)  # the tail beyond far is smaller than the target
    for _ in range(300):
        found, slope = _log_tail(x, a, b, above=above)
        if found <= target:
            far = x
            if found >= target - SLACK:
                break
        else:
            near = x
        step = x - (found - target + SLACK / 2) / slope if slope else math.nan
        low, high = min(far, near), max(far, near)
        x = step if low < step < high else math.sqrt(low * high) if low > 0 and high > 4 * low else (low + high) / 2
        if not low < x < high:
            break
    return min(math.nextafter(far, 2.0), 1.0) if above else max(math.nextafter(far, -1.0), 0.0)


def _log_tail(x: float, a: float, b: float, *, above: bool) -> tuple[float, float]:
    """The logarithm of the tail of a beta(a, b) variable beyond x, and its derivative, by Lentz's continued fraction.

    The density is taken in Loader's form: differences of logarithms of gamma functions would lose ten digits at a
    billion trials. [Loader 2000]
    """
    n, y = a + b, 1 - x
    excess = a - n * x if x < 0.5 else n * y - b
    front = (
        -_deviance(a, n * x, excess) - _deviance(b, n * y, -excess) + math.log(a * b / (2 * math.pi * n)) / 2
        + _stirling(n) - _stirling(a) - _stirling(b)
    )  # fmt: skip
    is_low = x < (a + 1) / (n + 2)
    tail = front + math.log(_beta_fraction(x, y, a, b) / a if is_low else _beta_fraction(y, x, b, a) / b)
    if is_low == above:
        tail = math.log1p(-math.exp(tail)) if tail < 0 else -math.inf
    slope = math.exp(min(front - tail, 700.0)) / (x * y)
    return tail, -slope if above else slope


def _deviance(count: float, mean: float, excess: float) -> float:
    """The term count ln(count / mean) - excess, for excess = count - mean, without cancellation."""
    v = excess / (count + mean)
    if abs(v) >= 0.1:
        return count * math.log(count / mean) - excess
    total, term, k = excess * v, 2 * count * v, 1
    while True:
        term *= v * v
        following = total + term / (2 * k + 1)
        if following == total:
            return total
        total, k = following, k + 1


def _stirling(z: float) -> float:
    """The logarithm of gamma(z) less Stirling's formula."""
    if z < 16:
        return math.lgamma(z) - (z - 0.5) * math.log(z) + z - math.log(2 * math.pi) / 2
    r = 1 / (z * z)
    return (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / z


FEW_TERMS = 2000


def _beta_fraction(x: float, y: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function at x = 1 - y; for few b the finite sum that it is."""
    if b <= FEW_TERMS and b == int(b):  # the fraction's first step would cancel where x is next to 1
        total = term = 1.0
        for j in range(int(b) - 1):
            term *= (b - 1 - j) / (a + 1 + j) * (x / y)
            if term < 1e-18 * total:
                break
            total += term
        return total / y
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
