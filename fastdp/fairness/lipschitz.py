"""Individual fairness: whether people who are alike by a metric are treated alike."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.errors import DomainError, ParameterError
from fastdp.fairness.encoding import OWNER, as_floats
from fastdp.fairness.rates import number

BLOCK = 512
"""People that are compared at once with as many others, at most."""
BLOCK_BYTES = 32 << 20
"""Of the differences of all their features."""
METRICS = ("euclidean", "manhattan", "hamming")
Metric = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Distances [m, n] between m and n people, given their rows."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two people, as numbers of rows, with the distance between them and between their treatments."""

    first: int
    second: int
    distance: float
    difference: float


@dataclass(frozen=True, slots=True)
class LipschitzCheck:
    """Whether treatments differ by at most ``lipschitz`` times the distance of people, for all pairs.

    ``violation`` is the largest difference beyond that, 0 if there is none, and ``pairs`` show it, the worst first.
    ``constant`` is the smallest Lipschitz constant that would hold: infinity if people at distance 0 are treated
    differently. [Dwork, Hardt, Pitassi, Reingold, Zemel 2012]
    """

    holds: bool
    lipschitz: float
    violation: float
    constant: float
    violations: int
    compared: int
    pairs: tuple[Pair, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it; None for an infinite constant."""
        return {
            "holds": self.holds, "lipschitz": self.lipschitz, "violation": self.violation,
            "constant": number(self.constant) if np.isfinite(self.constant) else None,
            "violations": self.violations, "compared": self.compared,
            "pairs": [{"first": p.first, "second": p.second, "distance": p.distance, "difference": p.difference}
                      for p in self.pairs],
        }  # fmt: skip

    def __str__(self) -> str:
        if self.holds:
            return f"all {self.compared:,} pairs keep to {self.lipschitz:g} times their distance"
        return (
            f"{self.violations:,} of {self.compared:,} pairs differ by more than {self.lipschitz:g} times their "
            f"distance, by up to {self.violation:.4g}"
        )


def individual(
    features: Any, treatment: Any, *, metric: str | Metric = "euclidean", lipschitz: float = 1.0, show: int = 10
) -> LipschitzCheck:
    """Compare all pairs of people: differences of treatment against distances by the user's metric.

    Parameters
    ----------
    features
        A row for each person, as an array or a data frame.
    treatment
        What each gets: a score, or the probability of the positive decision.
    metric
        ``"euclidean"``, ``"manhattan"``, ``"hamming"`` (how many columns differ), or a function of two arrays of m and
        n rows that gives distances [m, n]. Which people are alike is the user's judgement, and the result is only as
        good as it.
    lipschitz
        How much treatments may differ per unit of distance.
    show
        How many of the worst pairs are named.

    It takes time in proportion to the square of the number of people, and memory for blocks of them.

    >>> print(individual([[0.0], [1.0], [1.1]], [0.1, 0.2, 0.9]))
    1 of 3 pairs differ by more than 1 times their distance, by up to 0.6
    """
    lipschitz = validation.positive(OWNER, "lipschitz", lipschitz)
    show = validation.positive_integer(OWNER, "show", show)
    rows, outcome = _rows(features, metric), as_floats("treatment", treatment)
    if outcome.size != len(rows) or outcome.size < 2:
        raise ParameterError(f"{OWNER}: features and treatment must have a row for each of at least two people")
    if not np.isfinite(outcome).all():
        raise DomainError(f"{OWNER}: treatment holds NaN or infinity; drop those rows first")
    distances = _metric(metric)
    worst: list[tuple[float, int, int, float, float]] = []
    constant, violations = 0.0, 0
    block = min(BLOCK, max(16, int(np.sqrt(BLOCK_BYTES / (8 * rows[0].size)))))
    for start in range(0, outcome.size, block):
        for other in range(start, outcome.size, block):
            gaps = np.abs(outcome[start : start + block, None] - outcome[None, other : other + block])
            apart = _check(distances(rows[start : start + block], rows[other : other + block]), gaps.shape)
            new = np.triu(np.ones(gaps.shape, bool), 1) if start == other else np.ones(gaps.shape, bool)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(gaps > 0, gaps / apart, 0.0)
            constant = max(constant, float(ratio[new].max(initial=0.0)))
            beyond = np.where(new, gaps - lipschitz * apart, -np.inf)
            violations += int((beyond > TINY).sum())
            worst = _merge(worst, beyond, gaps, apart, start, other, show)
    pairs = tuple(Pair(i, j, apart, gap) for _, i, j, apart, gap in sorted(worst, reverse=True))
    largest = max((one[0] for one in worst), default=0.0)
    count = outcome.size * (outcome.size - 1) // 2
    return LipschitzCheck(violations == 0, lipschitz, max(largest, 0.0), constant, violations, count, pairs)


TINY = 1e-12
"""Differences of floats that are no violation."""


def _merge(
    worst: list[tuple[float, int, int, float, float]],
    beyond: np.ndarray,
    gaps: np.ndarray,
    apart: np.ndarray,
    start: int,
    other: int,
    show: int,
) -> list[tuple[float, int, int, float, float]]:
    """The worst pairs of those before and of a block."""
    least = min(worst)[0] if len(worst) == show else TINY
    bad = np.flatnonzero(beyond.ravel() > max(least, TINY))
    if bad.size > show:
        bad = bad[np.argpartition(beyond.ravel()[bad], -show)[-show:]]
    found = [
        (float(beyond[i, j]), start + int(i), other + int(j), float(apart[i, j]), float(gaps[i, j]))
        for i, j in zip(*np.unravel_index(bad, beyond.shape), strict=True)
    ]
    return heapq.nlargest(show, [*worst, *found])


def _rows(features: Any, metric: str | Metric) -> np.ndarray:
    rows = features.to_numpy() if hasattr(features, "to_numpy") else np.asarray(features)
    if rows.ndim == 1:
        rows = rows[:, None]
    if isinstance(metric, str) and metric != "hamming":
        rows = validation.floats(OWNER, "features", rows)
        if not np.isfinite(rows).all():
            raise DomainError(f"{OWNER}: features hold NaN or infinity; drop those rows, or give a metric of your own")
    return np.asarray(rows)


def _check(apart: Any, shape: tuple[int, ...]) -> np.ndarray:
    found = validation.floats(OWNER, "the metric's distances", apart)
    if found.shape != shape or not (found >= 0).all():
        raise ParameterError(f"{OWNER}: the metric must give a distance >= 0 for each of [m, n] pairs")
    return found


def _metric(metric: str | Metric) -> Metric:
    if callable(metric):
        return metric
    name = validation.one_of(OWNER, "metric", metric, METRICS)
    if name == "hamming":
        return lambda a, b: (a[:, None, :] != b[None, :, :]).sum(axis=2).astype(float)
    if name == "manhattan":
        return lambda a, b: np.abs(a[:, None, :] - b[None, :, :]).sum(axis=2)
    return lambda a, b: np.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2))
