"""The Laplace mechanism on floats."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from fastdp.laws.cell_tables import LARGEST_SCALE
from fastdp.laws.central.laplace import LARGEST_EACH_SCALE, LaplaceEach, LaplaceLaw, law_within, unconditioned
from fastdp.laws.central.placement import Boundary, FloatGrid
from fastdp.laws.rate import Rate
from fastdp.mechanisms.annotations import UNSET, Amount, OptionalAmount, OptionalNumber, OptionalPair, frozen
from fastdp.mechanisms.base import derived, set_fields
from fastdp.mechanisms.central.additive import FloatNoise, LaplaceNoise
from fastdp.mechanisms.central.parameters import PureParameters, check_rate, choose_granularity
from fastdp.validation import PerRecord


@frozen()
class Laplace(LaplaceNoise, FloatNoise):
    """Add Laplace noise of scale sensitivity / epsilon to floats, on a grid that leaves no trace of their digits.

    epsilon-DP for one release of each value, when a neighbouring data set moves it by at most ``sensitivity``. Values
    are rounded to multiples of ``granularity`` and get a discrete Laplace number of steps; the rounding is charged to
    the sensitivity. The granularity is a power of two, by default below 2**-20 of both sensitivity and scale; for
    epsilon below 2**-15 it is 2**-36 of the scale or less, and coarser beside the sensitivity. Outputs are multiples of
    it; beyond the largest finite number they saturate. A ``scale`` may be given instead of epsilon: the noise then has
    that scale, and ``privacy`` states what it costs.

    ``epsilon``, ``sensitivity`` and ``scale`` may be arrays, one entry per record. All records share one grid: where
    scales differ by more than 2**11, rounding costs the smaller ones more than 2**-20, and is charged. ``bounds``
    clamps values to an interval; outputs are then clamped too, or with ``boundary="fold"`` reflected at its ends, or
    with ``"resample"`` drawn until inside, with the scale enlarged to keep epsilon.

    6 random bytes per value, 8 for small epsilon. [Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden,
    Sundararajan 2009 for the discrete law; Mironov 2012 for why floats need a grid]

    Parameters
    ----------
    epsilon
        The privacy of one release of a value; a number, or one per record.
    sensitivity
        The largest change of a value between neighbouring data sets; a number, or one per record.
    scale
        The scale of the noise, instead of epsilon.
    granularity
        The spacing of the output grid, a power of two; chosen by default.
    bounds
        The interval (low, high) that values are clamped to.
    boundary
        What happens to outputs outside the bounds: "clamp", "fold", "resample", or "open", which leaves them there.

    >>> import fastdp as fd
    >>> mechanism = fd.Laplace(epsilon=1.0, sensitivity=1.0)
    >>> mechanism.randomize([20.0, 30.0], rng=fd.Rng.unsafe_seed(7))
    [20.094776153564453, 31.96796703338623]
    >>> mechanism.privacy
    Privacy(epsilon=0.99999999..., unit='record', neighbours='add/remove')
    """

    epsilon: OptionalAmount = UNSET
    sensitivity: Amount
    scale: OptionalAmount = UNSET
    granularity: OptionalNumber = UNSET
    bounds: OptionalPair = UNSET
    boundary: Boundary = "clamp"

    def __post_init__(self) -> None:
        owner = "Laplace"
        asked, bounds = self._ask()
        calibrate = self._calibrate_each if asked.is_each else self._calibrate
        law, steps, grid = calibrate(owner, asked, bounds)
        scale = asked.scale(
            PerRecord(grid / law.rates) if asked.is_each else grid / float(unconditioned(law).rate.exact)
        )
        set_fields(
            self,
            epsilon=asked.epsilon,
            sensitivity=asked.sensitivity,
            scale=scale,
            granularity=grid,
            bounds=bounds,
            _law=law,
            _steps=steps,
        )

    def _calibrate(self, owner: str, asked: PureParameters, bounds: Any) -> tuple[Any, Any, float]:
        sensitivity, scale = asked.sensitivities, asked.scales
        grid = choose_granularity(owner, self.granularity, min(sensitivity, scale), scale, LARGEST_SCALE / 2)
        steps = int(Fraction(sensitivity) / Fraction(grid)) + 1
        place = FloatGrid.within(owner, grid, bounds, self.boundary)
        if self.boundary == "resample":
            check_rate(owner, asked.epsilons, steps)
            return law_within(asked.epsilons, steps, place.width), steps, grid
        rate = Fraction(grid) / Fraction(scale) if asked.is_scale else Fraction(asked.epsilons) / steps
        check_rate(owner, float(rate), 1.0)
        return LaplaceLaw(Rate.below(rate)), steps, grid

    def _calibrate_each(self, owner: str, asked: PureParameters, bounds: Any) -> tuple[Any, Any, float]:
        sensitivity, scale = asked.sensitivities, asked.scales
        if not sensitivity.size:
            return LaplaceEach(sensitivity), sensitivity, derived(1.0)
        finest = float(min(sensitivity.min(), scale.min()))
        grid = choose_granularity(owner, self.granularity, finest, float(scale.max()), LARGEST_EACH_SCALE)
        FloatGrid.within(owner, grid, bounds, self.boundary)
        steps = np.floor(sensitivity / grid) + 1
        rates = grid / scale if asked.is_scale else asked.epsilons / steps
        return LaplaceEach(rates, owner), steps, grid
