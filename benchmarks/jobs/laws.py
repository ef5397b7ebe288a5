"""The exact laws that outputs are held to before they are timed, and the test that holds them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

MOST_DRAWS = 1_000_000
FINE, COARSE = 256, 16
"""Numbers of bins: many see a fault in one place or in a tail, few see a wrong scale (1 % of it, in a million draws,
has p = 0.001 with fine bins and below 1e-9 with coarse ones)."""
SMALLEST_BIN = 10
"""Draws that a bin must expect, for the chi-square law to hold."""


@dataclass(frozen=True)
class Law:
    """A law on the line: P(X <= x), and the smallest x at which it reaches q."""

    cdf: Callable[[np.ndarray], np.ndarray]
    quantile: Callable[[np.ndarray], np.ndarray]


def _of(distribution: Any) -> Law:
    return Law(distribution.cdf, distribution.ppf)


def _discrete_gaussian(sigma: float) -> Law:
    """P(z) ~ e**(-z**2 / (2 sigma**2)) on the integers."""
    reach = math.ceil(40 * sigma)
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma * sigma))
    cumulative = np.cumsum(weights) / weights.sum()
    return Law(
        lambda x: cumulative[np.clip(np.floor(x).astype(np.int64) + reach, 0, 2 * reach)],
        lambda q: np.searchsorted(cumulative, q) - reach,
    )


def _rounded(distribution: Any) -> Law:
    """A real number, rounded: what others have in place of a discrete law."""
    return Law(lambda x: distribution.cdf(np.floor(x) + 0.5), lambda q: np.ceil(distribution.ppf(q) - 0.5))


def _krr(mechanism: Any) -> Law:
    """How far a report lies behind the truth, modulo k: 0 with probability p, every other distance with q."""
    p, q, most = mechanism.p, mechanism.q, mechanism.domain.size - 1
    return Law(
        lambda x: p + q * np.clip(np.floor(x), 0, most),
        lambda u: np.clip(np.ceil((u - p) / q - 1e-9), 0, most),
    )


LAWS: dict[str, Callable[[Any], Law]] = {
    "krr": _krr,
    "laplace": lambda scale: _of(stats.laplace(scale=scale)),
    "geometric": lambda scale: _of(stats.dlaplace(1 / scale)),
    "gaussian": lambda sigma: _of(stats.norm(scale=sigma)),
    "discrete-gaussian": _discrete_gaussian,
    "rounded-gaussian": lambda sigma: _rounded(stats.norm(scale=sigma)),
    "rounded-laplace": lambda scale: _rounded(stats.laplace(scale=scale)),
    "keystream": lambda _: _of(stats.randint(0, 256)),
}


def _bins(law: Law, count: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Upper edges of about ``number`` equal bins, their ends halved toward both tails if fine; and probabilities."""
    halvings = max(0, int(math.log2(count / (SMALLEST_BIN * number))) + 1) if number == FINE else 0
    tail = 0.5 ** np.arange(halvings) / number
    body = np.arange(1, number) / number
    edges = np.unique(law.quantile(np.concatenate([tail, body, 1 - tail])))
    kept, reached = [], 0.0
    for edge, cumulative in zip(edges, law.cdf(edges), strict=True):
        if min(cumulative - reached, 1 - cumulative) * count >= SMALLEST_BIN:
            kept.append(edge)
            reached = cumulative
    upper = np.array(kept)
    return upper, np.diff(law.cdf(upper), prepend=0.0, append=1.0)


def p_value(law: Law, draws: np.ndarray) -> float:
    """How probable draws this far from the law are, by chi-square on up to a million of them, spread evenly.

    The smaller p-value of fine and coarse bins, doubled because there were two chances.
    """
    draws = draws[:: -(-draws.size // MOST_DRAWS)]
    found = []
    for number in (FINE, COARSE):
        upper, probabilities = _bins(law, draws.size, number)
        seen = np.bincount(np.searchsorted(upper, draws, side="left"), minlength=upper.size + 1)
        found.append(float(stats.chisquare(seen, probabilities * draws.size).pvalue))
    return min(1.0, 2 * min(found))
