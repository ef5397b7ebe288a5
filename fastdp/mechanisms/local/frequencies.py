"""What local protocols share: support counts that merge, and unbiased frequencies from them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from fastdp import optional, validation
from fastdp.binomial import normal_quantile, wilson
from fastdp.columns.categories import codes_result_type
from fastdp.display.html import to_html
from fastdp.display.plotting import draw_shares, new_axes
from fastdp.errors import ParameterError
from fastdp.mechanisms.annotations import DeclaredDomain
from fastdp.mechanisms.base import ColumnMechanism, FiniteMechanism
from fastdp.privacy import Privacy
from fastdp.results import Result
from fastdp.typing import Column

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.columns.reports import ReportType
    from fastdp.laws.coins import Coin
    from fastdp.losses import AtomicLoss


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """How many of ``n`` reports support each value; counts of batches and machines add up."""

    support: np.ndarray
    n: int

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts) or other.support.shape != self.support.shape:
            raise ParameterError("Counts: only counts of the same domain add up")
        return Counts(self.support + other.support, self.n + other.n)

    def __repr__(self) -> str:
        return f"Counts(n={self.n}, values={self.support.size})"


Shares = TypeVar("Shares", float, np.ndarray)
"""One share of the values, or one per value."""


class Score(NamedTuple):
    """The variance of an estimate if the frequency is f: constant + linear f + sampled f (1 - f).

    The last part is that of which people happen to be asked.
    """

    constant: np.ndarray | float
    linear: float
    sampled: float


@dataclass(frozen=True, slots=True, eq=False)
class FrequencyEstimate(Result):
    """Unbiased frequencies of each value, with their standard errors; they may be negative, and need not sum to 1.

    Standard errors are those of the frequencies among the people who reported.
    """

    estimated = "frequencies"

    frequencies: np.ndarray
    std_error: np.ndarray
    n: int
    score: Score | None = None
    rates: tuple[float, float] | None = None
    """p and q, if reports support values independently of one another: counts of support are then binomial."""

    def interval(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Score intervals, one per value, for its share among all people that those who reported are a sample of.

        They hold the frequencies f at which the estimate is no further off than z of the standard errors at f; where
        each report supports a value independently, that is Wilson's interval. Normal ones, with the estimated standard
        error, would cover far less than their level where few reports support a value.
        """
        z = normal_quantile(validation.level("FrequencyEstimate", level))
        if self.rates is not None:
            p, q = self.rates
            low, high = wilson(self.n * (q + (p - q) * self.frequencies), self.n, z)
            return (low - q) / (p - q), (high - q) / (p - q)
        constant, linear, sampled = self.score or Score(self.std_error**2, 0.0, 1 / self.n)
        width = z * z
        # (found - f)**2 = z**2 (constant + linear f + sampled f (1 - f)), a quadratic equation in f
        square = 1 + width * sampled
        middle = self.frequencies + width * (linear + sampled) / 2
        with np.errstate(invalid="ignore"):  # infinite where nothing is known
            rest = np.maximum(middle**2 - square * (self.frequencies**2 - width * constant), 0.0)
        half = np.sqrt(np.where(np.isfinite(constant), rest, np.inf))
        return (middle - half) / square, (middle + half) / square

    def to_dict(self, level: float | None = None) -> dict[str, Any]:
        """Everything in plain Python, with a level also the intervals.

        Parameters
        ----------
        level
            The probability that an interval holds the truth, between 0 and 1.
        """
        found: dict[str, Any] = {"frequency": self.frequencies.tolist(), "std_error": self.std_error.tolist()}
        if level is not None:
            low, high = self.interval(level)
            found |= {"low": low.tolist(), "high": high.tolist()}
        return found | {"n": self.n}

    def to_pandas(self, level: float | None = None) -> Any:
        """One row per value, as a pandas frame; needs pandas.

        Parameters
        ----------
        level
            The probability that an interval holds the truth, between 0 and 1.
        """
        pandas = optional.load("FrequencyEstimate.to_pandas", "pandas", extra="pandas")
        columns = self.to_dict(level)
        del columns["n"]
        return pandas.DataFrame(columns)

    def plot(self, *, level: float = 0.95, ax: Any = None) -> Any:
        """Frequencies with their intervals; needs matplotlib. Returns the axes.

        Parameters
        ----------
        level
            The level of the intervals.
        ax
            The axes to draw on; new ones by default.
        """
        return draw_shares(new_axes("FrequencyEstimate.plot", ax), self.frequencies, interval=self.interval(level))

    def _repr_html_(self) -> str:
        rows = [
            [f"{i}", f"{share:.4f}", f"{error:.4f}"]
            for i, (share, error) in enumerate(zip(self.frequencies, self.std_error, strict=True))
        ]
        return to_html(f"Frequencies from {self.n:,} reports", rows, head=["value", "frequency", "std_error"])

    def __repr__(self) -> str:
        return f"FrequencyEstimate(n={self.n}, values={self.frequencies.size})"


class FrequencyProtocol(ColumnMechanism):
    """A local protocol whose reports support values: the true one with probability p, any given other one with q."""

    __slots__ = ()
    domain: DeclaredDomain

    @property
    def report_type(self) -> ReportType | None:
        """The type of the reports; None where they are values again."""
        return None

    def result_type(self, arrow_type: pa.DataType) -> pa.DataType:
        """The arrow type of the reports: that of the values where reports are values again."""
        own = codes_result_type(type(self).__name__, arrow_type, self.domain)
        return own if self.report_type is None else self.report_type.arrow_type()

    @property
    def aggregates_outputs(self) -> bool:
        """Whether `aggregate` counts the outputs of the channel, and not the values that reports support."""
        return False

    @property
    def reports_values(self) -> bool:
        """Whether its reports are values again: labels of labels, codes of codes."""
        return self.report_type is None

    @property
    def has_text(self) -> bool:
        """Whether its values are labels that are text."""
        return self.domain.labels is not None and isinstance(self.domain.labels[0], str)

    def value_names(self) -> Sequence[Any] | None:
        """The labels of the domain; None where values are codes."""
        return self.domain.labels

    @property
    @abstractmethod
    def p(self) -> float:
        """The probability of a report to support the true value."""

    @property
    @abstractmethod
    def q(self) -> float:
        """The probability of a report to support a given other value."""

    @abstractmethod
    def aggregate(self, reports: Column) -> Counts:
        """How many reports support each value, in one pass; counts of batches add up.

        Parameters
        ----------
        reports
            This mechanism's reports, a column of any container.
        """

    def variance(self, n: int, frequency: float = 0.0) -> float:
        """The variance of the estimated frequency of one value over ``n`` reports.

        Parameters
        ----------
        n
            The number of reports.
        frequency
            The true share of the value.
        """
        n, frequency = check_variance_arguments(type(self).__name__, n, frequency)
        return float(protocol_variance(self.p, self.q, n, frequency))

    def estimate(self, reports: Column) -> FrequencyEstimate:
        """Unbiased frequencies of each value, with standard errors, from reports or from their counts.

        Parameters
        ----------
        reports
            The reports, or what `aggregate` made of them, added up over batches.
        """
        return unbiased(self.p, self.q, self._counts_of(reports))

    def _counts_of(self, reports: Column) -> Counts:
        """The counts of reports, or the given ones if they can be this protocol's."""
        if not isinstance(reports, Counts):
            return self.aggregate(reports)
        owner, shape = type(self).__name__, self._support_shape()
        if reports.support.shape != shape:
            raise ParameterError(f"{owner}: the counts must be of shape {shape}, got {reports.support.shape}")
        return reports

    def _support_shape(self) -> tuple[int, ...]:
        """The shape of this protocol's counts."""
        return (self.domain.size,)


def protocol_variance(p: float, q: float, n: int, frequency: Shares) -> Shares:
    """(q (1-q) / (p-q)**2 + f (1-p-q) / (p-q)) / n: the variance of one value's estimate over n reports."""
    return (q * (1 - q) / (p - q) ** 2 + frequency * (1 - p - q) / (p - q)) / n


def unbiased(p: float, q: float, counts: Counts) -> FrequencyEstimate:
    """(support / n - q) / (p - q), each with its standard error at the estimated frequency."""
    if counts.n < 1:
        raise ParameterError("estimate: there are no reports")
    frequencies = (counts.support / counts.n - q) / (p - q)
    errors = np.sqrt(protocol_variance(p, q, counts.n, np.clip(frequencies, 0, 1)))
    constant, linear = (protocol_variance(p, q, counts.n, f) for f in (0.0, 1.0))
    return FrequencyEstimate(frequencies, errors, counts.n, Score(constant, linear - constant, 1 / counts.n), (p, q))


def check_variance_arguments(owner: str, n: int, frequency: float) -> tuple[int, float]:
    """A number of reports and a frequency in [0, 1]."""
    n = validation.positive_integer(owner, "n", n)
    if not validation.is_number(frequency) or not 0 <= frequency <= 1 or math.isnan(frequency):
        raise ParameterError(f"{owner}: frequency must be a number from 0 to 1, got {frequency!r}")
    return n, float(frequency)


class ReportLaw(Protocol):
    """The exact probabilities of a protocol's reports, and what they cost."""

    @property
    def p(self) -> Fraction | float: ...

    @property
    def q(self) -> Fraction | float: ...

    @property
    def cost(self) -> float: ...

    def loss(self) -> AtomicLoss: ...


class LawProtocol(FrequencyProtocol):
    """Local protocols whose probabilities, guarantee and losses are those of one law."""

    __slots__ = ()
    _law: ReportLaw

    @property
    def p(self) -> float:
        """The probability of a report to support the true value."""
        return float(self._law.p)

    @property
    def q(self) -> float:
        """The probability of a report to support a given other value."""
        return float(self._law.q)

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the sampler as implemented, from its integer weights, rounded up."""
        return Privacy(epsilon=self._law.cost, unit="report", neighbours="replace")

    def losses(self) -> tuple[AtomicLoss, ...]:
        """The privacy loss of one value's report instead of another's."""
        return (self._law.loss(),)


class CoinProtocol(FrequencyProtocol):
    """Local protocols whose reports are bits: the true value's is one coin, any other value's another."""

    __slots__ = ()
    _truth: Coin
    _noise: Coin

    @property
    def p(self) -> float:
        """The probability of the true value's bit to be set."""
        return float(self._truth.exact)

    @property
    def q(self) -> float:
        """The probability of any other bit to be set."""
        return float(self._noise.exact)


class FlippedBits(CoinProtocol):
    """Local protocols whose reports are bits, each flipped with the same probability."""

    __slots__ = ()

    @property
    def _truth(self) -> Coin:  # type: ignore[override]  # it follows from the other coin
        return self._noise.opposite


class CategoryReports(FrequencyProtocol, FiniteMechanism):
    """Local protocols whose reports are values again: support counts are those of the channel's outputs."""

    __slots__ = ()

    @property
    def aggregates_outputs(self) -> bool:
        """Whether `aggregate` counts the outputs of the channel, and not the values that reports support."""
        return True

    def count_outputs(self, reports: Column) -> np.ndarray:
        """How many reports name each value, in one pass; counts of batches add up."""
        return self.aggregate(reports).support
