"""The square wave mechanism: local reports of numbers within bounds, for their distribution."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fastdp import optional, validation
from fastdp.channels.window import WindowChannel
from fastdp.display.html import to_html
from fastdp.display.plotting import draw_shares, new_axes
from fastdp.errors import ParameterError
from fastdp.kernels.local.count_numbers import count_reports
from fastdp.kernels.local.numeric import ALL
from fastdp.laws.local.window import LEAST_BITS, WindowLaw
from fastdp.laws.rate import Rate
from fastdp.mechanisms.annotations import Pair, frozen
from fastdp.mechanisms.base import FiniteMechanism, set_fields
from fastdp.mechanisms.local.frequencies import Counts
from fastdp.mechanisms.local.means.reports import NumericReports, read_parameters, window_channel
from fastdp.results import Result
from fastdp.typing import Column

LARGEST_BINS = 1 << 14
CELLS_PER_BIN_BITS = 12
TOLERANCE = 1e-9
MOST_ITERATIONS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class DistributionEstimate(Result):
    """The estimated share of each of the equal bins of the bounds, their mean, and the iterations it took."""

    estimated = "distribution"

    distribution: np.ndarray
    mean: float
    iterations: int
    n: int
    edges: np.ndarray | None = None
    """The ends of the bins, one more than there are bins."""

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain Python."""
        edges = None if self.edges is None else self.edges.tolist()
        shares = {"distribution": self.distribution.tolist(), "edges": edges}
        return {**shares, "mean": self.mean, "iterations": self.iterations, "n": self.n}

    def to_pandas(self) -> Any:
        """One row per bin with its ends, as a pandas frame; needs pandas."""
        pandas = optional.load("DistributionEstimate.to_pandas", "pandas", extra="pandas")
        ends = {} if self.edges is None else {"from": self.edges[:-1], "to": self.edges[1:]}
        return pandas.DataFrame({**ends, "share": self.distribution})

    def plot(self, *, ax: Any = None) -> Any:
        """The share of each bin; needs matplotlib. Returns the axes.

        Parameters
        ----------
        ax
            The axes to draw on; new ones by default.
        """
        return draw_shares(new_axes("DistributionEstimate.plot", ax), self.distribution, edges=self.edges)

    def _repr_html_(self) -> str:
        sides = range(self.distribution.size) if self.edges is None else zip(self.edges, self.edges[1:], strict=False)
        names = [f"{side[0]:.6g} to {side[1]:.6g}" if isinstance(side, tuple) else f"{side}" for side in sides]
        rows = [[name, f"{share:.4f}"] for name, share in zip(names, self.distribution, strict=True)]
        return to_html(f"Distribution from {self.n:,} reports, mean {self.mean:.6g}", rows, head=["bin", "share"])

    def __repr__(self) -> str:
        return f"DistributionEstimate(n={self.n}, bins={self.distribution.size}, mean={self.mean:.6g})"


@frozen()
class SquareWave(NumericReports, FiniteMechanism):
    """Report a number near the value with density p, or any other in the widened bounds with density q.

    epsilon-local DP for one report per person, with p / q = e**epsilon. With the bounds scaled to [0, 1] near means up
    to b away, and reports lie in [-b, 1 + b]. Values are rounded to 2**-20 of the bounds' width, or finer; those beyond
    the ``bounds`` count as the bounds, which are declared, never inferred. ``bins`` is the resolution of the estimated
    distribution; reports do not depend on it up to 256 bins.

    6 random bytes per report. [Li et al. 2020]

    Parameters
    ----------
    epsilon
        The privacy of one report: the logarithm of p / q.
    bounds
        The interval (low, high) that values are clamped to; public.
    bins
        The number of bins of the estimated distribution.

    >>> import fastdp as fd
    >>> from fastdp.mechanisms.local.square_wave import SquareWave
    >>> mechanism = SquareWave(epsilon=2.0, bounds=(0, 100))
    >>> mechanism.randomize([20.0, 30.0, 70.0], rng=fd.Rng.unsafe_seed(7))
    [8.76584053..., 107.92489051..., 77.16174125...]
    >>> round(mechanism.b, 6), round(mechanism.p / mechanism.q, 6)
    (0.129337, 7.389056)
    """

    bounds: Pair
    bins: int = 256

    def __post_init__(self) -> None:
        owner = "SquareWave"
        epsilon, bounds = read_parameters(owner, self.epsilon, self.bounds)
        bins = validation.positive_integer(owner, "bins", self.bins)
        if not 2 <= bins <= LARGEST_BINS:
            raise ParameterError(f"{owner}: bins must be an integer from 2 to {LARGEST_BINS}, got {bins}")
        set_fields(self, epsilon=epsilon, bounds=bounds, bins=bins)
        bits = max(LEAST_BITS, (bins - 1).bit_length() + CELLS_PER_BIN_BITS)
        window = WindowLaw.of_share(Rate.below(Fraction(epsilon)), 2 * half_width(epsilon), bits)
        self._set_up(window, ALL, Fraction(1))

    @property
    def b(self) -> float:
        """Half the width of the window, as a part of the bounds' width."""
        return float(self._window.width / self._window.cells / 2)

    @property
    def p(self) -> float:
        """The density of a report up to b away from the value, when the bounds are scaled to [0, 1]."""
        return float(self._window.densities[0])

    @property
    def q(self) -> float:
        """The density of any other report, when the bounds are scaled to [0, 1]."""
        return float(self._window.densities[1])

    def channel(self) -> WindowChannel:
        """The channel from the bins of the bounds to bins of the same width that cover all reports."""
        return window_channel(self._window, self.bins)

    def value_names(self) -> np.ndarray:
        """The middles of the bins."""
        low, high = self.bounds
        return low + (np.arange(self.bins) + 0.5) * ((high - low) / self.bins)

    def bin_edges(self) -> np.ndarray:
        """The edges of the bins."""
        return np.linspace(self.bounds[0], self.bounds[1], self.bins + 1)

    def count_outputs(self, reports: Column) -> np.ndarray:
        """How many reports fall in each output bin of the channel, in one pass; counts of batches add up."""
        return self.aggregate(reports).support

    def aggregate(self, reports: Column) -> Counts:
        """How many reports fall in each output bin of the channel, in one pass; counts of batches add up.

        Parameters
        ----------
        reports
            This mechanism's reports, a column of any container.
        """
        low, high = self.bounds
        channel = self.channel()
        slope, margin = self.bins / (high - low), float(channel.margin)
        counts = np.zeros((4, channel.shape[1]), np.int64)
        n = self._add_up(
            reports, lambda block, least, most: count_reports(block, low, slope, margin, least, most, counts)
        )
        return Counts(counts.sum(axis=0), n)

    def estimate(self, reports: Column) -> DistributionEstimate:
        """The distribution over the bins, from reports or from their counts: expectation-maximisation with smoothing.

        Smoothing after each step keeps it from fitting the noise. [Li et al. 2020, EMS]

        Parameters
        ----------
        reports
            The reports, or what `aggregate` made of them, added up over batches.
        """
        counts = reports if isinstance(reports, Counts) else self.aggregate(reports)
        channel = self.channel()
        if counts.support.shape != channel.shape[1:]:
            raise ParameterError("SquareWave: the counts are those of a mechanism with other bins or another epsilon")
        if counts.n < 1:
            raise ParameterError("estimate: there are no reports")
        distribution, iterations = _smoothed_em(channel, counts.support / counts.n)
        mean = float(distribution @ self.value_names())
        edges = np.linspace(*self.bounds, self.bins + 1)
        return DistributionEstimate(distribution, mean, iterations, counts.n, edges)


def half_width(epsilon: float) -> float:
    """The b that reveals most: (eps e**eps - e**eps + 1) / (2 e**eps (e**eps - 1 - eps)).

    Both brackets are summed from their series, in which nothing cancels.

    >>> round(half_width(1.0), 7)
    0.2560829
    """
    power, first, second = 1.0 + epsilon, 0.0, 0.0
    term = epsilon
    for k in range(2, 160):
        term *= epsilon / k
        first += (k - 1) * term
        second += term
        power += term
    return first / (2 * power * second)


def _smoothed_em(channel: WindowChannel, observed: np.ndarray) -> tuple[np.ndarray, int]:
    """Steps of expectation-maximisation, each followed by a (1, 2, 1) / 4 average, until the likelihood stands still.

    At the ends the average is reflected, so that no mass is lost.
    """
    estimate = np.full(channel.shape[0], 1 / channel.shape[0])
    seen = observed > 0
    last = -np.inf
    for iteration in range(1, MOST_ITERATIONS + 1):
        predicted = channel.forward(estimate)
        likelihood = float(observed[seen] @ np.log(predicted[seen]))
        if abs(likelihood - last) <= TOLERANCE * abs(likelihood):
            return estimate, iteration
        last = likelihood
        estimate = estimate * channel.backward(observed / predicted)
        wide = np.concatenate((estimate[:1], estimate, estimate[-1:]))
        estimate = (wide[:-2] + 2 * estimate + wide[2:]) / 4
        estimate /= estimate.sum()
    return estimate, MOST_ITERATIONS
