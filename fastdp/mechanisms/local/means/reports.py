"""Local mechanisms that report a number within bounds: the two laws they mix, and what reports can be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.channels.window import WindowChannel
from fastdp.columns.numeric import Nulls, numeric_result_type, read_numeric
from fastdp.engine.runner import run
from fastdp.errors import DomainError, ParameterError
from fastdp.kernels.local.count_numbers import LANES, add_reports
from fastdp.kernels.local.numeric import ALL, TwoPoint, Window, fill_numeric
from fastdp.laws.local.two_point import TwoPointLaw
from fastdp.laws.local.window import WindowLaw
from fastdp.laws.loss_atoms import atomic, mixed
from fastdp.laws.rate import Rate
from fastdp.losses import AtomicLoss
from fastdp.mechanisms.annotations import (
    Pair,
    computed,
    frozen,
    gives_values,
)
from fastdp.mechanisms.base import ColumnMechanism, set_fields
from fastdp.mechanisms.local.means.estimate import MeanEstimate, Sums
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, resolve
from fastdp.typing import Column

if TYPE_CHECKING:
    import pyarrow as pa


SMALLEST_EPSILON, LARGEST_EPSILON = 2.0**-20, 20.0
SMALLEST_WIDTH, LARGEST_WIDTH = 2.0**-900, 2.0**900
RESOLUTION = 2.0**-10
"""The largest part of the bounds' width that may lie between two numbers of the reports' type."""
REPORT_SLACK = 2.0**-22
"""Reports may have been rounded to float32 on their way."""


@frozen()
class NumericReports(ColumnMechanism):
    """Mechanisms that report a number within bounds: by two points, by a window, or by one of them at random."""

    epsilon: float
    bounds: Pair
    _two_point: TwoPointLaw = computed()
    _window: WindowLaw = computed()
    _share: int = computed()
    _kernel: tuple[TwoPoint, Window] = computed()

    def _set_up(self, window: WindowLaw, share: int, contrast: Fraction) -> None:
        """Take over validated parameters; ``share`` / 2**16 of the reports are window reports."""
        low, high = self.bounds
        two_point = TwoPointLaw(window.rate)
        laws = two_point.realise(low, high), window.realise(low, high, contrast)
        set_fields(self, _two_point=two_point, _window=window, _share=share, _kernel=laws)
        self._ends(np.dtype(np.float64))

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the sampler as implemented, from its integer thresholds, rounded up."""
        cost = max(self._window.cost, self._two_point.cost)
        return Privacy(epsilon=cost, unit="report", neighbours="replace")

    @gives_values
    def randomize(self, values: Column, *, rng: Rng | None = None, nulls: Nulls = "error") -> Any:
        """One report per value, in the caller's own kind of container; integers are reported as float64.

        Values beyond the bounds, infinite ones too, count as the bounds. NaN is refused.
        """
        owner = type(self).__name__
        column = read_numeric(owner, values, "float", nulls=nulls)
        self._ends(column.result_dtype)
        two_point, window = self._kernel
        share = np.int32(self._share)

        def block(key: Any, slot: Any, _first: int, values: np.ndarray, memory: Any, result: np.ndarray) -> None:
            if fill_numeric(key, slot, two_point, window, share, values, memory.scratch, result):
                raise DomainError(f"{owner}: the values hold NaN; drop or replace them first")

        return run(owner, column, resolve(owner, rng), block)

    def losses(self) -> tuple[AtomicLoss, ...]:
        """The privacy loss of one bound's report instead of the other's; which law was drawn is taken as known."""
        share = Fraction(self._share, ALL)
        return (atomic(mixed([(share, self._window.pairs()), (1 - share, self._two_point.pairs())])),)

    def result_type(self, arrow_type: pa.DataType) -> pa.DataType:
        """The type of the values, or float64 for integers."""
        kind = numeric_result_type(type(self).__name__, arrow_type, "float")
        self._ends(np.dtype(kind.to_pandas_dtype()))  # which refuses a type too narrow for the bounds
        return kind

    def _ends(self, dtype: np.dtype[Any]) -> tuple[float, float]:
        """The smallest and largest reports, which the type must hold, and finely enough to tell values apart."""
        low, high = self.bounds
        two_point, window = self._kernel
        reach = 0.0 if self._share == 0 else window.centre * window.step
        least, most = window.middle - reach, window.middle + reach
        if self._share < ALL:
            least, most = min(least, two_point.minus), max(most, two_point.plus)
        with np.errstate(over="ignore"):
            spacing = np.spacing(np.abs(np.array([low, high])).max().astype(dtype))
            held = np.isfinite(np.array([least, most]).astype(dtype)).all()
        if not held or not spacing <= RESOLUTION * (high - low):
            raise ParameterError(
                f"{type(self).__name__}: {dtype} cannot hold reports for these bounds; use a wider type, or shift or "
                "rescale the data"
            )
        return least, most

    def _add_up(self, reports: Column, add: Callable[[np.ndarray, float, float], int]) -> int:
        """The number of reports, after ``add(block, least, most)`` of each block; impossible ones are refused."""
        owner = type(self).__name__
        column = read_numeric(owner, reports, "float")
        least, most = self._ends(np.dtype(np.float64))
        slack = REPORT_SLACK * max(abs(least), abs(most))
        for block in column.blocks(owner):
            if add(block, least - slack, most + slack):
                raise DomainError(f"{owner}: the reports hold numbers that it cannot have reported")
        return column.size


def window_channel(window: WindowLaw, bins: int) -> WindowChannel:
    """The channel from bins of the bounds to bins of the same width that cover all reports."""
    p, q = window.densities
    return WindowChannel(bins, Fraction(window.width, window.cells) * bins, float(p / bins), float(q / bins))


def read_parameters(owner: str, epsilon: float, bounds: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """An epsilon that the samplers resolve, and bounds whose width float64 can work with."""
    epsilon = validation.positive(owner, "epsilon", epsilon)
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise ParameterError(
            f"{owner}: epsilon must lie between 2**-20 and {LARGEST_EPSILON:g}, the sampler's resolution, got {epsilon}"
        )
    low, high = validation.bounds(owner, bounds, integers=False)
    if not SMALLEST_WIDTH <= high - low <= LARGEST_WIDTH:
        raise ParameterError(f"{owner}: bounds must be between 2**-900 and 2**900 apart; rescale the data")
    return epsilon, (low, high)


class MeanReports(NumericReports):
    """Reports that are unbiased for the value, in its own units."""

    __slots__ = ()

    def _set_up_mean(self, share_of: Callable[[float], int]) -> None:
        owner = type(self).__name__
        epsilon, bounds = read_parameters(owner, self.epsilon, self.bounds)
        set_fields(self, epsilon=epsilon, bounds=bounds)
        window = WindowLaw.of_share(Rate.below(Fraction(epsilon)), math.exp(-epsilon / 2))
        self._set_up(window, share_of(epsilon), window.contrast)

    def variance(self, n: int, value: float | None = None) -> float:
        """The variance of the estimated mean over ``n`` reports of ``value``; of the worst value if none is given.

        Parameters
        ----------
        n
            The number of reports.
        value
            The value that all reports are of; by default the worst one.
        """
        owner = type(self).__name__
        n = validation.positive_integer(owner, "n", n)
        low, high = (Fraction(bound) for bound in self.bounds)
        if value is None:
            per_report = max(self._variance(Fraction(t)) for t in (0, 1))  # a multiple of t**2, and a constant
        else:
            number = validation.as_float(value)
            if math.isnan(number):
                raise ParameterError(f"{owner}: value must be a number, got {value!r}")
            inside = Fraction(min(max(number, self.bounds[0]), self.bounds[1]))
            per_report = self._variance((2 * inside - low - high) / (high - low))
        return float(per_report * (high - low) ** 2 / 4 / n)

    def _variance(self, t: Fraction) -> Fraction:
        """The variance of one report of t when the bounds are (-1, 1)."""
        window, share = self._window, Fraction(self._share, ALL)
        _, spread = window.moments((1 + t) * window.cells / 2)
        return share * spread * (2 / (window.cells * window.contrast)) ** 2 + (1 - share) * self._two_point.variance(t)

    def aggregate(self, reports: Column) -> Sums:
        """The sums of the reports and of their squares, in one pass; sums of batches add up.

        Parameters
        ----------
        reports
            This mechanism's reports, a column of any container.
        """
        centre = self._kernel[1].middle
        sums = np.zeros((2, LANES))
        n = self._add_up(reports, lambda block, least, most: add_reports(block, centre, least, most, sums))
        total, squares = sums.sum(axis=1).tolist()
        return Sums(total, squares, n, centre)

    def estimate(self, reports: Column) -> MeanEstimate:
        """The unbiased mean of the values, with its standard error, from reports or from their sums.

        Parameters
        ----------
        reports
            The reports, or what `aggregate` made of them, added up over batches.
        """
        sums = reports if isinstance(reports, Sums) else self.aggregate(reports)
        if sums.n < 1:
            raise ParameterError("estimate: there are no reports")
        if sums.centre != self._kernel[1].middle:
            raise ParameterError(f"{type(self).__name__}: the sums are those of a mechanism with other bounds")
        mean = sums.total / sums.n
        if sums.n == 1:
            return MeanEstimate(sums.centre + mean, math.sqrt(self.variance(1)), 1)
        variance = max(0.0, sums.squares - sums.total * mean) / (sums.n - 1)
        return MeanEstimate(sums.centre + mean, math.sqrt(variance / sums.n), sums.n)
