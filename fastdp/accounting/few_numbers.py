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
"""Relative error of a probability: logarithms of factorials are right to 1e-12, powers to n * 24 units and 1e-11."""


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
    rest = 1 - m_gain - m_first
    least = -n * float(spans.max()) * 64 * UNIT
    most = (n + 1.0) ** 3 * n * gain
    cut = math.log(max(about, 1e-290)) + math.log(LEFT_OUT / most)
    gains, firsts = (_window(n, mass, cut) for mass in (m_gain, m_first))
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
        second, m_second = float(-values[negative[1]]), float(masses[negative[1]])
        terms, size, likely = _binomial_parts(n - gains - firsts, amounts, second, m_second / rest, cut)
    found = float((chances * terms).sum())
    slack = OFF * float((chances * size).sum()) - least * float((chances * likely).sum())
    return max(0.0, found - slack), found + slack + math.exp(cut) * most


def _log_trinomial(n: int, a: np.ndarray, b: np.ndarray, masses: tuple[float, float, float]) -> np.ndarray:
    factorials, others = log_factorials(), n - a - b
    logs = factorials[n] - factorials[a] - factorials[b] - factorials[others]
    logs += a * math.log(masses[0]) + b * math.log(masses[1])
    return np.asarray(logs + others * math.log(masses[2]) if masses[2] > 0 else np.where(others > 0, -math.inf, logs))


def _window(n: int, mass: float, cut: float) -> np.ndarray:
    """Counts of Bin(n, mass) whose probability has a logarithm above ``cut``."""
    counts = np.arange(n + 1)
    return counts[_log_binomial(n, counts, mass) > cut]


def _log_binomial(n: int | np.ndarray, counts: np.ndarray, mass: float) -> np.ndarray:
    factorials = log_factorials()
    logs = factorials[n] - factorials[counts] - factorials[n - counts] + counts * math.log(mass)
    other = 1 - mass
    return np.asarray(logs + (n - counts) * math.log(other) if other > 0 else np.where(counts < n, -math.inf, logs))


def _binomial_parts(
    lefts: np.ndarray, amounts: np.ndarray, unit: float, mass: float, cut: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E[(A - unit C)+] for C of Bin(N, mass), for each N and A; the sizes of its two parts, and P(C <= A / unit)."""
    steps = np.floor(amounts / unit).astype(np.int64)
    if not lefts.size:
        return amounts, amounts, amounts
    least, most = int(lefts.min()), int(lefts.max())
    low = int(_window(least, mass, cut)[0])
    high = min(int(_window(most, mass, cut)[-1]), max(int(steps.max()), low))
    counts, sizes = np.arange(low, high + 1), np.arange(least, most + 1)[:, None]
    chances = np.exp(_log_binomial(sizes, np.minimum(counts, sizes), mass))
    chances[counts > sizes] = 0.0
    below = np.cumsum(np.pad(chances, ((0, 0), (1, 0))), axis=1)
    weighed = np.cumsum(np.pad(chances * counts, ((0, 0), (1, 0))), axis=1)
    at = lefts - least, np.clip(steps, low - 1, high) - low + 1
    kept, lost = amounts * below[at], unit * weighed[at]
    return kept - lost, kept + lost, below[at]
