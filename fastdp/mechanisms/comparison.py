"""Local protocols side by side: what each costs in error and in bytes, computed and measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import optional, validation
from fastdp.display.html import to_html
from fastdp.display.plotting import new_axes
from fastdp.errors import ParameterError
from fastdp.mechanisms.local.frequencies import FrequencyProtocol
from fastdp.mechanisms.registry import find_protocol
from fastdp.random.rng import Rng

if TYPE_CHECKING:
    import pyarrow as pa

PROTOCOLS = ("krr", "oue", "sue", "olh", "blh", "subset", "hadamard", "thresholded_histogram", "summed_histogram")
"""What `recommend` chooses from, by plan word."""
SAME = 1.01
"""Errors that differ by less than this factor count as equal, and bytes decide."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison:
    """Standard errors of one value's frequency, protocols by epsilons, with the bytes that a report takes.

    ``error`` is computed from the protocols' own probabilities; ``measured`` is the root mean square over all values of
    what estimates from ``n`` drawn reports were off by, nan where nothing was drawn.
    """

    protocols: tuple[str, ...]
    """Their names, in the order of the rows."""
    epsilons: tuple[float, ...]
    """In the order of the columns."""
    k: int
    """Values of the domain."""
    n: int
    """Reports."""
    error: np.ndarray
    """Standard errors, computed."""
    measured: np.ndarray
    """Root mean square errors of drawn reports, or nan."""
    bytes: np.ndarray
    """Bytes of a report."""

    def to_arrow(self) -> pa.Table:
        """One row per protocol and epsilon."""
        import pyarrow as pa

        count = len(self.epsilons)
        return pa.table(
            {
                "protocol": [name for name in self.protocols for _ in range(count)],
                "epsilon": list(self.epsilons) * len(self.protocols),
                "error": self.error.ravel(),
                "measured": pa.array(self.measured.ravel(), from_pandas=True),
                "bytes": self.bytes.ravel(),
            }
        )

    def to_pandas(self) -> Any:
        """The same as a pandas frame; needs pandas."""
        optional.load("Comparison.to_pandas", "pandas", extra="pandas")
        return self.to_arrow().to_pandas()

    def plot(self, *, ax: Any = None) -> Any:
        """Errors by epsilon: lines as computed, dots as measured; needs matplotlib. Returns the axes.

        Parameters
        ----------
        ax
            The axes to draw on; new ones by default.
        """
        axes = new_axes("Comparison.plot", ax)
        for name, error, measured in zip(self.protocols, self.error, self.measured, strict=True):
            (line,) = axes.plot(self.epsilons, error, label=name)
            axes.plot(self.epsilons, measured, "o", color=line.get_color())
        axes.set(xlabel="epsilon", ylabel="standard error of a frequency", yscale="log")
        axes.set_title(f"{self.k:,} values, {self.n:,} reports")
        axes.legend()
        return axes

    def _rows(self) -> list[list[str]]:
        names = [f"{epsilon:g}" for epsilon in self.epsilons]
        rows = [
            [name, *(f"{error:.4g}" for error in line)] for name, line in zip(self.protocols, self.error, strict=True)
        ]
        return [["epsilon", *names], *rows]

    def __repr__(self) -> str:
        rows = [row[:9] for row in self._rows()[:20]]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(word.rjust(width) for word, width in zip(row, widths, strict=True)) for row in rows]
        head = f"Comparison of {len(self.protocols)} protocols, {self.k:,} values, {self.n:,} reports: standard errors"
        return "\n".join([head, *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        return to_html(f"Standard errors, {self.k:,} values, {self.n:,} reports", rows, head=head)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The protocol with the least error, and the one with the smallest reports.

    Where errors are within 1 % of one another the smaller reports win, and of equal reports the smaller error.
    """

    by_error: str
    """The name of the protocol with the least error."""
    by_communication: str
    """The name of the one with the smallest reports."""
    comparison: Comparison = field(repr=False, compare=False)
    """What both were chosen by."""


def compare(
    protocols: Sequence[str | Callable[..., Any]],
    epsilons: Sequence[float],
    k: int,
    n: int,
    *,
    measure: bool = True,
    rng: Rng | None = None,
) -> Comparison:
    """Local protocols side by side: the standard error of a frequency, and the bytes of a report.

    Computed from each protocol's own probabilities for a value that one in k has, and measured on ``n`` reports of
    values that are equally frequent.

    Parameters
    ----------
    protocols
        Names or plan words of protocols on categories, such as "KRR" or "oue", or their classes.
    epsilons
        The epsilons to compare at.
    k
        The number of values.
    n
        The number of reports.
    measure
        Whether to draw reports as well; it takes as long as ``n`` reports of each protocol and epsilon.
    rng
        Where randomness comes from; by default the process's own stream.

    >>> import fastdp as fd
    >>> fd.compare(["krr", "oue"], epsilons=[0.5, 1.0], k=100, n=10_000, measure=False)
    Comparison of 2 protocols, 100 values, 10,000 reports: standard errors
      epsilon     0.5        1
          krr  0.1544  0.05889
          oue  0.0396  0.01922
    """
    owner = "compare"
    k, n = validation.positive_integer(owner, "k", k), validation.positive_integer(owner, "n", n)
    if k < 2:
        raise ParameterError(f"{owner}: k must be at least 2")
    if isinstance(protocols, str) or not len(protocols) or not len(epsilons):
        raise ParameterError(f"{owner}: give at least one protocol and one epsilon, in lists")
    made = [[_make(owner, one, epsilon, k) for epsilon in epsilons] for one in protocols]
    errors = np.array([[math.sqrt(one.variance(n, 1 / k)) for one in line] for line in made])
    measured = np.full_like(errors, math.nan)
    if measure:
        truth = np.arange(n) % k
        measured = np.array([[_measure(one, truth, rng) for one in line] for line in made])
    sizes = np.array([[_bytes(one) for one in line] for line in made])
    names = tuple(one if isinstance(one, str) else one.__name__ for one in protocols)
    return Comparison(names, tuple(float(epsilon) for epsilon in epsilons), k, n, errors, measured, sizes)


def recommend(epsilon: float, k: int, n: int) -> Recommendation:
    """The local protocol to choose for a domain of k values: by error, and by communication.

    Parameters
    ----------
    epsilon
        The privacy of one report.
    k
        The number of values.
    n
        The number of reports.

    >>> import fastdp as fd
    >>> fd.recommend(epsilon=1.0, k=4, n=10_000)
    Recommendation(by_error='krr', by_communication='krr')
    >>> fd.recommend(epsilon=1.0, k=1000, n=10_000).by_communication
    'hadamard'
    """
    found = compare(PROTOCOLS, [epsilon], k, n, measure=False)
    errors, sizes = found.error[:, 0], found.bytes[:, 0]
    near = np.flatnonzero(errors <= errors.min() * SAME)
    by_error = min(near, key=lambda i: (sizes[i], errors[i]))
    by_size = min(range(len(sizes)), key=lambda i: (sizes[i], errors[i]))
    return Recommendation(PROTOCOLS[by_error], PROTOCOLS[by_size], found)


def _make(owner: str, protocol: str | Callable[..., Any], epsilon: float, k: int) -> FrequencyProtocol:
    made = find_protocol(owner, protocol)[1](epsilon=epsilon, domain=k)
    if not isinstance(made, FrequencyProtocol):
        raise ParameterError(f"{owner}: {type(made).__name__} estimates no frequencies of categories")
    return made


def _measure(protocol: FrequencyProtocol, truth: np.ndarray, rng: Rng | None) -> float:
    """The root mean square error of the estimates from one report per person."""
    found = protocol.estimate(protocol.randomize(truth, rng=rng)).frequencies
    shares = np.bincount(truth, minlength=found.size) / truth.size
    return float(np.sqrt(np.mean((found - shares) ** 2)))


def _bytes(protocol: FrequencyProtocol) -> int:
    """The bytes of one report as it is written out."""
    if protocol.report_type is not None:
        return int(protocol.report_type.numpy_dtype().itemsize)
    return int(np.min_scalar_type(protocol.domain.size - 1).itemsize)
