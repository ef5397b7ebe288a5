"""Columns whose nullness is reported by randomized response: the share of nulls, and the mean of the other values.

Among the rows that are not reported as null are nulls, too, which report a public number. With p the probability of the
truth and R the share of rows with a number, the share of values among those is w = p (R - (1 - p)) / ((2 p - 1) R), and
the mean of all numbers is w times the mean of the values, plus 1 - w times the public one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

from fastdp.plans.column_entry import ColumnEntry
from fastdp.tables.estimating.results import ColumnEstimate, Line

if TYPE_CHECKING:
    from fastdp.plans.part import PlanPart

NULL = "null"
NOT_BINNED = "with null_share only the mean and the share of nulls are estimated"


@dataclass(slots=True)
class NullTally:
    """How many rows there are, and how many of them have a number."""

    keep: float
    """The probability that randomized response tells the truth."""
    filler: float
    """The number that stands in for nulls."""
    bounds: tuple[float, float]
    rows: int = 0
    present: int = 0

    def add(self, rows: int, present: int) -> None:
        """Count the rows of a batch."""
        self.rows += rows
        self.present += present

    def conclude(self, found: list[ColumnEstimate]) -> list[ColumnEstimate]:
        """The mean of the values, from the ``found`` mean of all numbers, and the share of nulls."""
        (mean,) = [one for one in found if one.kind == "mean"]
        return [self._mean(mean), self._share(mean)]

    @property
    def _reported(self) -> tuple[float, float]:
        """The share of rows with a number, and its standard error."""
        part = self.present / self.rows
        return part, math.sqrt(part * (1 - part) / self.rows)

    def _share(self, mean: ColumnEstimate) -> ColumnEstimate:
        part, error = self._reported
        spread = 2 * self.keep - 1
        share, error = (self.keep - part) / spread, error / spread
        half = _quantile(mean.level) * error
        low, high = (min(max(end, 0.0), 1.0) for end in (share - half, share + half))
        line = Line(NULL, min(max(share, 0.0), 1.0), error, low, high, determined=not high - low > 0.5)
        return replace(mean, kind="shares", reports=self.rows, method="randomized response on nulls", lines=(line,))

    def _mean(self, mean: ColumnEstimate) -> ColumnEstimate:
        (line,) = mean.lines
        part, error = self._reported
        keep, z = self.keep, _quantile(mean.level)
        weight = keep * (part - (1 - keep)) / ((2 * keep - 1) * part)
        weight_error = keep * (1 - keep) / ((2 * keep - 1) * part**2) * error
        low, high = self.bounds
        if not weight > 2 * z * weight_error:  # hardly any value is there, as far as the reports tell
            return replace(mean, lines=(Line(None, (low + high) / 2, math.nan, low, high, determined=False),))
        away = (line.estimate - self.filler) / weight
        by_weight = abs(away) / weight * weight_error
        centre, half = self.filler + away, math.hypot((line.high - line.low) / 2 / weight, z * by_weight)
        shown, start, end = (min(max(one, low), high) for one in (centre, centre - half, centre + half))
        made = Line(None, shown, math.hypot(line.std_error / weight, by_weight), start, end)
        return replace(mean, method=f"{mean.method}, corrected for the nulls among them", lines=(made,))


def open_tally(part: PlanPart) -> NullTally | None:
    """A tally for a column that reports nullness by itself."""
    if not isinstance(part, ColumnEntry) or part.null_share is None:
        return None
    low, high = part.mechanism.bounds
    return NullTally(part.null_share.response.p, float(part.policies.filled), (float(low), float(high)))


def _quantile(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)
