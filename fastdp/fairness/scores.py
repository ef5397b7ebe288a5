"""Groups by labels by scores: calibration and ROC curves of every group, from one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp.errors import DomainError
from fastdp.fairness.contrasts import Group
from fastdp.fairness.criteria import Criterion, gap_within, judge
from fastdp.fairness.encoding import OWNER, Codes, as_floats
from fastdp.fairness.independence import g_test
from fastdp.fairness.rates import divide, rate_interval
from fastdp.fairness.tally import Tally

MOST_SCORES = 1024
"""Distinct scores that are kept as they are; more are put into as many bins of equal width."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The share of positives [group, score], with intervals; NaN where a group has nobody at a score."""

    groups: tuple[Group, ...]
    scores: np.ndarray
    sizes: np.ndarray
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    level: float


@dataclass(frozen=True, slots=True)
class Roc:
    """False and true positive rates [group, threshold], deciding positive from a score on; the last decides nobody."""

    groups: tuple[Group, ...]
    thresholds: np.ndarray
    fpr: np.ndarray
    tpr: np.ndarray

    @property
    def auc(self) -> np.ndarray:
        """The area under each group's curve."""
        widths = self.fpr[:, :-1] - self.fpr[:, 1:]
        return np.asarray((widths * (self.tpr[:, :-1] + self.tpr[:, 1:]) / 2).sum(axis=1))


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Counts by attributes, binary label and score; ``tally`` has an axis per attribute, then labels, then scores."""

    tally: Tally

    def __add__(self, other: ScoreTable) -> ScoreTable:
        return ScoreTable(self.tally + other.tally)

    @property
    def scores(self) -> np.ndarray:
        """The scores, from low to high."""
        return np.array(self.tally.values[-1], float)

    def by(self, axes: list[int]) -> ScoreTable:
        """Summed over the other attributes."""
        counts = self.tally.counts
        gone = tuple(i for i in range(counts.ndim - 2) if i not in axes)
        turned = counts.sum(axis=gone).transpose([*np.argsort(np.argsort(axes)), len(axes), len(axes) + 1])
        return ScoreTable(Tally((*(self.tally.values[i] for i in axes), *self.tally.values[-2:]), turned))

    def cells(self) -> np.ndarray:
        """Counts [group, label, score] of the groups that have rows, with both labels."""
        counts = self.tally.counts
        flat = counts.reshape(-1, *counts.shape[-2:]).astype(float)
        flat = flat[flat.sum(axis=(1, 2)) > 0]
        both = np.zeros((flat.shape[0], 2, flat.shape[2]))
        for i, label in enumerate(self.tally.values[-2]):
            both[:, int(label)] += flat[:, i]
        return both

    def calibration(self, groups: tuple[Group, ...], level: float) -> Calibration:
        """The share of positives at every score."""
        cells = self.cells()
        positive, sizes = cells[:, 1], cells.sum(axis=1)
        low, high = rate_interval(positive, sizes, level, "wilson")
        return Calibration(groups, self.scores, sizes, divide(positive, sizes), low, high, level)

    def roc(self, groups: tuple[Group, ...]) -> Roc:
        """Rates of those with at least each score."""
        cells = self.cells()
        above = np.zeros((*cells.shape[:2], cells.shape[2] + 1))
        above[:, :, :-1] = cells[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]
        rates = divide(above, np.broadcast_to(above[:, :, :1], above.shape))
        return Roc(groups, np.append(self.scores, np.inf), rates[:, 0], rates[:, 1])

    def criterion(self, groups: tuple[Group, ...], tolerance: float, level: float) -> Criterion:
        """Calibration within groups: a score means the same in all of them."""
        strata = self.cells().transpose(2, 0, 1)
        gap = gap_within(strata, "positives at a score", groups, level)
        return judge("calibration", "a score means the same in all groups", (gap,), (g_test(strata),), tolerance)


def encode_scores(values: Any, bounds: tuple[float, float] | None = None) -> Codes:
    """The codes of scores: the distinct ones if they are few, else bins of equal width, named by their middles."""
    numbers = as_floats("score", values)
    if not np.isfinite(numbers).all():
        raise DomainError(f"{OWNER}: score holds NaN or infinity; drop those rows first")
    if bounds is None:
        distinct = np.unique(numbers[: 1 << 16])
        if distinct.size <= MOST_SCORES and (distinct.size == 0 or np.isin(numbers, distinct).all()):
            return Codes(np.searchsorted(distinct, numbers).astype(np.uint16), tuple(distinct.tolist()))
        distinct = np.unique(numbers)
        if distinct.size <= MOST_SCORES:
            return Codes(np.searchsorted(distinct, numbers).astype(np.uint16), tuple(distinct.tolist()))
        bounds = float(numbers.min()), float(numbers.max())
    low, high = bounds
    width = (high - low) / MOST_SCORES
    codes = np.clip((numbers - low) / width, 0, MOST_SCORES - 1).astype(np.uint16)
    return Codes(codes, tuple((low + (np.arange(MOST_SCORES) + 0.5) * width).tolist()))
