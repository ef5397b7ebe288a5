"""The staircase mechanism on floats."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.mechanisms.additive import Additive, check_rate, choose_granularity, set_fields, symmetric
from fastdp.noise.grid import FloatGrid
from fastdp.noise.rates import Rate
from fastdp.noise.staircase import StaircaseLaw
from fastdp.privacy import Privacy

LARGEST_STEPS_BITS = 32
SMALLEST_EPSILON = 2.0**-8


@dataclass(frozen=True, slots=True, kw_only=True)
class Staircase(Additive):
    """Add staircase noise to floats: flat steps, which for large epsilon lose far less than Laplace's slope.

    epsilon-DP for one release of each value, when a neighbouring data set moves it by at most ``sensitivity``. Each
    stair is one sensitivity long and e**-epsilon as high as the one before; its first part, ``gamma`` of its length,
    keeps the height of the stair before. The default gamma, 1 / (1 + e**(epsilon / 2)), has the least expected error.
    Values are rounded to multiples of ``granularity`` as for Laplace. One epsilon for all records.

    [Geng, Kairouz, Oh, Viswanath 2015]

    >>> import fastdp as fd
    >>> fd.Staircase(epsilon=8.0, sensitivity=1.0).variance < fd.Laplace(epsilon=8.0, sensitivity=1.0).variance
    True
    """

    epsilon: Any
    sensitivity: Any
    gamma: Any = None
    granularity: Any = None
    bounds: Any = None
    _law: Any = field(init=False, repr=False, compare=False)
    _kind = "float"

    def __post_init__(self) -> None:
        owner = "Staircase"
        epsilon = validation.positive(owner, "epsilon", self.epsilon)
        sensitivity = validation.positive(owner, "sensitivity", self.sensitivity)
        check_rate(owner, epsilon, 1.0)
        bounds = None if self.bounds is None else validation.bounds(owner, self.bounds, integers=False)
        optimal = 1 / (1 + math.exp(epsilon / 2))
        gamma = optimal if self.gamma is None else validation.probability(owner, "gamma", self.gamma)
        grid = choose_granularity(owner, self.granularity, sensitivity * gamma, sensitivity, LARGEST_STEPS_BITS)
        steps = int(Fraction(sensitivity) / Fraction(grid)) + 1
        law = StaircaseLaw(Rate.below(Fraction(epsilon)), steps, min(steps, max(1, round(gamma * steps))))
        set_fields(
            self,
            epsilon=epsilon,
            sensitivity=sensitivity,
            gamma=gamma,
            granularity=grid,
            bounds=bounds,
            _law=law,
        )

    def _parameters(self) -> tuple[Any, ...]:
        return ()

    def _place(self, dtype: np.dtype[Any]) -> FloatGrid:
        return FloatGrid.within("Staircase", self.granularity, self.bounds, "clamp")

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the sampler as implemented, rounding of the values included, rounded up."""
        return Privacy(epsilon=self._law.cost())

    @property
    def variance(self) -> float:
        """The variance of the noise before any clamp."""
        return float(self._law.variance * self.granularity**2)

    def interval(self, level: float) -> tuple[float, float]:
        """The smallest symmetric interval that holds the noise, before any clamp, with probability ``level``."""
        return symmetric(self._law.half_width(validation.level("Staircase", level)), self.granularity)
