"""Readers of the reports of numbers: means and distributions."""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.channels import Channel
from fastdp.columns.numeric import read_block, read_numeric
from fastdp.errors import ParameterError
from fastdp.estimators.reports import estimate as estimate_reports
from fastdp.mechanisms.numeric import MeanReports, Piecewise
from fastdp.mechanisms.square_wave import SquareWave
from fastdp.parallel import BLOCK
from fastdp.tables.findings import ColumnEstimate, Line, Range
from fastdp.tables.means import Mean, Tally, corrected_mean, plain_mean
from fastdp.tables.readers import lines_of
from fastdp.tables.steps import RANGES, Steps

if TYPE_CHECKING:
    import pyarrow as pa

WAVE_BINS = 32
"""Ranges of a distribution whose plan does not say how many."""
POINTS = 512
"""Values at which the bias of a mean is kept small."""
WITHIN = 8
"""Values that stand for all in a range, at the least."""


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
            counts: Any = self._mechanism.count_outputs(column, self._bins)
            self._counts = counts if self._counts is None else self._counts + counts

    def find(self, column: str, name: str, confidence: float) -> list[ColumnEstimate]:
        found = self._mechanism.estimate(self._sums)
        line = Line(None, found.mean, found.std_error, *found.interval(confidence))
        results = [ColumnEstimate(column, name, "mean", found.n, confidence, "mean of unbiased reports", (line,))]
        if self._bins is not None and isinstance(self._mechanism, Piecewise):
            channel, bounds = self._mechanism.channel(self._bins), self._mechanism.bounds
            results.append(_distribution(column, name, channel, self._counts, _equal(bounds, self._bins), confidence))
        return results


class WaveReader:
    """The distribution of square wave reports, and their mean."""

    missing: str | None = None

    def __init__(self, mechanism: SquareWave, bins: int) -> None:
        self._fine = mechanism
        self._coarse = replace(mechanism, bins=min(bins, mechanism.bins))
        self._counts: Any = None

    def add(self, *reports: pa.Array) -> None:
        (column,) = reports
        counts = [mechanism.aggregate(column) for mechanism in (self._fine, self._coarse)]
        self._counts = counts if self._counts is None else [a + b for a, b in zip(self._counts, counts, strict=True)]

    def find(self, column: str, name: str, confidence: float) -> list[ColumnEstimate]:
        fine, coarse = self._counts
        low, high = self._fine.bounds
        matrix = self._fine.channel().dense()
        nothing = np.zeros(matrix.shape[1])
        values = (np.arange(matrix.shape[0]) + 0.5) / matrix.shape[0]
        tally = Tally(fine.support, nothing, 0.0)
        mean = corrected_mean(tally, matrix, values, np.zeros(values.size), nothing)
        ranges = _equal(self._coarse.bounds, self._coarse.bins)
        return [
            _distribution(column, name, self._coarse.channel(), coarse.support, ranges, confidence),
            _mean(column, name, mean, fine.n, (low, high - low), confidence),
        ]


class NoiseReader:
    """The mean of noisy numbers, and within bounds their distribution."""

    missing: str | None = None

    def __init__(self, mechanism: Any, bins: int | None) -> None:
        self._mechanism, self._bins = mechanism, bins
        self._steps = None if mechanism.bounds is None else Steps.of(mechanism)
        size = 1 if self._steps is None else self._steps.edges.size - 1
        self._tally = Tally(np.zeros(size, np.int64), np.zeros(size), 0.0)
        if bins is not None and self._steps is None:
            self._bins = None
            self.missing = "without bounds only the mean is estimated; declare bounds for a distribution"

    def add(self, *reports: pa.Array) -> None:
        (column,) = reports
        owner, kind = type(self._mechanism).__name__, self._mechanism._kind  # noqa: SLF001
        read = read_numeric(owner, column, kind)
        for piece in read.pieces:
            for start in range(0, piece.size, BLOCK):
                self._count(read_block(owner, piece, start, min(start + BLOCK, piece.size), read.result_dtype))

    def _count(self, block: np.ndarray) -> None:
        size = self._tally.counts.size
        if self._steps is None:
            numbers = block.astype(np.float64)
            part = Tally(np.array([block.size]), np.array([numbers.sum()]), float(numbers @ numbers))
        else:
            steps, places = self._steps.locate(block)
            counts = np.bincount(places, minlength=size)
            if self._steps.boundary == "clamp":
                steps /= self._steps.width
                part = Tally(counts, np.bincount(places, steps, size), float(steps @ steps))
            else:
                part = Tally(counts, np.zeros(size), 0.0)
        self._tally = self._tally + part

    def find(self, column: str, name: str, confidence: float) -> list[ColumnEstimate]:
        steps, tally = self._steps, self._tally
        if steps is None:
            return [_mean(column, name, plain_mean(tally), tally.n, (0.0, 1.0), confidence)]
        values = np.unique(np.rint(np.linspace(0, steps.width, POINTS + 1)))
        shift = steps.shift(values)
        expected, middles = (
            (np.zeros(values.size), np.zeros(tally.counts.size))
            if shift is None
            else ((values + shift) / steps.width, steps.middles / steps.width)
        )
        matrix = steps.probabilities(values)
        mean = corrected_mean(tally, matrix, values / steps.width, expected, middles)
        place = (steps.low, steps.width * steps.unit)
        results = [_mean(column, name, mean, tally.n, place, confidence)]
        if self._bins is not None:
            channel, ranges = _binned(steps, self._bins)
            results.append(_distribution(column, name, channel, tally.counts, ranges, confidence))
        return results


def _binned(steps: Steps, bins: int) -> tuple[Channel, list[Range]]:
    """The channel from equal ranges of values, uniform within each, to the ranges of results; and the former."""
    bins = min(bins, steps.width + 1)
    starts = np.arange(bins) * (steps.width + 1) // bins
    ends = np.append(starts[1:], steps.width + 1)
    within = max(WITHIN, 4 * RANGES // bins)  # values closer than ranges of results, so that each of these is reached
    points = np.rint(np.linspace(starts, ends - 1, within, axis=1))
    matrix = steps.probabilities(points.reshape(-1)).reshape(bins, within, -1).mean(axis=1)
    matrix = np.maximum(matrix, 1e-15)
    channel = Channel.from_matrix(matrix / matrix.sum(axis=1, keepdims=True))
    lasts = ends - 1 if steps.whole else np.minimum(ends, steps.width)
    places = (steps.low + steps.unit * numbers for numbers in (starts, lasts))
    return channel, _ranges(*places)


def _distribution(
    column: str, name: str, channel: Channel, counts: np.ndarray, ranges: list[Range], confidence: float
) -> ColumnEstimate:
    found = estimate_reports(channel, counts, progress=False)
    lines = lines_of(ranges, found.distribution, found, confidence)
    return ColumnEstimate(column, name, "distribution", int(np.sum(counts)), confidence, found.method, lines)


def _mean(column: str, name: str, mean: Mean, n: int, place: tuple[float, float], confidence: float) -> ColumnEstimate:
    """A mean of values in [0, 1] as one of values from ``place[0]`` on, ``place[1]`` wide."""
    low, width = place
    half = NormalDist().inv_cdf((1 + confidence) / 2) * mean.std_error + mean.bias
    centre = low + width * mean.mean
    line = Line(None, centre, width * mean.std_error, centre - width * half, centre + width * half)
    method = "mean of reports" if not mean.bias else "mean of reports, corrected for the bounds"
    return ColumnEstimate(column, name, "mean", n, confidence, method, (line,))


def _equal(bounds: tuple[float, float], bins: int) -> list[Range]:
    edges = np.linspace(*bounds, bins + 1)
    return _ranges(edges[:-1], edges[1:])


def _ranges(starts: np.ndarray, ends: np.ndarray) -> list[Range]:
    return [Range(start, end) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def check_bins(bins: Any) -> int | None:
    """From 2 to 4,096 ranges, or None."""
    if bins is None:
        return None
    bins = validation.positive_integer("estimate", "bins", bins)
    if not 2 <= bins <= 4096:
        raise ParameterError(f"estimate: bins must be an integer from 2 to 4096, got {bins}")
    return bins
