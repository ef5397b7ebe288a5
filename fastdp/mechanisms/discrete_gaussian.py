"""The discrete Gaussian mechanism on integers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.mechanisms.additive import EACH_GAUSSIAN_SCALE_BITS, Additive, set_fields, symmetric, together
from fastdp.mechanisms.gaussian import LARGEST_SIGMA_BITS
from fastdp.noise.gaussian import GaussianEach, GaussianLaw
from fastdp.noise.gaussian_aim import GaussianAim
from fastdp.noise.grid import IntegerRange
from fastdp.privacy import Privacy

SMALLEST_SIGMA = 0.125


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian(Additive):
    """Add discrete Gaussian noise to integers: P(z) ~ e**(-z**2 / (2 sigma**2)).

    rho-zCDP with sigma = sensitivity / sqrt(2 rho), or (epsilon, delta)-DP with the smallest sigma whose exact privacy
    curve allows it, or noise of a given ``scale`` (sigma). For one release of each value, when a neighbouring data set
    moves it by at most ``sensitivity``, an integer. Sums saturate at the ends of the integer type; ``bounds`` clamps
    values and sums. ``sensitivity``, ``rho`` and ``scale`` may be arrays, one entry per record.

    Draws are within 2**-100 of the law in statistical distance. 2 random bytes per value for sigma below 128, else 6.
    [Canonne, Kamath, Steinke 2020]

    >>> import fastdp as fd
    >>> fd.DiscreteGaussian(rho=0.5, sensitivity=1).variance
    0.99999978...
    """

    epsilon: Any = None
    delta: Any = None
    rho: Any = None
    sensitivity: Any = 1
    scale: Any = None
    bounds: Any = None
    _steps: Any = field(init=False, repr=False, compare=False)
    _law: Any = field(init=False, repr=False, compare=False)
    _aim: GaussianAim = field(init=False, repr=False, compare=False)
    _kind = "integer"

    def __post_init__(self) -> None:
        owner = "DiscreteGaussian"
        sensitivity = validation.positive_integer_or_per_record(owner, "sensitivity", self.sensitivity)
        aim = GaussianAim.read(owner, self.epsilon, self.delta, self.rho, self.scale)
        bounds = None if self.bounds is None else validation.bounds(owner, self.bounds, integers=True)
        arrays = together(owner, sensitivity, aim.parameter)
        if arrays is None:
            steps: Any = sensitivity
            sigma = aim.sigma_in_steps(steps, 1.0)
            _check_sigma(owner, sigma, sigma, LARGEST_SIGMA_BITS)
            law: Any = GaussianLaw.of_sigma(sigma)
            scale: Any = law.sigma
        else:
            if aim.kind == "epsilon":
                raise ParameterError(f"{owner}: per-record parameters take rho or scale instead of epsilon and delta")
            steps, parameters = arrays
            sigmas = aim.sigmas_in_steps(steps, parameters, 1.0)
            if sigmas.size:
                _check_sigma(owner, float(sigmas.min()), float(sigmas.max()), EACH_GAUSSIAN_SCALE_BITS)
            law = GaussianEach(sigmas)
            scale = validation.PerRecord(law.sigma)
        set_fields(
            self,
            epsilon=aim.epsilon,
            delta=aim.delta,
            rho=aim.rho,
            sensitivity=sensitivity,
            scale=scale,
            bounds=bounds,
            _steps=steps,
            _law=law,
            _aim=aim,
        )

    def _parameters(self) -> tuple[Any, ...]:
        return self.rho, self.sensitivity, self.scale

    def _place(self, dtype: np.dtype[Any]) -> IntegerRange:
        return IntegerRange.within("DiscreteGaussian", dtype, self.bounds, "clamp")

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the sampler as implemented, rounded up; the worst record's."""
        return self._aim.privacy(self._law, self._steps)

    @property
    def variance(self) -> Any:
        """The variance of the noise before any clamp; an array for per-record parameters."""
        return self._law.variance

    def interval(self, level: float) -> tuple[Any, Any]:
        """The smallest symmetric interval that holds the noise, before any clamp, at ``level`` or more."""
        return symmetric(self._law.half_width(validation.level("DiscreteGaussian", level)), 1)


def _check_sigma(owner: str, smallest: float, largest: float, bits: int) -> None:
    if smallest < SMALLEST_SIGMA:
        raise ParameterError(f"{owner}: sigma must be at least {SMALLEST_SIGMA}, the resolution, got {smallest:.6g}")
    if largest > 2.0**bits:
        raise ParameterError(f"{owner}: sigma must be at most 2**{bits}, got {largest:.6g}; choose a coarser unit")
