"""Integer noise within bounds: the probability of each output bin given each input value.

Every additive mechanism adds whole steps: of its granularity to floats, of 1 to integers. So its noise is one of three
laws on integers, and its bounds are 0 and a number of steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp.laws.central.gaussian import GaussianLaw
from fastdp.laws.central.laplace import LaplaceLaw, unconditioned
from fastdp.laws.central.placement import Boundary, FloatGrid
from fastdp.laws.central.staircase import StaircaseLaw

RANGES = 256
"""The most ranges of results between the bounds."""
NARROW = 4096.0
"""The sigma up to which a discrete Gaussian is summed; beyond it midpoints are right to 1e-9."""

NEAR = 0.999
"""The part of the noise for which open results have ranges; the ends hold what is beyond."""

Curve = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class Noise:
    """``below(z)`` is P(Z <= z), ``excess(d)`` is E[max(Z - d, 0)] for d >= 0, of noise Z in steps."""

    below: Curve
    excess: Curve

    @classmethod
    def of(cls, law: Any) -> Noise:
        """The noise of a law; None of the laws is approximated but the Gaussian of a large sigma."""
        law = unconditioned(law) if not isinstance(law, GaussianLaw | StaircaseLaw) else law
        if isinstance(law, LaplaceLaw):
            return _laplace(float(law.rate.exact))
        return _staircase(law) if isinstance(law, StaircaseLaw) else _gaussian(float(law.sigma))


def _laplace(rate: float) -> Noise:
    a = math.exp(-rate)

    def below(z: np.ndarray) -> np.ndarray:
        tail = np.exp(-rate * np.where(z < 0, -z, z + 1)) / (1 + a)
        return np.where(z < 0, tail, 1 - tail)

    return Noise(below, lambda d: np.exp(-rate * (d + 1)) / (1 + a) / -math.expm1(-rate))


def _gaussian(sigma: float) -> Noise:
    if sigma <= NARROW:
        return _summed(np.exp(-0.5 * (np.arange(math.ceil(12 * sigma) + 2) / sigma) ** 2))
    tails = np.frompyfunc(lambda t: 0.5 * math.erfc(t / math.sqrt(2)), 1, 1)

    def excess(d: np.ndarray) -> np.ndarray:
        t = d / sigma
        beyond: np.ndarray = sigma * np.exp(-0.5 * t**2) / math.sqrt(2 * math.pi) - d * tails(t).astype(np.float64)
        return beyond

    return Noise(lambda z: tails(-(z + 0.5) / sigma).astype(np.float64), excess)


def _summed(weights: np.ndarray) -> Noise:
    """Symmetric noise by its weights of 0, 1, 2, ..., which end where they no longer count."""
    total = 2 * weights.sum() - weights[0]
    above = np.append(np.cumsum(weights[::-1])[::-1], 0.0) / total  # P(Z >= z)
    further = np.append(np.cumsum(above[::-1])[::-1], 0.0)

    def tail(z: np.ndarray) -> np.ndarray:
        mass: np.ndarray = above[np.minimum(z, above.size - 1).astype(np.int64)]
        return mass

    def below(z: np.ndarray) -> np.ndarray:
        side = tail(np.where(z < 0, -z, z + 1))
        return np.where(z < 0, side, 1 - side)

    return Noise(below, lambda d: further[np.minimum(d + 1, further.size - 1).astype(np.int64)])


def _staircase(law: StaircaseLaw) -> Noise:
    """Sums over whole periods, each b times the one before, and over what is left of the last."""
    steps, tread, b = law.steps, law.tread, math.exp(-float(law.rate.exact))

    def sums(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of the weights of w, w + 1, ..., and of these times their numbers."""
        periods, rest = np.divmod(w, steps)
        low, high = np.minimum(rest, tread), np.maximum(rest - tread, 0)
        mass = tread - low + b * (steps - tread - high)
        first = (tread * (tread - 1.0) - low * (low - 1.0)) / 2
        first = first + b * (steps * (steps - 1.0) - tread * (tread - 1.0) - _between(tread, high)) / 2
        whole = tread + b * (steps - tread)
        inner = (tread * (tread - 1.0) + b * (steps * (steps - 1.0) - tread * (tread - 1.0))) / 2
        scale, start = b**periods, periods * steps
        later = b * ((start + steps) * whole + inner + steps * whole * b / (1 - b)) / (1 - b)
        return scale * (mass + whole * b / (1 - b)), scale * (start * mass + first + later)

    total = 2 * float(sums(np.zeros(1))[0][0]) - 1

    def below(z: np.ndarray) -> np.ndarray:
        side = sums(np.where(z < 0, -z, z + 1).astype(np.float64))[0] / total
        return np.where(z < 0, side, 1 - side)

    def excess(d: np.ndarray) -> np.ndarray:
        mass, first = sums(d.astype(np.float64) + 1)
        beyond: np.ndarray = (first - d * mass) / total
        return beyond

    return Noise(below, excess)


def _open_edges(width: int, beyond: int) -> np.ndarray:
    """Where ranges of results start that may lie beyond the bounds."""
    return np.unique(np.rint(np.linspace(-beyond, width + beyond, min(RANGES, width + 2 * beyond) + 1)))


def _between(tread: int, high: np.ndarray) -> np.ndarray:
    """Twice the sum of the integers from ``tread`` to ``tread + high - 1``."""
    return high * (2.0 * tread + high - 1)


@dataclass(frozen=True, slots=True, eq=False)
class BoundedNoise:
    """The bounds of a mechanism as 0 to ``width`` steps, and results in ranges: the ends alone, and between them."""

    low: float
    unit: float
    width: int
    whole: bool
    """Whether values are integers; else steps are of a grid of floats."""
    edges: np.ndarray
    """Where ranges start, in steps, and one beyond the last; those at the ends hold what lies further out."""
    boundary: Boundary
    noise: Noise
    law: Any

    @classmethod
    def of(cls, mechanism: Any) -> BoundedNoise:
        """Of an additive mechanism with bounds."""
        boundary: Boundary = mechanism.boundary
        low, high = mechanism.bounds
        unit, width, whole = 1.0, high - low, mechanism.number_kind == "integer"
        if not whole:
            grid = FloatGrid.within(type(mechanism).__name__, mechanism.granularity, mechanism.bounds, boundary)
            low, unit, width = grid.low, grid.grid, grid.width
        law = mechanism._law  # noqa: SLF001 - the law is what the estimate inverts
        if boundary == "open":
            beyond = int(unconditioned(law).half_width(NEAR))
            edges = np.append(_open_edges(width, beyond), width + beyond + 1).astype(np.float64)
            return cls(float(low), unit, width, whole, edges, boundary, Noise.of(law), law)
        inner = 1 + np.arange(min(RANGES, width - 1) + 1) * (width - 1) // max(min(RANGES, width - 1), 1)
        edges = np.unique(np.concatenate(([0], inner, [width, width + 1]))).astype(np.float64)
        return cls(float(low), unit, width, whole, edges, boundary, Noise.of(law), law)

    @property
    def middles(self) -> np.ndarray:
        """The mean of each range."""
        middles: np.ndarray = (self.edges[:-1] + self.edges[1:] - 1) / 2
        return middles

    def probabilities(self, values: np.ndarray) -> np.ndarray:
        """P(range | value), one row per value in steps."""
        if self.boundary == "fold":
            return self._folded(values)
        up_to = self.noise.below(self.edges[None, :] - 1 - values[:, None])
        if self.boundary == "resample":
            inside: np.ndarray = np.diff(up_to) / (up_to[:, -1:] - up_to[:, :1])
            return inside
        up_to[:, 0], up_to[:, -1] = 0.0, 1.0
        return np.diff(up_to)

    def _folded(self, values: np.ndarray) -> np.ndarray:
        """Sums land on a result from itself and from its mirror images, a period of two widths apart."""
        rate, period = float(unconditioned(self.law).rate.exact), 2 * self.width
        a, whole = math.exp(-rate), -math.expm1(-rate * period)

        def up_to(z: np.ndarray) -> np.ndarray:
            """The noise in 0..z and all its images, whole periods added."""
            turns, place = np.divmod(z, period)
            near = -np.expm1(-rate * (place + 1)) * (1 + np.exp(-rate * (period - place)))
            images: np.ndarray = turns + near / ((1 + a) * whole)
            return images

        first, last = self.edges[:-1], self.edges[1:] - 1
        x = values[:, None]
        found = up_to(last - x) - up_to(first - 1 - x)
        mirrored = up_to(-np.maximum(first, 1) - x) - up_to(-np.minimum(last, self.width - 1) - 1 - x)
        reflected: np.ndarray = found + np.where((last == 0) | (first == self.width), 0.0, mirrored)
        return reflected

    def shift(self, values: np.ndarray) -> np.ndarray | None:
        """E[result] - value, exactly; None where only ranges tell."""
        if self.boundary != "clamp":
            return None
        return self.noise.excess(values) - self.noise.excess(self.width - values)

    def locate(self, results: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Results in steps, and the ranges that they are in."""
        steps = np.rint((results.astype(np.float64) - self.low) / self.unit)
        if self.boundary != "open":
            np.clip(steps, 0, self.width, out=steps)
        inside = np.clip(steps, self.edges[0], self.edges[-1] - 1)
        return steps, np.searchsorted(self.edges, inside, "right") - 1
