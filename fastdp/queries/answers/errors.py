"""How far an answer may be from the truth of the bounded data: standard errors, and intervals exact for the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np

from fastdp.errors import ParameterError
from fastdp.mechanisms.central.key_selection import KeySelection
from fastdp.queries.answers.noise import Noise
from fastdp.queries.answers.ratios import fieller
from fastdp.queries.answers.selected import selected_intervals
from fastdp.queries.answers.variances import Scales, variance_set

Interval = tuple[np.ndarray, np.ndarray]
MEANS_PART = 1 / 25
"""The part of what may fail of a variance's interval that is spent on its mean, on which it hardly depends."""


class Errors(Protocol):
    """What there is to say of an answer's error."""

    @property
    def std_error(self) -> np.ndarray: ...

    def interval(self, level: float) -> Interval: ...


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveErrors:
    """Integer sums with noise, in steps of ``grid``; a count is not below 0."""

    values: np.ndarray
    noise: Noise
    grid: float
    is_count: bool = False

    @property
    def std_error(self) -> np.ndarray:
        return np.full(self.values.shape, math.sqrt(self.noise.variance) * self.grid)

    def interval(self, level: float) -> Interval:
        width = self.noise.half_width(level)
        low, high = (self.values - width) * self.grid, (self.values + width) * self.grid
        return (np.maximum(low, 0), np.maximum(high, 0)) if self.is_count else (low, high)


@dataclass(frozen=True, slots=True, eq=False)
class SelectedErrors:
    """Counts of keys that were selected by them."""

    values: np.ndarray
    selection: KeySelection

    @property
    def std_error(self) -> np.ndarray:
        k, rate = self.selection.threshold, self.selection.rate
        places = np.arange(1, k + 1, dtype=np.float64)
        weights = np.exp(-rate * places)
        variance = 2 * (places**2 * weights).sum() / (1 + 2 * weights.sum())
        return np.full(self.values.shape, math.sqrt(variance))

    def interval(self, level: float) -> Interval:
        low, high = selected_intervals(self.selection, self.values, level)
        return low.astype(np.float64), high.astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class RatioErrors:
    """A mean: the middle of the bounds and a noisy sum around it over a noisy count; Fieller's set."""

    sums: np.ndarray
    counts: np.ndarray
    noise: Noise
    count_noise: Noise
    count_step: float
    """What a step of the count is worth, in rows."""
    grid: float
    middle: float
    largest: int
    """The largest ratio, in steps: half the width of the bounds."""

    @property
    def ratios(self) -> np.ndarray:
        """Steps per row, within the bounds; 0 where the noisy count is not positive."""
        rows = self.counts * self.count_step
        plain = np.where(rows > 0, self.sums / np.where(rows > 0, rows, 1.0), 0.0)
        return np.clip(plain, -self.largest, self.largest)

    @property
    def values(self) -> np.ndarray:
        return np.asarray(self.middle + self.ratios * self.grid)

    @property
    def std_error(self) -> np.ndarray:
        """By the delta method, within half the width of the bounds."""
        rows = np.maximum(self.counts * self.count_step, self.count_step)
        variance = self.noise.variance + (self.ratios * self.count_step) ** 2 * self.count_noise.variance
        return np.minimum(np.sqrt(variance) / rows, self.largest) * self.grid

    def interval(self, level: float) -> Interval:
        step = self.count_step
        low, high = fieller(self.sums, self.counts, self.noise, self.count_noise, level, self.largest * step)
        return self.middle + low / step * self.grid, self.middle + high / step * self.grid


@dataclass(frozen=True, slots=True, eq=False)
class VarianceErrors:
    """A variance: the mean square less the squared mean; a set of means and variances, seen from the variance."""

    mean: RatioErrors
    square: RatioErrors
    """The mean square around the middle, its ratios from 0 on."""

    @property
    def values(self) -> np.ndarray:
        centred = self.mean.ratios * self.mean.grid
        return np.asarray(np.maximum(np.maximum(self.square.ratios, 0) * self.square.grid - centred**2, 0.0))

    @property
    def std_error(self) -> np.ndarray:
        centred = np.abs(self.mean.ratios) * self.mean.grid
        return np.asarray(np.hypot(self.square.std_error, 2 * centred * self.mean.std_error))

    def interval(self, level: float) -> Interval:
        mean, square = self.mean, self.square
        step, unit = mean.count_step, mean.grid
        scales = Scales(square.noise, square.grid, mean.noise, unit, mean.count_noise, step)
        low, high = mean.interval(1 - (1 - level) * MEANS_PART)
        low, high = low - mean.middle, high - mean.middle
        bottom, top = variance_set(
            scales, square.sums * square.grid, mean.sums * unit, mean.counts * step, (low, high),
            1 - (1 - level) * (1 - MEANS_PART), mean.largest * unit,
        )  # fmt: skip
        # Squares and sums were rounded toward zero, by less than a step for each row that counts.
        slack = 2 * square.grid
        return np.maximum(bottom - slack, 0.0), top + slack


@dataclass(frozen=True, slots=True, eq=False)
class NormalErrors:
    """Linear combinations of discrete Gaussian noise, each of whose standard deviations is known exactly."""

    values: np.ndarray
    deviations: np.ndarray

    @property
    def std_error(self) -> np.ndarray:
        return self.deviations

    def interval(self, level: float) -> Interval:
        width = self.deviations * NormalDist().inv_cdf((1 + level) / 2)
        return self.values - width, self.values + width


@dataclass(frozen=True, slots=True, eq=False)
class BracketErrors:
    """Quantiles between two others that were released for the purpose, at one level."""

    low: np.ndarray
    high: np.ndarray
    level: float

    @property
    def std_error(self) -> np.ndarray:
        """A quantile's error depends on the data around it, which no release tells."""
        return np.full(self.low.shape, math.nan)

    def interval(self, level: float) -> Interval:
        if level > self.level:
            raise ParameterError(f"Answer: these quantiles have intervals up to level {self.level:g}, not {level:g}")
        return self.low, self.high


@dataclass(frozen=True, slots=True, eq=False)
class UnknownErrors:
    """Quantiles without brackets: only how far their ranks may be off is known."""

    values: np.ndarray

    @property
    def std_error(self) -> np.ndarray:
        return np.full(self.values.shape, math.nan)

    def interval(self, level: float) -> Interval:  # noqa: ARG002
        raise ParameterError(
            "Answer: these quantiles were released without intervals; ask for them: quantiles(..., interval=0.95), or "
            "see rank_error"
        )
