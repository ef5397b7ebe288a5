"""Distributions of numbers: estimated on fine cells, reported as shares of ranges, and quartiles, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fastdp.binomial import normal_quantile
from fastdp.channels import Channel
from fastdp.channels.window import WindowChannel
from fastdp.estimators.estimate import estimate as estimate_reports
from fastdp.estimators.intervals.bounds import Finer
from fastdp.estimators.intervals.quantiles import choose_marks, distribution_functionals, quantile_range
from fastdp.estimators.result import Estimate
from fastdp.tables.estimating.bounded_noise import BoundedNoise
from fastdp.tables.estimating.results import ColumnEstimate, Line, Range

FINE = 128
"""Cells that a distribution is estimated on: intervals are within 2 % as wide as on any finer ones. With the few wide
ranges that are reported as cells, evenly filled, the model itself would be wrong."""
CHECKED = 512
"""Values for which intervals are made to hold."""
GROUPED = 64
"""About how many ranges of results are counted separately."""
QUARTILES = {"lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75}
CERTIFIED = "certified bounds, no assumption on the distribution"


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Fine cells in order, the ranges that they make up, and the channel from cells to what is counted."""

    channel: Channel
    counts: np.ndarray
    starts: np.ndarray
    """The smallest number of each cell, from there on to the next one."""
    ends: np.ndarray
    """The largest."""
    ranges: list[Range]
    range_of: np.ndarray
    """The range of each cell."""
    finer: np.ndarray | None = None
    """Entries of the channel for values between those that stand for cells."""
    finer_cells: np.ndarray | None = None
    """The cell of each of these values."""
    finer_ranges: np.ndarray | None = None
    """Its range."""

    def conclude(self, column: str, name: str, level: float) -> list[ColumnEstimate]:
        """The shares of ranges, and the quartiles."""
        found = estimate_reports(self.channel, self.counts, progress=False)
        shares = (self.range_of == np.arange(len(self.ranges))[:, None]).astype(np.float64)
        marks = choose_marks(self.starts.size)
        below = distribution_functionals(marks, self.starts.size)
        functionals = np.vstack((shares, below))
        lower, upper = found._get_spread().open_bounds(  # noqa: SLF001
            functionals, normal_quantile(level), self._finer(len(self.ranges), marks)
        )
        lines = []
        for row, (value, estimate) in enumerate(zip(self.ranges, shares @ found.distribution, strict=True)):
            low, high = min(lower(row), estimate), max(upper(row), estimate)
            lines.append(Line(value, float(estimate), float("nan"), low, high, determined=high - low <= 0.5))
        n, first = int(np.sum(self.counts)), len(shares)
        below_low, below_high = (lambda row: lower(first + row)), (lambda row: upper(first + row))
        quartiles = tuple(
            self._quartile(label, q, found, quantile_range(q, marks, self.starts.size, below_low, below_high))
            for label, q in QUARTILES.items()
        )
        return [
            ColumnEstimate(column, name, "distribution", n, level, f"{found.method}; {CERTIFIED}", tuple(lines)),
            ColumnEstimate(column, name, "quartiles", n, level, f"{found.method}; {CERTIFIED}", quartiles),
        ]

    def _finer(self, ranges: int, marks: np.ndarray) -> Finer | None:
        if self.finer is None or self.finer_ranges is None or self.finer_cells is None:
            return None
        shares = (self.finer_ranges == np.arange(ranges)[:, None]).astype(np.float64)
        below = (self.finer_cells <= marks[:, None]).astype(np.float64)
        return Finer(self.finer, np.vstack((shares, below)))

    def _quartile(self, name: str, q: float, found: Estimate, places: tuple[int, int]) -> Line:
        """A quartile, as if people were spread evenly within its cell, and the outer ends of its range of cells."""
        total = np.cumsum(found.distribution)
        place = int(np.searchsorted(total[:-1], q))
        part = (q - (total[place] - found.distribution[place])) / max(found.distribution[place], 1e-300)
        value = self.starts[place] + min(max(part, 0.0), 1.0) * (self.ends[place] - self.starts[place])
        low, high = self.starts[min(places[0], place)], self.ends[max(places[1], place)]
        wide = high - low > (self.ends[-1] - self.starts[0]) / 2
        return Line(name, float(value), float("nan"), float(low), float(high), determined=not wide)


def _ranges(starts: np.ndarray, ends: np.ndarray) -> list[Range]:
    return [Range(start, end) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def fine_bins(bins: int) -> int:
    """The number of fine cells of equal width that make up so many ranges."""
    return bins * -(-FINE // bins)


def window_points(window: WindowChannel, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Values that stand for all, in bins of the channel, and the range of each: edges of ranges are in both.

    Between them the chances of every output are linear in the value, so that what holds for both ends of a stretch
    holds within it.
    """
    size = window.shape[0]
    edges = np.arange(1, bins) * size / bins
    points = np.concatenate((window.kinks, edges, edges))
    ranges = np.concatenate((
        np.searchsorted(edges, window.kinks, "right"), np.arange(bins - 1), np.arange(1, bins),
    ))  # fmt: skip
    order = np.lexsort((ranges, points))
    return points[order], ranges[order]


def cells_of_window(window: WindowChannel, counts: np.ndarray, bounds: tuple[float, float], bins: int) -> Cells:
    """Values reported by a window around them; a cell ends with its own value, and begins with the last one's."""
    points, ranges = window_points(window, bins)
    low, high = bounds
    numbers = low + (high - low) / window.shape[0] * points
    edges = np.linspace(low, high, bins + 1)
    begin = np.concatenate(([low], numbers[:-1]))
    rows = window.at(points)
    channel = Channel.from_matrix(rows / rows.sum(axis=1, keepdims=True))
    return Cells(channel, counts, begin, numbers, _ranges(edges[:-1], edges[1:]), ranges)


def cells_of_steps(steps: BoundedNoise, counts: np.ndarray, bins: int) -> Cells:
    """Values of integer noise within bounds: evenly spaced ones, and both ends of every range, stand for all.

    Their entries are exact. A cell ends with its own value, and begins after the last one's.
    """
    bins = min(bins, steps.width + 1)
    first = np.arange(bins) * (steps.width + 1) // bins
    last = np.append(first[1:], steps.width + 1) - 1
    values = _spaced(steps.width, FINE, first, last)
    checked = _spaced(steps.width, CHECKED, first, last)
    groups = _group_outputs(steps.edges.size - 1)
    matrix, finer = (_entries(steps, points, groups) for points in (values, checked))
    begin = np.concatenate(([0.0], values[:-1] + (1 if steps.whole else 0)))
    until = last if steps.whole else np.minimum(last + 1, steps.width)
    return Cells(
        Channel.from_matrix(matrix),
        np.bincount(groups, counts),
        steps.low + steps.unit * begin,
        steps.low + steps.unit * values,
        _ranges(steps.low + steps.unit * first, steps.low + steps.unit * until),
        np.searchsorted(first, values, "right") - 1,
        finer,
        np.searchsorted(values, checked),
        np.searchsorted(first, checked, "right") - 1,
    )


def _spaced(width: int, count: int, *others: np.ndarray) -> np.ndarray:
    return np.unique(np.concatenate((np.rint(np.linspace(0, width, count)), *others)).astype(np.float64))


def _group_outputs(size: int) -> np.ndarray:
    """The group of each range of results; the ends are by themselves."""
    if size <= GROUPED:
        return np.arange(size)
    together = -(-(size - 2) // GROUPED)
    inner = 1 + np.arange(size - 2) // together
    return np.concatenate(([0], inner, [inner[-1] + 1]))


def _entries(steps: BoundedNoise, values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """P(group of results | value), never quite 0."""
    found = np.zeros((values.size, int(groups[-1]) + 1))
    np.add.at(found.T, groups, steps.probabilities(values).T)
    found = np.maximum(found, 1e-15)
    matrix: np.ndarray = found / found.sum(axis=1, keepdims=True)
    return matrix
