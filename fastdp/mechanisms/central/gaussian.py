"""The Gaussian mechanism on floats."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.laws.central.gaussian import LARGEST_EACH_SIGMA, LARGEST_SIGMA, GaussianEach, GaussianLaw
from fastdp.laws.central.placement import Boundary, FloatGrid
from fastdp.mechanisms.annotations import (
    UNSET,
    Alternative,
    Amount,
    OptionalAmount,
    OptionalNumber,
    OptionalPair,
    frozen,
)
from fastdp.mechanisms.central.additive import FloatNoise, GaussianNoise
from fastdp.mechanisms.central.parameters import choose_granularity


@frozen()
class Gaussian(GaussianNoise, FloatNoise):
    """Add Gaussian noise to floats, on a grid that leaves no trace of their digits.

    (epsilon, delta)-DP for one release of each value, when a neighbouring data set moves it by at most ``sensitivity``;
    or rho-zCDP if ``rho`` is given; or noise of a given ``scale`` (sigma). Values are rounded to multiples of
    ``granularity`` (a power of two, by default below 2**-20 of both sensitivity and sigma, coarser where sigma would
    exceed 2**37 steps) and get a discrete Gaussian number of steps. Sigma is the smallest whose exact discrete privacy
    curve meets epsilon and delta, rounding of the values included: within 1e-5 of the analytic Gaussian mechanism's
    where the granularity is that fine. ``bounds`` clamps values and outputs; beyond the largest finite number outputs
    saturate.

    Draws are within 2**-100 of the law in statistical distance, which is charged to delta. ``epsilon`` (of up to 4,096
    different values), ``sensitivity``, ``rho`` and ``scale`` may be arrays, one entry per record. All records share one
    grid, on which no sigma may exceed 2**25 steps: where sigmas differ by more than 2**4, rounding costs the smaller
    ones more than 2**-20, and is charged. 6 random bytes per value, 8 for small epsilon.
    [Balle and Wang 2018; Canonne, Kamath, Steinke 2020]

    Parameters
    ----------
    epsilon, delta
        The approximate DP of one release of a value, given together.
    rho
        The zCDP of one release, instead of epsilon and delta.
    sensitivity
        The largest change of a value between neighbouring data sets (L2); a number, or one per record.
    scale
        The standard deviation of the noise, instead of a guarantee.
    granularity
        The spacing of the output grid, a power of two; chosen by default.
    bounds
        The interval (low, high) that values are clamped to.
    boundary
        Whether outputs are clamped to the bounds, too: "clamp" or "open".

    >>> import fastdp as fd
    >>> round(fd.Gaussian(epsilon=1.0, delta=1e-6, sensitivity=1.0).scale, 4)
    4.2247
    """

    epsilon: Alternative = UNSET
    delta: float | None = None
    rho: Alternative = UNSET
    sensitivity: Amount
    scale: OptionalAmount = UNSET
    granularity: OptionalNumber = UNSET
    bounds: OptionalPair = UNSET
    boundary: Boundary = "clamp"

    def __post_init__(self) -> None:
        owner = "Gaussian"
        aim, sensitivity, bounds, arrays = self._ask()
        if arrays is None:
            ideal = float(aim.sigma_in_units(sensitivity, aim.parameter))
            grid = choose_granularity(owner, self.granularity, min(sensitivity, ideal), ideal, LARGEST_SIGMA)
            steps: Any = int(Fraction(sensitivity) / Fraction(grid)) + 1
            law: Any = GaussianLaw.of_sigma(aim.sigma_in_steps(steps, grid), owner)
            scale: Any = law.sigma * grid
        else:
            sensitivities, parameters = arrays
            ideals = aim.sigma_in_units(sensitivities, parameters)
            finest = float(np.minimum(sensitivities, ideals).min(initial=math.inf)) if ideals.size else 1.0
            widest = float(ideals.max(initial=0.0)) if ideals.size else 1.0
            grid = choose_granularity(owner, self.granularity, finest, widest, LARGEST_EACH_SIGMA)
            steps = np.floor(sensitivities / grid) + 1
            law = GaussianEach(aim.sigmas_in_steps(steps, parameters, grid), owner)
            scale = validation.PerRecord(law.sigma * grid)
        FloatGrid.within(owner, grid, bounds, self.boundary)
        self._set_aim(aim, law, scale, sensitivity=sensitivity, granularity=grid, bounds=bounds, _steps=steps)
