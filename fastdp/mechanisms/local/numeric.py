"""Local reports of numbers within bounds, for means: Duchi's two points, the piecewise mechanism, their hybrid."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import optional, validation
from fastdp.channels.window import WindowChannel
from fastdp.columns.numeric import Nulls, numeric_result_type, read_numeric
from fastdp.display.html import to_html
from fastdp.display.plotting import new_axes
from fastdp.engine.runner import run
from fastdp.errors import DomainError, ParameterError
from fastdp.kernels.local.count_numbers import LANES, add_reports, count_reports
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
from fastdp.mechanisms.base import ColumnMechanism, FiniteMechanism, set_fields
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, resolve
from fastdp.results import Result
from fastdp.typing import Column

if TYPE_CHECKING:
    import pyarrow as pa

SMALLEST_EPSILON, LARGEST_EPSILON = 2.0**-20, 20.0
SMALLEST_WIDTH, LARGEST_WIDTH = 2.0**-900, 2.0**900
RESOLUTION = 2.0**-10
"""The largest part of the bounds' width that may lie between two numbers of the reports' type."""
BINS = 256
REPORT_SLACK = 2.0**-22
"""Reports may have been rounded to float32 on their way."""
HYBRID_FROM = math.log(
    (-5 + 2 * (6353 - 405 * math.sqrt(241)) ** (1 / 3) + 2 * (6353 + 405 * math.sqrt(241)) ** (1 / 3)) / 27
)
"""The epsilon from which a mix beats two points alone in the worst case, about 0.6093525."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over ``n`` reports of their distances from ``centre``, and of the squares of these; they add up."""

    total: float
    squares: float
    n: int
    centre: float = 0.0

    def __add__(self, other: Sums) -> Sums:
        if not isinstance(other, Sums) or other.centre != self.centre:
            raise ParameterError("Sums: only sums of the same mechanism add up")
        return Sums(self.total + other.total, self.squares + other.squares, self.n + other.n, self.centre)


@dataclass(frozen=True, slots=True)
class MeanEstimate(Result):
    """An unbiased mean, with its standard error; it may lie outside the bounds."""

    estimated = "mean"

    mean: float
    std_error: float
    n: int

    def interval(self, level: float) -> tuple[float, float]:
        """A normal confidence interval."""
        from statistics import NormalDist

        width = NormalDist().inv_cdf((1 + validation.level("MeanEstimate", level)) / 2) * self.std_error
        return self.mean - width, self.mean + width

    def to_dict(self, level: float | None = None) -> dict[str, Any]:
        """Everything in plain Python, with a level also the interval.

        Parameters
        ----------
        level
            The probability that the interval holds the truth, between 0 and 1.
        """
        ends = {} if level is None else dict(zip(("low", "high"), self.interval(level), strict=True))
        return {"mean": self.mean, "std_error": self.std_error, **ends, "n": self.n}

    def to_pandas(self, level: float | None = None) -> Any:
        """The same as a pandas frame of one row; needs pandas.

        Parameters
        ----------
        level
            The probability that the interval holds the truth, between 0 and 1.
        """
        pandas = optional.load("MeanEstimate.to_pandas", "pandas", extra="pandas")
        return pandas.DataFrame([self.to_dict(level)])

    def plot(self, *, level: float = 0.95, ax: Any = None) -> Any:
        """The mean with its interval; needs matplotlib. Returns the axes.

        Parameters
        ----------
        level
            The level of the interval.
        ax
            The axes to draw on; new ones by default.
        """
        axes = new_axes("MeanEstimate.plot", ax)
        low, high = self.interval(level)
        axes.errorbar([self.mean], [0], xerr=[[self.mean - low], [high - self.mean]], fmt="o", capsize=3)
        axes.set(xlabel="mean", yticks=[])
        return axes

    def _repr_html_(self) -> str:
        low, high = self.interval(0.95)
        row = [f"{number:.6g}" for number in (self.mean, self.std_error, low, high)]
        return to_html(f"Mean from {self.n:,} reports", [row], head=["mean", "std_error", "low, 95 %", "high, 95 %"])


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


@frozen()
class Duchi(MeanReports):
    """Report one of two numbers, unbiased: the upper one the more often the larger the value.

    epsilon-local DP for one report per person. With the bounds scaled to [-1, 1] reports are -B and B,
    B = (e**epsilon + 1) / (e**epsilon - 1). Values beyond the ``bounds`` count as the bounds, which are declared, never
    inferred. The best of its kind for epsilon below 0.6; above 1.29 see :class:`Piecewise`, or :class:`Hybrid` for all.

    2 random bytes per report. [Duchi, Jordan, Wainwright 2018]

    Parameters
    ----------
    epsilon
        The privacy of one report.
    bounds
        The interval (low, high) that values are clamped to; public.

    >>> import fastdp as fd
    >>> from fastdp.mechanisms.local.numeric import Duchi
    >>> mechanism = Duchi(epsilon=1.0, bounds=(0, 100))
    >>> mechanism.randomize([20.0, 30.0, 70.0], rng=fd.Rng.unsafe_seed(7))
    [158.19767070..., -58.19767070..., 158.19767070...]
    """

    bounds: Pair

    def __post_init__(self) -> None:
        self._set_up_mean(lambda _: 0)

    @property
    def p(self) -> float:
        """The probability of the upper report at the upper bound."""
        return float(1 - self._two_point.q)

    @property
    def q(self) -> float:
        """The probability of the upper report at the lower bound."""
        return float(self._two_point.q)


@frozen()
class Piecewise(MeanReports, FiniteMechanism):
    """Report a number from a window around the value, with a larger probability than one from outside it; unbiased.

    epsilon-local DP for one report per person. With the bounds scaled to [-1, 1] reports lie in [-C, C],
    C = (e**(epsilon/2) + 1) / (e**(epsilon/2) - 1), and the window has the width C - 1. Values are rounded to 2**-20 of
    the bounds' width, or finer; those beyond the ``bounds`` count as the bounds, which are declared, never inferred.
    Better than :class:`Duchi` in the worst case for epsilon above 1.29, and on small values below it.

    6 random bytes per report. [Wang et al. 2019]

    Parameters
    ----------
    epsilon, bounds
        As in `Duchi`.

    >>> import fastdp as fd
    >>> from fastdp.mechanisms.local.numeric import Piecewise
    >>> mechanism = Piecewise(epsilon=4.0, bounds=(0, 100))
    >>> mechanism.randomize([20.0, 30.0, 70.0], rng=fd.Rng.unsafe_seed(7))
    [8.50688012..., 33.91157161..., 77.46371606...]
    """

    bounds: Pair

    def __post_init__(self) -> None:
        self._set_up_mean(lambda _: ALL)

    def channel(self, bins: int = BINS) -> WindowChannel:
        """The channel from equal bins of the bounds to the bins of reports that :meth:`count_outputs` counts.

        Parameters
        ----------
        bins
            The number of equal bins of the bounds.
        """
        return window_channel(self._window, validation.positive_integer("Piecewise", "bins", bins))

    def count_outputs(self, reports: Column, bins: int = BINS) -> np.ndarray:
        """How many reports fall in each output bin of the channel, for an estimate of the whole distribution.

        Parameters
        ----------
        reports
            This mechanism's reports, a column of any container.
        bins
            The number of equal bins of the bounds.
        """
        channel, (low, high) = self.channel(bins), self.bounds
        contrast, middle = float(self._window.contrast), self._kernel[1].middle
        first, slope = middle - (middle - low) / contrast, contrast * bins / (high - low)
        counts = np.zeros((4, channel.shape[1]), np.int64)
        self._add_up(
            reports,
            lambda block, least, most: count_reports(block, first, slope, float(channel.margin), least, most, counts),
        )
        total: np.ndarray = counts.sum(axis=0)
        return total


@frozen()
class Hybrid(MeanReports):
    """Report by :class:`Piecewise` with probability 1 - e**(-epsilon/2), else by :class:`Duchi`; unbiased.

    epsilon-local DP for one report per person. The coin does not depend on the value, and evens the variance out: it is
    the same for all values, and below the worst case of both. For epsilon up to 0.6093525 this is Duchi alone. Values
    beyond the ``bounds`` count as the bounds, which are declared, never inferred.

    8 random bytes per report, or 2. [Wang et al. 2019]

    Parameters
    ----------
    epsilon
        The privacy of one report; above 0.61 it also decides how often a report is by the window.
    bounds
        The interval (low, high) that values are clamped to; public.

    >>> import fastdp as fd
    >>> from fastdp.mechanisms.local.numeric import Hybrid
    >>> Hybrid(epsilon=1.0, bounds=(0, 100)).randomize([20.0, 30.0, 70.0], rng=fd.Rng.unsafe_seed(7))
    [-93.19155862..., 241.41947348..., 158.19767070...]
    >>> round(Hybrid(epsilon=1.0, bounds=(0, 100)).share, 3)
    0.393
    """

    bounds: Pair

    def __post_init__(self) -> None:
        self._set_up_mean(lambda epsilon: round(-math.expm1(-epsilon / 2) * ALL) if epsilon > HYBRID_FROM else 0)

    @property
    def share(self) -> float:
        """The probability of a report by :class:`Piecewise`."""
        return float(self._share / ALL)
