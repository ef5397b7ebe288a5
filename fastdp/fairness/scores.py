"""Groups by labels by scores: calibration and ROC curves of every group, from one pass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastdp.errors import DomainError
from fastdp.fairness.contrasts import Group
from fastdp.fairness.criteria import CALIBRATION, Criterion, gap_within, judge
from fastdp.fairness.encoding import OWNER, Codes, as_floats
from fastdp.fairness.independence import g_test
from fastdp.fairness.rates import divide, rate_interval
from fastdp.fairness.tally import Tally

MOST_SCORES = 1024
"""Distinct scores that are kept as they are; more are put into bins whose width is a power of two."""
FEW_SCORES = 20
"""Distinct scores up to which calibration is told for each of them; more are merged into ten of equal size."""


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
    """Counts by attributes, binary label and score; ``tally`` has an axis per attribute, then labels, then scores.

    Scores are the distinct ones, or with a ``width`` the numbers of bins [i width, (i + 1) width). Widths are powers of
    two, as small as 1,024 bins allow, so that tables of batches add up to that of all rows, however they are cut.
    """

    tally: Tally
    width: float | None = None

    def __add__(self, other: ScoreTable) -> ScoreTable:
        """The table of the rows of both."""
        if self.width is None and other.width is None:
            return _fitted(ScoreTable(self.tally + other.tally))
        width = max(self.width or 0.0, other.width or 0.0)
        width = max(width, _width_of([*self.ends, *other.ends]))
        return _fitted(ScoreTable(self.binned(width).tally + other.binned(width).tally, width))

    @property
    def edges(self) -> np.ndarray:
        """The smallest score of each bin, from low to high; the scores themselves where they are few."""
        return np.array(self.tally.values[-1], float) * (self.width or 1.0)

    @property
    def scores(self) -> np.ndarray:
        """The scores, or the middles of their bins, from low to high."""
        return self.edges + (self.width or 0.0) / 2

    @property
    def ends(self) -> tuple[float, float]:
        """Scores in the first and in the last bin."""
        edges = self.edges
        return float(edges[0]), float(edges[-1])

    def binned(self, width: float) -> ScoreTable:
        """The same rows in bins that are at least as wide."""
        bins = np.floor(self.edges / width).astype(np.int64)
        values, starts = np.unique(bins, return_index=True)
        return ScoreTable(_merged(self.tally, starts, values.tolist()), width)

    def at_most(self, count: int) -> ScoreTable:
        """The same rows in at most so many bins; itself where its scores are as few."""
        found = self
        while found.edges.size > count:
            found = found.binned(2 * found.width if found.width else _width_of(found.ends, count))
        return found

    def by(self, axes: list[int]) -> ScoreTable:
        """Summed over the other attributes."""
        gone = tuple(i for i in range(self.tally.counts.ndim - 2) if i not in axes)
        order = [*np.argsort(np.argsort(axes)), len(axes), len(axes) + 1]

        def turn(counts: np.ndarray | None) -> np.ndarray | None:
            return None if counts is None else np.asarray(counts.sum(axis=gone).transpose(order))

        counts = turn(self.tally.counts)
        assert counts is not None
        values = (*(self.tally.values[i] for i in axes), *self.tally.values[-2:])
        return replace(self, tally=Tally(values, counts, turn(self.tally.squares)))

    def cells(self) -> np.ndarray:
        """Counts [group, label, score] of the groups that have rows, with both labels."""
        return self._binary(self.tally.counts)

    def _binary(self, counts: np.ndarray) -> np.ndarray:
        flat = counts.reshape(-1, *counts.shape[-2:]).astype(float)
        flat = flat[self.tally.counts.reshape(flat.shape).sum(axis=(1, 2)) > 0]
        both = np.zeros((flat.shape[0], 2, flat.shape[2]))
        for i, label in enumerate(self.tally.values[-2]):
            both[:, int(label)] += flat[:, i]
        return both

    def effective(self) -> np.ndarray:
        """The cells, scaled to the effective sample size of weighted rows."""
        cells = self.cells()
        if self.tally.squares is None:
            return cells
        return np.asarray(cells * (cells.sum() / self._binary(self.tally.squares).sum()))

    def merged(self, count: int) -> tuple[ScoreTable, np.ndarray]:
        """Neighbouring scores put together, into about as many of about equal size, and the mean score of each."""
        sizes = self.tally.counts.sum(axis=tuple(range(self.tally.counts.ndim - 1))).astype(float)
        before = np.concatenate([[0.0], sizes.cumsum()[:-1]]) + sizes / 2
        parts = np.minimum((before / max(sizes.sum(), 1e-300) * count).astype(np.int64), count - 1)
        _, starts = np.unique(parts, return_index=True)
        totals = np.add.reduceat(sizes, starts)
        means = divide(np.add.reduceat(sizes * self.scores, starts), totals)
        return ScoreTable(_merged(self.tally, starts, list(range(starts.size)))), means

    def calibration(self, groups: tuple[Group, ...], level: float, bins: int | None = None) -> Calibration:
        """The share of positives at every score, or in so many bins of equal size."""
        table, scores = self.few(bins)
        cells, worth = table.cells(), table.effective()
        positive, sizes = cells[:, 1], cells.sum(axis=1)
        low, high = rate_interval(worth[:, 1], worth.sum(axis=1), level, "wilson")
        return Calibration(groups, scores, sizes, divide(positive, sizes), low, high, level)

    def few(self, bins: int | None) -> tuple[ScoreTable, np.ndarray]:
        """At most 20 scores, or so many bins of equal size, and the score of each."""
        if bins is None:
            bins = self.edges.size if self.edges.size <= FEW_SCORES else 10
        return (self, self.scores) if self.edges.size <= bins else self.merged(bins)

    def roc(self, groups: tuple[Group, ...]) -> Roc:
        """Rates of those with at least each score."""
        above = self.above()
        rates = divide(above, np.broadcast_to(above[:, :, :1], above.shape))
        return Roc(groups, np.append(self.edges, np.inf), rates[:, 0], rates[:, 1])

    def above(self) -> np.ndarray:
        """Counts [group, label, threshold] of those with at least each score; of nobody at the last threshold."""
        cells = self.cells()
        above = np.zeros((*cells.shape[:2], cells.shape[2] + 1))
        above[:, :, :-1] = cells[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]
        return above

    def criterion(self, groups: tuple[Group, ...], tolerance: float, level: float) -> Criterion:
        """Calibration within groups: a score means the same in all of them."""
        table, _ = self.few(None)
        strata = table.effective().transpose(2, 0, 1)
        gap = gap_within(strata, "positives at a score", groups, level)
        return judge(*CALIBRATION, (gap,), (g_test(strata),), tolerance)


def _merged(tally: Tally, starts: np.ndarray, values: Sequence[Any]) -> Tally:
    """Neighbours on the last axis summed, from each start to the next."""
    counts = np.add.reduceat(tally.counts, starts, axis=-1)
    squares = None if tally.squares is None else np.add.reduceat(tally.squares, starts, axis=-1)
    return Tally((*tally.values[:-1], tuple(values)), counts, squares)


def _fitted(table: ScoreTable) -> ScoreTable:
    """The table in bins, if its scores are too many."""
    if table.width is None and table.edges.size > MOST_SCORES:
        return table.binned(_width_of(table.ends))
    return table


def _width_of(scores: Sequence[float], count: int = MOST_SCORES) -> float:
    """The smallest power of two by which the range of scores is at most ``count`` bins."""
    low, high = min(scores), max(scores)
    reach = high / 2 - low / 2  # without overflow
    exponent = math.frexp(reach)[1] - count.bit_length() if reach > 0 else -1000
    while math.floor(math.ldexp(high, -exponent)) - math.floor(math.ldexp(low, -exponent)) >= count:
        exponent += 1
    return math.ldexp(1.0, exponent)


def encode_scores(values: Any) -> tuple[Codes, float | None]:
    """The codes of scores: the distinct ones if they are few, else numbers of bins, and their width."""
    numbers = as_floats("score", values)
    if not np.isfinite(numbers).all():
        raise DomainError(f"{OWNER}: score holds NaN or infinity; drop those rows first")
    distinct = np.unique(numbers[: 1 << 16])
    if distinct.size <= MOST_SCORES and numbers.size > 1 << 16:
        places = np.minimum(np.searchsorted(distinct, numbers), distinct.size - 1)
        if np.array_equal(distinct[places], numbers):
            return Codes(places.astype(np.uint16), tuple(distinct.tolist())), None
        distinct = np.unique(numbers)
    if distinct.size <= MOST_SCORES:
        return Codes(np.searchsorted(distinct, numbers).astype(np.uint16), tuple(distinct.tolist())), None
    low, high = float(numbers.min()), float(numbers.max())
    width = _width_of((low, high))
    first, last = math.floor(low / width), math.floor(high / width)
    codes = (np.floor(numbers / width) - first).astype(np.uint16)
    return Codes(codes, tuple(range(first, last + 1))), width
