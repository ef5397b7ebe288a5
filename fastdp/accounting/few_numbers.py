"""E S+ of a sum S of at most a thousand numbers of few values, by adding up over how many there are of each value.

One value is positive, and at most two are negative. How many are positive and how many the first negative value is
gone through one by one; the second negative one's part is a binomial sum, A P(C <= t) - u E[C; C <= t], from tables of
both for every N. Counts that are all together less than a hundred-millionth of the sum are left out.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from fastdp.accounting.factors import UNIT

MOST = 1000
LEFT_OUT = 1e-8
"""Of the sum, at the most."""
OFF = 1e-10
"""Relative error of a probability: logarithms of factorials are right to 1e-12, powers to n * 24 units and 1e-11.

Windows are chosen by probabilities that may be off by more: what they leave out is counted twice.
"""


@functools.cache
def log_factorials() -> np.ndarray:
    """Of 0 to `MOST`, each rounded from the exact integer."""
    return np.array([math.log(math.factorial(count)) for count in range(MOST + 1)])


def sum_over_counts(
    values: np.ndarray, masses: np.ndarray, spans: np.ndarray, n: int, about: float
) -> tuple[float, float]:
    """Bounds on E[S+] for the atoms of `positive_part`, n at most `MOST`; it is ``about`` so large."""
    positive, negative = np.flatnonzero(values > 0), np.flatnonzero(values < 0)
    if positive.size != 1 or not 1 <= negative.size <= 2:
        return 0.0, math.inf
    gain, first = float(values[positive[0]]), float(-values[negative[0]])
    m_gain, m_first = float(masses[positive[0]]), float(masses[negative[0]])
    rest = float(np.delete(masses, [positive[0], negative[0]]).sum())  # and not 1 less the others: that cancels
    least = -n * float(spans.max()) * 64 * UNIT
    most = (n + 1.0) ** 3 * n * gain
    cut = math.log(max(about, 1e-290)) + math.log(LEFT_OUT / most)
    gains, firsts = (_window(n, (mass, 1 - mass), cut) for mass in (m_gain, m_first))
    gains, firsts = np.meshgrid(gains, firsts, indexing="ij")
    kept = (gains * gain - firsts * first > least) & (gains + firsts <= n)
    gains, firsts = gains[kept], firsts[kept]
    logs = _log_trinomial(n, gains, firsts, (m_gain, m_first, rest))
    kept = logs > cut
    gains, firsts, chances = gains[kept], firsts[kept], np.exp(logs[kept])
    amounts = np.maximum(gains * gain - firsts * first, 0.0)
    if negative.size == 1:
        terms, size, likely = amounts, amounts, np.ones(amounts.size)
    else:
        second, shares = float(-values[negative[1]]), (masses[negative[1]] / rest, masses[values == 0].sum() / rest)
        terms, size, likely = _binomial_parts(n - gains - firsts, amounts, second, shares, cut)
    found = float((chances * terms).sum())
    slack = OFF * float((chances * size).sum()) - least * float((chances * likely).sum())
    return max(0.0, found - slack), found + slack + 2 * math.exp(cut) * most


def _log_trinomial(n: int, a: np.ndarray, b: np.ndarray, masses: tuple[float, float, float]) -> np.ndarray:
    factorials, others = log_factorials(), n - a - b
    logs = factorials[n] - factorials[a] - factorials[b] - factorials[others]
    logs += a * math.log(masses[0]) + b * math.log(masses[1])
    return np.asarray(logs + others * math.log(masses[2]) if masses[2] > 0 else np.where(others > 0, -math.inf, logs))


def _window(n: int, shares: tuple[float, float], cut: float) -> np.ndarray:
    """Counts of the binomial of ``n`` and these shares, of hits and of others, with a log-probability above ``cut``."""
    counts = np.arange(n + 1)
    return counts[_log_binomial(n, counts, shares) > cut]


def _log_binomial(n: int | np.ndarray, counts: np.ndarray, shares: tuple[float, float]) -> np.ndarray:
    factorials, others = log_factorials(), n - counts
    logs = factorials[n] - factorials[counts] - factorials[others] + counts * math.log(shares[0])
    return np.asarray(logs + others * math.log(shares[1]) if shares[1] > 0 else np.where(others > 0, -math.inf, logs))


def _binomial_parts(
    lefts: np.ndarray, amounts: np.ndarray, unit: float, shares: tuple[float, float], cut: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E[(A - unit C)+] for the binomial C of each N, and each A; the sizes of its two parts; P(C <= A / unit + 1)."""
    steps = np.floor(amounts / unit).astype(np.int64)
    if not lefts.size:
        return amounts, amounts, amounts
    least, most = int(lefts.min()), int(lefts.max())
    low = int(_window(least, shares, cut)[0])
    high = min(int(_window(most, shares, cut)[-1]), max(int(steps.max()) + 1, low))
    counts, sizes = np.arange(low, high + 1), np.arange(least, most + 1)[:, None]
    chances = np.exp(_log_binomial(sizes, np.minimum(counts, sizes), shares))
    chances[counts > sizes] = 0.0
    below = np.cumsum(np.pad(chances, ((0, 0), (1, 0))), axis=1)
    weighed = np.cumsum(np.pad(chances * counts, ((0, 0), (1, 0))), axis=1)
    row, at = lefts - least, np.clip(steps, low - 1, high) - low + 1
    kept, lost = amounts * below[row, at], unit * weighed[row, at]
    return kept - lost, kept + lost, below[row, np.minimum(at + 1, counts.size)]
