"""Integers of Gaussian noise by the number of the draw, and the exact sum of the gradients that they are added to."""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from fastdp import validation
from fastdp.engine.runner import working_memory
from fastdp.errors import ParameterError
from fastdp.laws.central.gaussian import GaussianLaw
from fastdp.learning.clipping import MOST_COORDINATES, ClippedSum, Gradients, check_shapes, read_gradients
from fastdp.learning.noise.coefficients import (
    COEFFICIENT_BITS,
)
from fastdp.losses import GaussianLoss
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, Slots, resolve
from fastdp.threads import for_each_block

GRID = 1 << 20
"""Steps of the gradients' grid within the clip."""
FINE = 1 << COEFFICIENT_BITS
"""Steps of the noise within a step of the gradients."""


class StreamNoise:
    """Integers of draw t from the slots t * dimension, t * dimension + 1, ...: the same whenever they are asked for.

    Gradients are in steps of clip / GRID, noise in steps of clip / (GRID * FINE): multiples of the coefficients.
    """

    def __init__(self, owner: str, steps: int, dimension: int, sigma: float, clip: float, rng: Rng | None) -> None:
        self.steps = validation.positive_integer(owner, "steps", steps)
        self.dimension = validation.positive_integer(owner, "dimension", dimension)
        self.clip = validation.positive(owner, "clip", clip)
        if self.dimension > MOST_COORDINATES:
            raise ParameterError(f"{owner}: dimension must be at most 2**32")
        self._law = GaussianLaw.of_sigma(sigma * GRID * FINE, owner)
        self._sum = ClippedSum(self.clip, GRID, ((self.dimension,),))
        self._fill = self._law.sampler()
        self._draws = self._count_draws()
        self._slots: Slots = resolve(owner, rng).reserve(self._draws * self.dimension)

    def _count_draws(self) -> int:
        return self.steps

    def _drawn(self, number: int) -> np.ndarray:
        """The integers of one draw."""
        key, start = self._slots
        out = np.empty(self.dimension, np.int64)

        def work(first: int, stop: int) -> None:
            slot = start + np.uint64(number * self.dimension + first)
            with working_memory() as memory:
                self._fill(key, slot, first, None, memory.scratch, out[first:stop])

        for_each_block(self.dimension, work)
        return out

    def add(self, gradients: Gradients) -> Self:
        """Add the gradients of some examples to the sum of the step at hand: an array (n, dimension)."""
        owner = type(self).__name__
        parts, shapes = read_gradients(owner, gradients)
        check_shapes(owner, self._sum.shapes, shapes)
        self._sum.add(parts)
        return self

    def _take_sum(self) -> np.ndarray:
        """The exact sum of the step at hand, and a new step."""
        found = self._sum.totals[0].copy()
        self._sum.clear()
        return found

    @property
    def scale(self) -> float:
        """A step of the noise in units of the gradients."""
        return self.clip / GRID / FINE

    def _guarantee(self, squared: float) -> Privacy:
        """Of Gaussian noise on a vector of this squared sensitivity, in units of the clip; rounded up."""
        rho = self._law.rho(GRID * FINE) * squared * (1 + 1e-12)
        return Privacy(rho=rho)

    def _loss(self, squared: float) -> GaussianLoss:
        one = self._law.loss(GRID * FINE)
        assert isinstance(one, GaussianLoss)
        count = float(self._draws) * self.dimension
        mu = one.mu * math.sqrt(squared) * (1 + 1e-12)
        return GaussianLoss(mu=mu, margin=one.margin * count, distance=one.distance * count)
