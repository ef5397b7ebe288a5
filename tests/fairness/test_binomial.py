"""Intervals of binomial probabilities, against scipy and published values."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import stats

from fastdp.binomial import clopper_pearson, lower_limit, score_interval, upper_limit

PUBLISHED = [
    (0, 10, 0.95, 0, 0.308497), (5, 10, 0.95, 0.187086, 0.812914), (1, 20, 0.95, 0.001265, 0.248733),
    (0, 10**9, 1 - 1e-6, 0, 1.450866e-8), (5 * 10**8, 10**9, 1 - 1e-6, 0.499922656, 0.500077344),
]  # fmt: skip


@pytest.mark.parametrize(("count", "n", "level", "low", "high"), PUBLISHED)
def test_clopper_pearson__is_as_published(count, n, level, low, high):
    found = clopper_pearson(count, n, level)
    assert found == (
        pytest.approx(low, rel=1e-6, abs=5e-7),
        pytest.approx(high, rel=1e-6, abs=5e-10 if n > 99 else 5e-7),
    )


@pytest.mark.parametrize("n", [1, 7, 40, 3000])
def test_clopper_pearson__agrees_with_beta_quantiles(n):
    for count in {0, 1, n // 3, n // 2, n - 1, n}:
        for level in (0.5, 0.95, 0.999999):
            low, high = clopper_pearson(count, n, level)
            tail = (1 - level) / 2
            assert low == (pytest.approx(stats.beta.ppf(tail, count, n - count + 1), rel=1e-9) if count else 0)
            assert high == (pytest.approx(stats.beta.ppf(1 - tail, count + 1, n - count), rel=1e-9) if count < n else 1)


def coverage(interval, n, p):
    """The exact probability to cover, by enumeration."""
    counts = np.arange(n + 1)
    return sum(stats.binom.pmf(count, n, p) for count in counts if interval(count, n)[0] <= p <= interval(count, n)[1])


@pytest.mark.parametrize("n", [5, 23, 40])
def test_clopper_pearson__covers_whatever_the_probability(n):
    """A mutant, Wilson's interval, does not."""
    places = [0.003, 0.01, 0.05, 0.11, 0.3, 0.5, 0.81, 0.995]
    assert all(coverage(lambda x, m: clopper_pearson(x, m, 0.95), n, p) >= 0.95 for p in places)
    assert not all(coverage(lambda x, m: score_interval(x, m, 1.959964), n, p) >= 0.95 for p in places)


def test_score_interval__is_wilsons():
    assert np.round(score_interval(np.array([0, 15]), np.array([20, 148]), 1.959964), 6).tolist() == [
        [0.0, 0.062386], [0.161125, 0.160487],
    ]  # fmt: skip


def log_tail(x: float, a: int, b: int) -> mpmath.mpf:
    """The logarithm of the regularised incomplete beta function, to 40 digits, by its continued fraction from below."""
    x, a, b = map(mpmath.mpf, (x, a, b))
    front = a * mpmath.log(x) + b * mpmath.log1p(-x) + mpmath.loggamma(a + b) - mpmath.loggamma(a) - mpmath.loggamma(b)
    steps, fraction = 400, mpmath.mpf(1)
    for m in range(steps, 0, -1):
        fraction = 1 + m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)) / fraction
        fraction = 1 - (a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1)) / fraction
    return front - mpmath.log(a * fraction)


@pytest.mark.parametrize("n", [10, 1000, 10**6, 10**9])
@pytest.mark.parametrize("tail", [0.025, 5e-7, 1e-12])
def test_limits__are_rounded_outward(n, tail):
    """To 40 digits their tails are at most what was asked, and by a billionth at most less.

    A mutant that rounds the other way by as much is caught.
    """
    with mpmath.workdps(60):
        wanted = mpmath.log(tail)
        for count in {1, 2, n // 1000 + 3, n // 7, n // 2}:
            low, high = lower_limit(count, n, tail), upper_limit(count, n, tail)
            below = log_tail(low, count, n - count + 1)
            above = log_tail(1 - mpmath.mpf(high), n - count, count + 1)
            for found in (below, above):
                assert wanted - 1e-8 < found <= wanted
            assert log_tail(low * (1 + 1e-8), count, n - count + 1) > wanted
            assert log_tail(1 - mpmath.mpf(high) * (1 - 1e-8), n - count, count + 1) > wanted


def test_limits__of_all_or_none_are_certain():
    assert (lower_limit(0, 9, 0.1), upper_limit(9, 9, 0.1)) == (0.0, 1.0)
    assert upper_limit(0, 10**9, 5e-7) == pytest.approx(1.450866e-8, rel=1e-6)
