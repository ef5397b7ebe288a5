"""The largest gap and the smallest ratio between groups, with intervals that hold for all pairs of groups together.

The percentile bootstrap of "largest minus smallest" covers nothing when groups are equal: resampling can only move it
up. Here every pair gets its own interval at a level divided by the number of pairs, so that all of them hold together,
and with them those of the largest gap and of the smallest ratio.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp.binomial import normal_quantile
from fastdp.fairness.rates import divide, number, rate_interval

Group = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Contrast:
    """A gap or a ratio between the groups with the largest and the smallest rate, and its simultaneous interval.

    ``value`` is over the groups whose rate is defined, NaN if they are fewer than two; ``undefined`` names the others,
    and the interval allows them any rate.
    """

    kind: str
    rate: str
    value: float
    low: float
    high: float
    level: float
    largest: Group | None
    smallest: Group | None
    undefined: tuple[Group, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        return {
            "kind": self.kind, "rate": self.rate, "value": number(self.value), "low": self.low, "high": self.high,
            "level": self.level, "largest": self.largest and list(self.largest),
            "smallest": self.smallest and list(self.smallest), "undefined": [list(group) for group in self.undefined],
        }  # fmt: skip

    def __str__(self) -> str:
        value = "undefined" if np.isnan(self.value) else f"{self.value:.4f}"
        return f"{self.kind} of {self.rate}: {value} [{self.low:.4f}, {self.high:.4f}]"


def newcombe(counts: np.ndarray, sizes: np.ndarray, level: float, intervals: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Newcombe's hybrid score interval for the difference of every pair of rates, first minus second.

    A rate that is undefined may be anything from 0 to 1. [Newcombe 1998, method 10]
    """
    low, high = rate_interval(counts, sizes, level, "wilson", intervals)
    rates = divide(counts, sizes)
    gaps = rates[:, None] - rates[None, :]
    down = gaps - np.hypot((rates - low)[:, None], (high - rates)[None, :])
    up = gaps + np.hypot((high - rates)[:, None], (rates - low)[None, :])
    free = np.isnan(gaps)
    return np.where(free, low[:, None] - high[None, :], down), np.where(free, high[:, None] - low[None, :], up)


def koopman(counts: np.ndarray, sizes: np.ndarray, level: float, intervals: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Koopman's score interval for the ratio of every pair of rates, first over second; [0, inf] if one is undefined.

    The ends are the ratios at which the score statistic meets its quantile, by bisection on a logarithmic scale.
    [Koopman 1984]
    """
    squared = normal_quantile(level, intervals) ** 2
    (x, m), (y, n) = _pairs(counts, sizes, 0), _pairs(counts, sizes, 1)
    estimate = np.where(y > 0, divide(x * n, np.maximum(y * m, 0)), np.inf)
    estimate = np.where((x == 0) & (y == 0), np.nan, estimate)
    low = _end(x, m, y, n, estimate, squared, -1.0)
    high = _end(x, m, y, n, estimate, squared, 1.0)
    free = np.isnan(estimate) | (m == 0) | (n == 0)
    return np.where(free | (x == 0), 0.0, low), np.where(free | (y == 0), np.inf, high)


def _pairs(counts: np.ndarray, sizes: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    shape = (len(counts), len(counts))
    turned = (counts[:, None], sizes[:, None]) if axis == 0 else (counts[None, :], sizes[None, :])
    return np.broadcast_to(turned[0], shape).astype(float), np.broadcast_to(turned[1], shape).astype(float)


WIDEST = 80.0
"""Logarithm of the largest ratio that is looked at."""


def _end(x: Any, m: Any, y: Any, n: Any, estimate: np.ndarray, squared: float, sign: float) -> np.ndarray:
    """The ratio beyond which the statistic is too large, on one side of the estimate."""
    with np.errstate(all="ignore"):
        inner = np.clip(np.nan_to_num(np.log(estimate), nan=0.0, posinf=WIDEST, neginf=-WIDEST), -WIDEST, WIDEST)
        outer = np.full(inner.shape, sign * WIDEST)
        for _ in range(80):
            middle = (inner + outer) / 2
            fits = _score(x, m, y, n, np.exp(middle)) <= squared
            inner, outer = np.where(fits, middle, inner), np.where(fits, outer, middle)
        return np.asarray(np.exp(outer))


def _score(x: Any, m: Any, y: Any, n: Any, ratio: np.ndarray) -> np.ndarray:
    """Koopman's chi-square statistic of a ratio, with the likeliest rates that have it.

    The second rate is the smaller root of a quadratic, in the form that does not cancel where the ratio is small.
    """
    b = ratio * (m + y) + x + n
    second = 2 * (x + y) / (b + np.sqrt(np.maximum(b * b - 4 * ratio * (m + n) * (x + y), 0)))
    first = ratio * second
    one = (x - m * first) ** 2 / (m * first * (1 - first))
    other = (y - n * second) ** 2 / (n * second * (1 - second))
    return np.asarray(np.nan_to_num(one, nan=0.0) + np.nan_to_num(other, nan=0.0))


def gap_of(rate: str, groups: tuple[Group, ...], counts: np.ndarray, sizes: np.ndarray, level: float) -> Contrast:
    """The largest difference between two groups: simultaneous Newcombe intervals over all pairs."""
    pairs = max(len(groups) * (len(groups) - 1) // 2, 1)
    low, high = newcombe(counts, sizes, level, pairs)
    return largest_gap(rate, groups, divide(counts, sizes), low, high, level)


def largest_gap(
    rate: str, groups: tuple[Group, ...], rates: np.ndarray, low: np.ndarray, high: np.ndarray, level: float
) -> Contrast:
    """The largest of all pairs' differences, from intervals [first, second] that hold together."""
    apart = ~np.eye(len(groups), dtype=bool)
    down = max(0.0, float(low[apart].max(initial=0.0)))
    up = float(np.clip(high[apart].max(initial=0.0), 0, 1))
    top, bottom, undefined = _extremes(groups, rates)
    value = float(rates[top] - rates[bottom]) if top is not None and bottom is not None else np.nan
    return Contrast("gap", rate, value, min(down, up), up, level, _name(groups, top), _name(groups, bottom), undefined)


def ratio_of(rate: str, groups: tuple[Group, ...], counts: np.ndarray, sizes: np.ndarray, level: float) -> Contrast:
    """The smallest rate over the largest: simultaneous Koopman intervals over all pairs.

    Where nobody is counted in any group the ratio is 0 / 0: undefined, with the interval [0, 1].
    """
    pairs = max(len(groups) * (len(groups) - 1) // 2, 1)
    low, high = koopman(counts, sizes, level, pairs)
    return smallest_ratio(rate, groups, divide(counts, sizes), low, high, level)


def smallest_ratio(
    rate: str, groups: tuple[Group, ...], rates: np.ndarray, low: np.ndarray, high: np.ndarray, level: float
) -> Contrast:
    """The smallest of all pairs' ratios, from intervals [first, second] that hold together."""
    apart = ~np.eye(len(groups), dtype=bool)
    down = float(np.clip(low[apart].min(initial=1.0), 0, 1))
    up = float(np.clip(high[apart].min(initial=1.0), 0, 1))
    top, bottom, undefined = _extremes(groups, rates)
    known = top is not None and bottom is not None and rates[top] > 0
    value = float(rates[bottom] / rates[top]) if known else np.nan
    return Contrast("ratio", rate, value, down, up, level, _name(groups, top), _name(groups, bottom), undefined)


def _extremes(groups: tuple[Group, ...], rates: np.ndarray) -> tuple[int | None, int | None, tuple[Group, ...]]:
    undefined = tuple(group for group, value in zip(groups, rates, strict=True) if np.isnan(value))
    if len(groups) - len(undefined) < 2:
        return None, None, undefined
    return int(np.nanargmax(rates)), int(np.nanargmin(rates)), undefined


def _name(groups: tuple[Group, ...], place: int | None) -> Group | None:
    return None if place is None else groups[place]
