"""Tests of independence between groups and outcomes: the G test, and Cochran, Mantel and Haenszel's over strata."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class IndependenceTest:
    """A statistic that follows a chi-square law if groups and outcomes are independent."""

    name: str
    statistic: float
    degrees: int
    p_value: float


def chi_square_tail(x: float, degrees: int) -> float:
    """The probability of a chi-square variable to exceed x, in closed form.

    >>> round(chi_square_tail(3.841459, 1), 6), round(chi_square_tail(5.991465, 2), 6)
    (0.05, 0.05)
    """
    if degrees == 0:
        return 1.0
    half = x / 2
    if half <= 0:
        return 1.0
    odd = degrees % 2
    tail = math.erfc(math.sqrt(half)) if odd else 0.0
    powers = [j + odd / 2 for j in range(degrees // 2)]
    return min(1.0, tail + sum(math.exp(-half + j * math.log(half) - math.lgamma(j + 1)) for j in powers))


def g_test(strata: np.ndarray) -> IndependenceTest:
    """The likelihood-ratio test that groups and outcomes are independent within every stratum.

    ``strata`` is [stratum, group, outcome]. Empty groups and outcomes take no degree of freedom.
    """
    statistic, degrees = 0.0, 0
    for table in strata:
        seen = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        if min(seen.shape) < 2:
            continue
        expected = seen.sum(axis=1, keepdims=True) * seen.sum(axis=0, keepdims=True) / seen.sum()
        statistic += 2 * float((seen * np.log(np.where(seen > 0, seen / expected, 1.0))).sum())
        degrees += (seen.shape[0] - 1) * (seen.shape[1] - 1)
    return IndependenceTest("G test", max(statistic, 0.0), degrees, chi_square_tail(statistic, degrees))


def cochran_mantel_haenszel(strata: np.ndarray) -> IndependenceTest:
    """The test that a binary outcome has one distribution in all groups within strata, against a common direction.

    ``strata`` is [stratum, group, 2]; for two groups it is the classical statistic without continuity correction.
    [Mantel, Haenszel 1959; Landis, Heyman, Koch 1978]
    """
    groups = strata.shape[1]
    surplus, spread = np.zeros(groups), np.zeros((groups, groups))
    for table in strata:
        sizes, positive, n = table.sum(axis=1), table[:, 1].sum(), table.sum()
        if n < 2:
            continue
        surplus += table[:, 1] - sizes * positive / n
        mixing = (n * np.diag(sizes) - np.outer(sizes, sizes)) / (n * n)
        spread += positive * (n - positive) / (n - 1) * mixing
    inverse = np.linalg.pinv(spread, hermitian=True)
    degrees = int(np.linalg.matrix_rank(spread, hermitian=True))
    statistic = float(surplus @ inverse @ surplus)
    return IndependenceTest("Cochran-Mantel-Haenszel", statistic, degrees, chi_square_tail(statistic, degrees))
