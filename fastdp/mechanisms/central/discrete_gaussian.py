"""The discrete Gaussian mechanism on integers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.channels import LARGEST_DENSE, DenseChannel
from fastdp.errors import ParameterError
from fastdp.laws.central.gaussian import GaussianEach, GaussianLaw
from fastdp.laws.central.placement import Boundary
from fastdp.mechanisms.annotations import (
    ONE,
    UNSET,
    Alternative,
    OptionalAmount,
    OptionalIntegers,
    WholeAmount,
    frozen,
)
from fastdp.mechanisms.central.additive import GaussianNoise
from fastdp.mechanisms.central.integers import IntegerNoise


@frozen()
class DiscreteGaussian(GaussianNoise, IntegerNoise):
    """Add discrete Gaussian noise to integers: P(z) ~ e**(-z**2 / (2 sigma**2)).

    rho-zCDP with sigma = sensitivity / sqrt(2 rho), or (epsilon, delta)-DP with the smallest sigma whose exact privacy
    curve allows it, or noise of a given ``scale`` (sigma). For one release of each value, when a neighbouring data set
    moves it by at most ``sensitivity``, an integer. Sums saturate at the ends of the integer type; ``bounds`` clamps
    values and sums. ``sensitivity``, ``rho`` and ``scale`` may be arrays, one entry per record.

    Draws are within 2**-100 of the law in statistical distance. 2 random bytes per value for sigma below 128, 4 below
    8,192, 6 or 8 above. [Canonne, Kamath, Steinke 2020]

    Parameters
    ----------
    epsilon, delta, rho
        As in `Gaussian`.
    sensitivity
        The largest change of a value between neighbouring data sets (L2), an integer.
    scale
        The parameter sigma of the noise, instead of a guarantee.
    bounds
        The interval (low, high) of integers that values are clamped to.
    boundary
        Whether outputs are clamped to the bounds, too: "clamp" or "open".

    >>> import fastdp as fd
    >>> fd.DiscreteGaussian(rho=0.5, sensitivity=1).variance
    0.99999978...
    """

    epsilon: Alternative = UNSET
    delta: float | None = None
    rho: Alternative = UNSET
    sensitivity: WholeAmount = ONE
    scale: OptionalAmount = UNSET
    bounds: OptionalIntegers = UNSET
    boundary: Boundary = "clamp"

    def __post_init__(self) -> None:
        aim, sensitivity, bounds, arrays = self._ask()
        owner = type(self).__name__
        if arrays is None:
            steps: Any = sensitivity
            law: Any = GaussianLaw.of_sigma(aim.sigma_in_steps(steps, 1.0), owner)
            scale: Any = law.sigma
        else:
            if aim.kind == "epsilon":
                raise ParameterError(f"{owner}: per-record parameters take rho or scale instead of epsilon and delta")
            steps, parameters = arrays
            law = GaussianEach(aim.sigmas_in_steps(steps, parameters, 1.0), owner)
            scale = validation.PerRecord(law.sigma)
        self._set_aim(aim, law, scale, sensitivity=sensitivity, bounds=bounds, _steps=steps)

    def channel(self) -> DenseChannel:
        """The channel between the integers of ``bounds``, low first: the end columns hold what lies beyond them."""
        if self.bounds is None or self.boundary == "open" or self._records() is not None:
            raise ParameterError("DiscreteGaussian: a channel needs bounds that outputs keep, and one rho for all")
        size = self.bounds[1] - self.bounds[0] + 1
        if size > LARGEST_DENSE:
            raise ParameterError(f"DiscreteGaussian: a channel has at most {LARGEST_DENSE} inputs, got {size}")
        distance = np.arange(-size - math.ceil(40 * self._law.sigma), size + math.ceil(40 * self._law.sigma) + 1)
        weight = np.exp(-(distance.astype(np.float64) ** 2) / (2 * self._law.sigma**2))
        cumulative = np.cumsum(weight) / weight.sum()
        middle = distance.size // 2
        below = cumulative[middle - np.arange(size)]  # P(z <= -x): all that ends at the lower bound or beyond
        offset = np.subtract.outer(np.arange(size), np.arange(size))
        matrix = (weight / weight.sum())[middle - offset]
        matrix[:, 0], matrix[:, -1] = below, below[::-1]
        return DenseChannel(matrix)
