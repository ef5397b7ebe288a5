"""An unbiased mean with its standard error, and the sums that it is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastdp import optional, validation
from fastdp.display.html import to_html
from fastdp.display.plotting import new_axes
from fastdp.errors import ParameterError
from fastdp.results import Result


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
