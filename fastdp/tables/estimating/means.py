"""Debiased means from binned reports: scores of bins whose expectation is the value itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

AVERSION = 100.0
"""How much worse a squared bias is than as much variance."""
MOST = 1e8
"""Results beyond which corrections stay as they are, for float64 resolves no finer ones."""


@dataclass(frozen=True, slots=True, eq=False)
class ReportTally:
    """Counts of results by range, the sums of what is counted of each in itself, and the sum of their squares.

    Tallies add up. ``sums`` is zero where a result counts by its range alone.
    """

    counts: np.ndarray
    sums: np.ndarray
    squares: float

    def __add__(self, other: ReportTally) -> ReportTally:
        return ReportTally(self.counts + other.counts, self.sums + other.sums, self.squares + other.squares)

    @property
    def n(self) -> int:
        """The number of results."""
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean, its standard error, and how far its expectation can be from the truth, whatever the values are."""

    mean: float
    std_error: float
    bias: float


def plain_mean(tally: ReportTally) -> Mean:
    """The mean of results that are unbiased one by one."""
    n = tally.n
    mean = float(tally.sums.sum()) / n
    return Mean(mean, _error(tally.squares, mean, n), 0.0)


def corrected_mean(
    tally: ReportTally, probabilities: np.ndarray, values: np.ndarray, expected: np.ndarray, middles: np.ndarray
) -> Mean:
    """The mean of the results plus a correction by range, for values in [0, 1].

    ``probabilities`` has a row per entry of ``values``, which cover all possible ones; ``expected`` is what a result
    counts in itself, by value, and ``middles`` the same by range. The corrections are those that keep both small: the
    bias at every value, and the variance if all values were alike frequent.
    """
    n, weight = tally.n, AVERSION / values.size
    spread = probabilities.mean(axis=0) / min(n, MOST)
    system = weight * probabilities.T @ probabilities + np.diag(spread)
    aims = weight * probabilities.T @ (values - expected) + spread * (0.5 - middles)
    correction = np.linalg.solve(system, aims)
    bias = float(np.abs(probabilities @ correction + expected - values).max())
    mean = float(tally.sums.sum() + correction @ tally.counts) / n
    squares = tally.squares + 2 * float(correction @ tally.sums) + float(correction**2 @ tally.counts)
    return Mean(mean, _error(squares, mean, n), bias)


def _error(squares: float, mean: float, n: int) -> float:
    """The standard error of a mean; infinite from one result, which does not tell how much they vary."""
    if n < 2:
        return float("inf")
    return float(np.sqrt(max(0.0, squares / n - mean**2) / (n - 1)))
