"""Rates of a binary decision within groups: what each divides by what, with intervals; undefined stays undefined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.binomial import clopper_pearson, normal_quantile, score_interval
from fastdp.errors import ParameterError
from fastdp.fairness.encoding import OWNER

RATES: dict[str, tuple[str, str, str]] = {
    "selection": ("01 11", "00 10", "share of the group with a positive decision"),
    "rejection": ("00 10", "01 11", "share of the group with a negative decision"),
    "base": ("10 11", "00 01", "share of the group with a positive label"),
    "tpr": ("11", "10", "positives that are decided positive"),
    "fnr": ("10", "11", "positives that are decided negative"),
    "fpr": ("01", "00", "negatives that are decided positive"),
    "tnr": ("00", "01", "negatives that are decided negative"),
    "ppv": ("11", "01", "positive decisions that are right"),
    "npv": ("00", "10", "negative decisions that are right"),
    "accuracy": ("00 11", "01 10", "decisions that are right"),
    "treatment": ("10", "01", "errors that are false negatives"),
}
"""The cells (label, decision) that a rate counts, the other cells of its denominator, and its meaning."""
METHODS = ("wilson", "clopper-pearson")


def weights_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The cells [label, decision] that a rate counts, and those that it divides by, as zeros and ones."""
    if name not in RATES:
        raise ParameterError(f"{OWNER}: {validation.unknown('rate', name, tuple(RATES))}")
    hits, misses, _ = RATES[name]
    count = np.zeros((2, 2))
    total = np.zeros((2, 2))
    for cell in hits.split():
        count[int(cell[0]), int(cell[1])] = 1
    for cell in f"{hits} {misses}".split():
        total[int(cell[0]), int(cell[1])] = 1
    return count, total


@dataclass(frozen=True, slots=True)
class Rates:
    """One rate in every group: NaN with the interval [0, 1] where a group has nobody to divide by."""

    name: str
    groups: tuple[tuple[Any, ...], ...]
    counts: np.ndarray
    totals: np.ndarray
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    level: float

    @property
    def undefined(self) -> tuple[tuple[Any, ...], ...]:
        """Groups in which the rate cannot be told."""
        return tuple(group for group, value in zip(self.groups, self.values, strict=True) if np.isnan(value))

    def __getitem__(self, group: Any) -> float:
        """The rate of one group, named by its value, or by a tuple of values for several attributes."""
        key = group if isinstance(group, tuple) else (group,)
        if key not in self.groups:
            raise ParameterError(f"{OWNER}: no such group; the groups are listed in .groups")
        return float(self.values[self.groups.index(key)])

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it; None where a rate is undefined."""
        rows = zip(self.groups, self.totals, self.values, self.low, self.high, strict=True)
        return {
            "rate": self.name,
            "meaning": RATES[self.name][2],
            "level": self.level,
            "groups": [
                {"group": list(group), "n": float(n), "value": number(value), "low": float(low), "high": float(high)}
                for group, n, value, low, high in rows
            ],
        }


def number(value: float) -> float | None:
    """A float for JSON, which has no NaN."""
    return None if np.isnan(value) else float(value)


def rates_of(
    name: str,
    groups: Sequence[tuple[Any, ...]],
    cells: np.ndarray,
    squares: np.ndarray | None,
    level: float,
    method: str,
) -> Rates:
    """A rate and its interval in every group, from cells [group, label, decision].

    Weighted rows count as many as their effective sample size, (sum w)**2 / sum w**2. [Kish 1965]
    """
    level, method = validation.level(OWNER, level), validation.one_of(OWNER, "method", method, METHODS)
    hits, denominator = weights_of(name)
    counts, totals = (cells * hits).sum(axis=(1, 2)), (cells * denominator).sum(axis=(1, 2))
    values = divide(counts, totals)
    sizes = totals if squares is None else divide(totals**2, (squares * denominator).sum(axis=(1, 2)))
    low, high = rate_interval(values * sizes, sizes, level, method)
    return Rates(name, tuple(groups), counts, totals, values, low, high, level)


def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The quotient, NaN where there is none."""
    quotient: np.ndarray = np.divide(a, b, out=np.full(np.shape(a), np.nan), where=np.asarray(b) > 0)
    return quotient


def rate_interval(
    counts: np.ndarray, sizes: np.ndarray, level: float, method: str, intervals: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Both ends for every rate, for so many ``intervals`` that hold together; [0, 1] where nothing is known."""
    known = sizes > 0
    low, high = np.zeros(sizes.shape), np.ones(sizes.shape)
    if method == "wilson":
        z = normal_quantile(level, intervals)
        low[known], high[known] = score_interval(counts[known], sizes[known], z)
    else:
        each = 1 - (1 - level) / intervals
        for i in np.flatnonzero(known):
            low[i], high[i] = clopper_pearson(counts[i], sizes[i], each)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def percentiles(rates: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Percentile intervals of rates [run, group]; [0, 1] where a run has nobody to divide by."""
    tail = (1 - validation.level(OWNER, level)) / 2
    known = ~np.isnan(rates).any(axis=0)
    low, high = np.zeros(known.size), np.ones(known.size)
    low[known], high[known] = np.quantile(rates[:, known], [tail, 1 - tail], axis=0)
    return low, high
