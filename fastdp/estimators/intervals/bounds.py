"""Confidence bounds of functionals of the distribution that hold whatever the distribution is.

For any weights w on outputs and any distribution p of inputs, h'p <= w'(pC) + max(h - Cw). So with weights that do not
depend on the reports, the mean of w over the reports plus max(h - Cw) plus z standard errors is an upper confidence
bound, with no assumption on p; the lower one is that of -h. Weights are found from one half of the reports and used on
the other half, and the other way round, and the two bounds averaged: cross-fitting. [Kuusela, Stark 2017; Chernozhukov
et al. 2018]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fastdp.estimators.intervals.descent import Descent
from fastdp.estimators.intervals.weights import (
    LARGEST_PROGRAMME,
    LARGEST_WRITTEN,
    LONGEST_LINE,
    Coarse,
    Finder,
    Programme,
    Stack,
    Weights,
    variance,
)
from fastdp.estimators.likelihood.problem import Problem, deal_reports, seed_of

MIXED = 0.01
"""The part of the uniform distribution in a pilot, so that no output that can occur has no probability."""
ROUNDING = 1e-12
"""What is added to a certificate for the rounding of its products, as a part of the largest weight."""

Refit = Callable[[Sequence[np.ndarray]], np.ndarray]
"""Estimates for many samples: a matrix of counts for each channel, one row per sample, to a matrix of distributions."""


class Finer(NamedTuple):
    """Inputs between those of the problem, on which bounds must hold as well: their entries, and their functionals."""

    rows: np.ndarray
    functionals: np.ndarray


class _Half(NamedTuple):
    """Weights found on one half of the reports, and the shares and numbers of reports of the other half."""

    finder: Finder
    shares: np.ndarray
    reports: np.ndarray


class CertifiedBounds:
    """Bounds of functionals, the rows of a matrix, from the same halves of the same reports.

    With ``finer`` they hold for inputs in between those of the problem, too.
    """

    def __init__(
        self, problem: Problem, refit: Refit, z: float, functionals: np.ndarray, finer: Finer | None = None
    ) -> None:
        self._z, self._functionals, self._finer = z, functionals, finer
        self._halves: list[_Half] = []
        dealt = deal_halves(problem.counts)
        kept = [i for i, (first, second) in enumerate(dealt) if first.sum() > 0 and second.sum() > 0]
        if not kept:
            return
        counts = [dealt[i] for i in kept]
        self._stack = Stack([problem.channels[i] for i in kept], [float(pair.sum()) for pair in counts])
        pilots = (1 - MIXED) * _pilots(refit, dealt) + MIXED / problem.size
        for pilot, other in zip(pilots, (1, 0), strict=True):
            reports = np.array([pair[other].sum() for pair in counts])
            shares = np.concatenate([pair[other] / n for pair, n in zip(counts, reports, strict=True)])
            self._halves.append(_Half(open_finder(self._stack, pilot, z, functionals), shares, reports))

    def both(self) -> tuple[np.ndarray, np.ndarray]:
        """The lower and the upper bounds of all functionals."""
        rows = range(len(self._functionals))
        return np.array([self.lower(row) for row in rows]), np.array([self.upper(row) for row in rows])

    def lower(self, row: int) -> float:
        """The lower bound of one functional."""
        return -self._bound(row, -1.0)

    def upper(self, row: int) -> float:
        """The upper bound of one functional."""
        return self._bound(row, 1.0)

    def _bound(self, row: int, sign: float) -> float:
        h = sign * self._functionals[row]
        most = float(h.max())
        if not self._halves:
            return most
        finer = None if self._finer is None else sign * self._finer.functionals[row]
        middle, variances, start = 0.0, 0.0, None
        for half in self._halves:
            weights = half.finder.find(h, start)
            start = weights.start
            middle += float(weights.values @ half.shares) + self._certificate(h, weights.values, finer)
            variances += self._variance(weights, half)
        bound = middle / 2 + self._z * math.sqrt(variances) / 2
        return min(most, bound) if math.isfinite(bound) else most

    def _certificate(self, h: np.ndarray, w: np.ndarray, finer: np.ndarray | None) -> float:
        """max(h - Cw): by how much more the functional can be than the expectation of the weights."""
        most = float((h - self._stack.backward(w)).max())
        if self._finer is not None and finer is not None:
            most = max(most, float((finer - self._finer.rows @ w).max()))
        return most + ROUNDING * float(np.abs(w).max())

    def _variance(self, weights: Weights, half: _Half) -> float:
        """Of the mean of the weights over a half: by its reports, or by the least favourable truth if that is more."""
        total = 0.0
        for part, worst, n in zip(self._stack.slices, weights.variances, half.reports, strict=True):
            total += max(variance(weights.values[part], half.shares[part]), float(worst)) / n
        return total


def deal_halves(counts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Each report dealt to one of two halves, by a generator seeded by the counts; a row per half."""
    source = np.random.default_rng(seed_of(counts))
    return [deal_reports(part, 2, source) for part in counts]


def _pilots(refit: Refit, dealt: Sequence[np.ndarray]) -> np.ndarray:
    """An estimate from each half; uniform where it fails."""
    pilots = np.maximum(refit(dealt), 0.0)
    total = pilots.sum(axis=1, keepdims=True)
    good = np.isfinite(total) & (total > 0)
    return np.where(good, pilots / np.where(good, total, 1.0), 1 / pilots.shape[1])


def open_finder(stack: Stack, pilot: np.ndarray, z: float, functionals: np.ndarray) -> Finder:
    """The finder for channels of this size and kind, for a guess at the distribution of inputs."""
    d = np.maximum(stack.forward(pilot), 0.0)
    if stack.is_line and stack.size > LONGEST_LINE:
        return Coarse(stack, pilot, d, z, functionals)
    if stack.size <= LARGEST_PROGRAMME and stack.size * stack.outputs <= LARGEST_WRITTEN:
        return Programme(stack.rows(np.arange(stack.size)), pilot, d, stack.parts, stack.slices, stack.n, z)
    return Descent(stack, pilot, d, z)
