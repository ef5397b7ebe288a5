"""The distribution of a mechanism's noise: probabilities, densities and their ratio."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from fastdp import validation
from fastdp.display.plotting import new_axes
from fastdp.errors import ParameterError

Number = TypeVar("Number", float, np.ndarray)
LARGEST_STEPS = 2.0**62


class StepLaw(Protocol):
    """A law of whole steps."""

    def log_pmf(self, z: np.ndarray) -> np.ndarray: ...

    def cdf(self, z: np.ndarray) -> np.ndarray: ...

    def half_width(self, level: float) -> int: ...


@dataclass(frozen=True, slots=True, repr=False)
class NoiseLaw:
    """The distribution of additive noise, in the unit of the values, before any boundary.

    Noise is a whole number of steps of ``granularity``: `pmf` is exact, and 0 between the steps. On floats `pdf` is the
    density of the nearest step, its probability divided by the granularity, which is that of the continuous law to
    about 2**-20.

    >>> import fastdp as fd
    >>> law = fd.Laplace(epsilon=1.0, sensitivity=2.0).law
    >>> [round(law.pdf(z), 6) for z in (0.0, 2.0)], round(law.cdf(0.0), 6)
    ([0.25, 0.09197], 0.5)
    >>> round(law.log_ratio(3.0), 4)  # of a value and its neighbour, 2 apart: epsilon, and no more
    -1.0
    >>> fd.Geometric(epsilon=0.5).law.pmf([0, 1]).round(4).tolist()
    [0.2449, 0.1486]
    """

    owner: str
    _law: StepLaw
    granularity: float
    sensitivity: float
    is_real: bool

    def pmf(self, z: ArrayLike) -> Any:
        """The probability of the noise being exactly ``z``.

        Parameters
        ----------
        z
            Noise, a number or an array of them.
        """
        steps = self._steps("pmf", z)
        whole = np.rint(steps)
        return _like(z, np.where(whole == steps, np.exp(self._law.log_pmf(whole)), 0.0))

    def pdf(self, z: ArrayLike) -> Any:
        """The density of the noise at ``z``, of mechanisms on floats.

        Parameters
        ----------
        z
            Noise, a number or an array of them.
        """
        if not self.is_real:
            raise ParameterError(f"{self.owner}: noise on integers has no density; use law.pmf")
        return _like(z, np.exp(self._law.log_pmf(np.rint(self._steps("pdf", z)))) / self.granularity)

    def cdf(self, z: ArrayLike) -> Any:
        """The probability of noise at most ``z``.

        Parameters
        ----------
        z
            Noise, a number or an array of them.
        """
        return _like(z, np.clip(self._law.cdf(np.floor(self._steps("cdf", z))), 0.0, 1.0))

    def log_ratio(self, z: ArrayLike, shift: float | None = None) -> Any:
        """Ln P(z) / P(z - shift): how much likelier an output is from a value than from one ``shift`` above it.

        Parameters
        ----------
        z
            The output less the value, a number or an array of them.
        shift
            How far apart both values are; by default the sensitivity.
        """
        apart = self.sensitivity if shift is None else validation.as_float(shift)
        if not math.isfinite(apart):
            raise ParameterError(f"{self.owner}: shift must be a finite number, got {apart!r}")
        here = np.rint(self._steps("log_ratio", z))
        there = here - round(apart / self.granularity)
        return _like(z, self._law.log_pmf(here) - self._law.log_pmf(there))

    def plot(self, *, level: float = 0.999, ax: Any = None) -> Any:
        """The law around a value and around its neighbour, one sensitivity away; needs matplotlib. Returns the axes.

        Parameters
        ----------
        level
            The part of the noise that the picture shows.
        ax
            The axes to draw on; new ones by default.
        """
        owner = f"{self.owner}.law.plot"
        level = validation.level(owner, level)
        axes = new_axes(owner, ax)
        width = self._law.half_width(level) * self.granularity
        if self.is_real:
            z = np.linspace(-width, width + self.sensitivity, 600)
            axes.plot(z, self.pdf(z), label="value")
            axes.plot(z, self.pdf(z - self.sensitivity), label="neighbour")
            axes.set_ylabel("density")
        else:
            z = np.arange(-width, width + self.sensitivity + 1)
            axes.bar(z - 0.2, self.pmf(z), 0.4, label="value")
            axes.bar(z + 0.2, self.pmf(z - self.sensitivity), 0.4, label="neighbour")
            axes.set_ylabel("probability")
        axes.set_xlabel("output, less the value")
        axes.legend()
        return axes

    def _steps(self, method: str, z: ArrayLike) -> np.ndarray:
        try:
            numbers = np.asarray(z, np.float64)
        except (TypeError, ValueError):
            numbers = np.array(math.nan)
        if np.isnan(numbers).any():
            raise ParameterError(f"{self.owner}: law.{method} takes a number, or an array of numbers without nan")
        return np.clip(numbers / self.granularity, -LARGEST_STEPS, LARGEST_STEPS)

    def __repr__(self) -> str:
        kind = "density" if self.is_real else "probabilities"
        return f"NoiseLaw({self.owner}, {kind} in steps of {self.granularity:g})"


def _like(z: ArrayLike, found: np.ndarray) -> Any:
    """A float for a number, an array for an array."""
    return float(found) if np.ndim(z) == 0 else found
