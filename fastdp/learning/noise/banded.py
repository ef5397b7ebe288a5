"""TreeNoise and BandedNoise: noise for the steps of a training that cancels in its prefix sums.

The integers of every step come from slots of their own, so that old noise is drawn again instead of kept: a model
whose ring of old noise does not fit into memory trains as well.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.kernels.gradients.streams import add_scaled, solve_banded
from fastdp.learning.noise.coefficients import (
    COEFFICIENT_BITS,
    invert,
    optimal_coefficients,
    prefix_errors,
    quantise,
    squared_sensitivity,
)
from fastdp.learning.noise.stream import FINE, StreamNoise
from fastdp.losses import GaussianLoss
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng
from fastdp.typing import Numbers

KEEPS = ("ring", "nothing")


class BandedNoise(StreamNoise):
    """Noise for each step of a training, correlated by a banded Toeplitz matrix: much of it cancels in prefix sums.

    ``add`` the gradients of a step and ``release`` their noisy sum: noise is added to the integers of C x, and what is
    released follows from these alone. ``noise(t)`` is the noise by itself, for sums that are made elsewhere; it is
    exact only up to the rounding of floats. rho-zCDP for one example that takes part in at most ``participations``
    steps, at least ``separation`` apart, which whoever makes the batches must keep to. The coefficients are rounded to
    multiples of 2**-12 first; ``None`` takes those of the least error.
    [Choquette-Choo et al. 2023; Kalinin, Lampert 2024]

    Parameters
    ----------
    bands
        The number of coefficients; 1 is independent noise.
    steps
        The number of steps of the training.
    dimension
        The number of coordinates of a gradient.
    noise_multiplier
        Sigma of the underlying noise as a multiple of clip times sensitivity: rho is 1 / (2 noise_multiplier**2).
    clip
        The largest L2 norm of one example's gradient.
    participations
        How often an example takes part at the most.
    separation
        How many steps lie between two of its participations at the least; no less than ``bands`` is best.
    coefficients
        The coefficients, the first 1, none above the one before; None computes the best.
    keep
        "ring" keeps the last bands - 1 rows of noise; "nothing" draws all old noise again, t rows at step t.
    rng
        The stream of noise; None is the process's own.

    >>> import fastdp as fd
    >>> noise = BandedNoise(bands=4, steps=16, dimension=3, noise_multiplier=1.0, rng=fd.Rng.unsafe_seed(1))
    >>> noise.noise(0).shape, round(noise.privacy.rho, 6)
    ((3,), 0.5)
    """

    def __init__(
        self,
        *,
        bands: int,
        steps: int,
        dimension: int,
        noise_multiplier: float,
        clip: float = 1.0,
        participations: int = 1,
        separation: int | None = None,
        coefficients: Numbers | None = None,
        keep: str = "ring",
        rng: Rng | None = None,
    ) -> None:
        owner = "BandedNoise"
        bands = validation.positive_integer(owner, "bands", bands)
        steps = validation.positive_integer(owner, "steps", steps)
        if bands > steps:
            raise ParameterError(f"{owner}: bands must be at most steps, got {bands} of {steps}")
        self.participations = validation.positive_integer(owner, "participations", participations)
        chosen = bands if separation is None else separation
        self.separation = validation.positive_integer(owner, "separation", chosen)
        self.keep = validation.one_of(owner, "keep", keep, KEEPS)
        if coefficients is None:
            coefficients = optimal_coefficients(bands, steps, self.participations, self.separation)
        self.coefficients = _read_coefficients(owner, coefficients, bands)
        self._squared = squared_sensitivity(self.coefficients, steps, self.participations, self.separation)
        multiplier = validation.positive(owner, "noise_multiplier", noise_multiplier)
        super().__init__(owner, steps, dimension, multiplier * math.sqrt(self._squared), clip, rng)
        self._ring = np.zeros((bands - 1, dimension if self.keep == "ring" else 0), np.float32)
        self._inverse = np.zeros(0) if self.keep == "ring" else invert(self.coefficients, steps)
        self._next = 0
        self._whole = np.rint(self.coefficients * FINE).astype(np.int64)
        self._sums: list[np.ndarray] = []
        self._released: np.ndarray | None = None

    @property
    def sensitivity(self) -> float:
        """The L2 sensitivity of C x in units of the clip."""
        return math.sqrt(self._squared) * (1 + 1e-15)

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the whole training for one example, rounded up."""
        return self._guarantee(self._squared)

    def losses(self) -> tuple[GaussianLoss, ...]:
        """The privacy loss of the whole training: a Gaussian's."""
        return (self._loss(self._squared),)

    def prefix_std_errors(self) -> np.ndarray:
        """The standard deviation of the noise in each prefix sum of gradients, in their unit."""
        return np.asarray(np.sqrt(prefix_errors(self.coefficients, self.steps)) * self._law.sigma * self.scale)

    def release(self) -> np.ndarray:
        """The noisy sum of the gradients that were added since the last release: one step of the training."""
        step = self._next
        if step == self.steps:
            raise ParameterError(f"BandedNoise: all {self.steps} steps were released")
        self._sums = [self._take_sum(), *self._sums[: self.coefficients.size - 1]]
        noisy = self._drawn(step)
        for whole, old in zip(self._whole, self._sums, strict=False):
            noisy += whole * old
        if self._released is None:
            self._released = np.zeros((self.coefficients.size - 1, self.dimension), np.float32)
        out = np.empty(self.dimension, np.float32)
        solve_banded(noisy, self.coefficients, self._released, step, self.scale, out)
        self._next += 1
        return out

    def noise(self, step: int) -> np.ndarray:
        """The noise of a step; with ``keep="ring"`` steps are asked for in order, once each."""
        if not 0 <= step < self.steps:
            raise ParameterError(f"BandedNoise: step must be at least 0 and below {self.steps}, got {step!r}")
        if self.keep == "nothing":
            total = np.zeros(self.dimension)
            for back in range(step + 1):
                add_scaled(self._drawn(step - back), self._inverse[back] * self.scale, total)
            return total.astype(np.float32)
        if step != self._next:
            raise ParameterError(
                f"BandedNoise: the next step is {self._next}, got {step!r}; steps in any order need keep='nothing'"
            )
        out = np.empty(self.dimension, np.float32)
        solve_banded(self._drawn(step), self.coefficients, self._ring, step, self.scale, out)
        self._next += 1
        return out


def _read_coefficients(owner: str, given: Any, bands: int) -> np.ndarray:
    found = quantise(validation.floats(owner, "coefficients", given))
    if found.shape != (bands,) or found[0] != 1 or not np.isfinite(found).all():
        raise ParameterError(
            f"{owner}: coefficients must be {bands} numbers, the first 1, as multiples of 2**-{COEFFICIENT_BITS}"
        )
    return found
