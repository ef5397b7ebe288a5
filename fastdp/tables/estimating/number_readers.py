"""Readers of the reports of numbers: means and distributions."""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.columns.numeric import read_numeric
from fastdp.errors import ParameterError
from fastdp.mechanisms.local.means.reports import MeanReports
from fastdp.mechanisms.local.numeric import Piecewise
from fastdp.mechanisms.local.square_wave import SquareWave
from fastdp.tables.estimating.bounded_noise import BoundedNoise
from fastdp.tables.estimating.distributions import cells_of_steps, cells_of_window, fine_bins, window_points
from fastdp.tables.estimating.means import Mean, ReportTally, corrected_mean, plain_mean
from fastdp.tables.estimating.results import ColumnEstimate, Line

if TYPE_CHECKING:
    import pyarrow as pa

WAVE_BINS = 32
"""Ranges of a distribution whose plan does not say how many."""
POINTS = 512
"""Values at which the bias of a mean is kept small."""


class MeanReader:
    """The mean of numbers that are reported within bounds, and of :class:`Piecewise` the distribution."""

    missing: str | None = None

    def __init__(self, mechanism: MeanReports, bins: int | None) -> None:
        self._mechanism = mechanism
        self._sums: Any = None
        self._counts: Any = None
        self._bins = None
        if bins is not None and isinstance(mechanism, Piecewise):
            self._bins = bins
        elif bins is not None:
            self.missing = f"{type(mechanism).__name__} reports tell the mean only; use square_wave for a distribution"

    def add(self, *reports: pa.Array) -> None:
        (column,) = reports
        sums: Any = self._mechanism.aggregate(column)
        self._sums = sums if self._sums is None else self._sums + sums
        if self._bins is not None and isinstance(self._mechanism, Piecewise):
            counts: Any = self._mechanism.count_outputs(column, fine_bins(self._bins))
            self._counts = counts if self._counts is None else self._counts + counts

    def conclude(self, column: str, name: str, level: float) -> list[ColumnEstimate]:
        found = self._mechanism.estimate(self._sums)
        line = Line(None, found.mean, found.std_error, *found.interval(level))
        results = [ColumnEstimate(column, name, "mean", found.n, level, "mean of unbiased reports", (line,))]
        if self._bins is not None and isinstance(self._mechanism, Piecewise):
            channel, bounds = self._mechanism.channel(fine_bins(self._bins)), self._mechanism.bounds
            results += cells_of_window(channel, self._counts, bounds, self._bins).conclude(column, name, level)
        return results


class WaveReader:
    """The distribution of square wave reports, and their mean."""

    missing: str | None = None

    def __init__(self, mechanism: SquareWave, bins: int) -> None:
        self._bins = min(bins, mechanism.bins)
        self._fine = replace(mechanism, bins=fine_bins(self._bins))
        self._counts: Any = None

    def add(self, *reports: pa.Array) -> None:
        (column,) = reports
        counts = self._fine.aggregate(column)
        self._counts = counts if self._counts is None else self._counts + counts

    def conclude(self, column: str, name: str, level: float) -> list[ColumnEstimate]:
        counts, (low, high), window = self._counts, self._fine.bounds, self._fine.channel()
        points, _ = window_points(window, self._bins)
        nothing = np.zeros(window.shape[1])
        tally = ReportTally(counts.support, nothing, 0.0)
        mean = corrected_mean(tally, window.at(points), points / window.shape[0], np.zeros(points.size), nothing)
        cells = cells_of_window(window, counts.support, self._fine.bounds, self._bins)
        found = _mean(column, name, mean, counts.n, (low, high - low), level)
        return [*cells.conclude(column, name, level), found]


class NoiseReader:
    """The mean of noisy numbers, and within bounds their distribution."""

    missing: str | None = None

    def __init__(self, mechanism: Any, bins: int | None) -> None:
        self._mechanism, self._bins = mechanism, bins
        self._steps = None if mechanism.bounds is None else BoundedNoise.of(mechanism)
        size = 1 if self._steps is None else self._steps.edges.size - 1
        self._tally = ReportTally(np.zeros(size, np.int64), np.zeros(size), 0.0)
        if bins is not None and self._steps is None:
            self._bins = None
            self.missing = "without bounds only the mean is estimated; declare bounds for a distribution"

    def add(self, *reports: pa.Array) -> None:
        (column,) = reports
        owner, kind = type(self._mechanism).__name__, self._mechanism.number_kind
        for block in read_numeric(owner, column, kind).blocks(owner):
            self._count(block)

    def _count(self, block: np.ndarray) -> None:
        size = self._tally.counts.size
        if self._steps is None:
            numbers = block.astype(np.float64)
            part = ReportTally(np.array([block.size]), np.array([numbers.sum()]), float(numbers @ numbers))
        else:
            steps, places = self._steps.locate(block)
            counts = np.bincount(places, minlength=size)
            if self._steps.boundary in {"clamp", "open"}:
                steps /= self._steps.width
                part = ReportTally(counts, np.bincount(places, steps, size), float(steps @ steps))
            else:
                part = ReportTally(counts, np.zeros(size), 0.0)
        self._tally = self._tally + part

    def conclude(self, column: str, name: str, level: float) -> list[ColumnEstimate]:
        steps, tally = self._steps, self._tally
        if steps is None:
            return [_mean(column, name, plain_mean(tally), tally.n, (0.0, 1.0), level)]
        mean = plain_mean(tally) if steps.boundary == "open" else self._correct(steps)
        place = (steps.low, steps.width * steps.unit)
        results = [_mean(column, name, mean, tally.n, place, level)]
        if steps.boundary == "open":
            results = [_within(results[0], *self._mechanism.bounds)]
        if self._bins is not None:
            results += cells_of_steps(steps, tally.counts, self._bins).conclude(column, name, level)
        return results

    def _correct(self, steps: BoundedNoise) -> Mean:
        """The mean of values whose results the bounds have moved."""
        tally = self._tally
        values = np.unique(np.rint(np.linspace(0, steps.width, POINTS + 1)))
        shift = steps.shift(values)
        expected, middles = (
            (np.zeros(values.size), np.zeros(tally.counts.size))
            if shift is None
            else ((values + shift) / steps.width, steps.middles / steps.width)
        )
        matrix = steps.probabilities(values)
        return corrected_mean(tally, matrix, values / steps.width, expected, middles)


def _mean(column: str, name: str, mean: Mean, n: int, place: tuple[float, float], level: float) -> ColumnEstimate:
    """A mean of values in [0, 1] as one of values from ``place[0]`` on, ``place[1]`` wide."""
    low, width = place
    half = NormalDist().inv_cdf((1 + level) / 2) * mean.std_error + mean.bias
    centre = low + width * mean.mean
    line = Line(None, centre, width * mean.std_error, centre - width * half, centre + width * half)
    method = "mean of reports" if not mean.bias else "mean of reports, corrected for the bounds"
    return ColumnEstimate(column, name, "mean", n, level, method, (line,))


def _within(found: ColumnEstimate, low: float, high: float) -> ColumnEstimate:
    """A mean and its interval cut to the bounds, which the mean of the clamped values is within."""
    (line,) = found.lines
    cut = {name: min(max(getattr(line, name), low), high) for name in ("estimate", "low", "high")}
    return replace(found, lines=(replace(line, **cut),))


def check_bins(bins: object) -> int | None:
    """From 2 to 4,096 ranges, or None."""
    if bins is None:
        return None
    count = validation.positive_integer("estimate", "bins", bins)
    if not 2 <= count <= 4096:
        raise ParameterError(f"estimate: bins must be an integer from 2 to 4096, got {count}")
    return count
