"""The staircase mechanism on floats."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.laws.cell_tables import LARGEST_RATE
from fastdp.laws.central.placement import Boundary, FloatGrid
from fastdp.laws.central.staircase import StaircaseEach, StaircaseLaw
from fastdp.laws.rate import Rate
from fastdp.losses import AtomicLoss
from fastdp.mechanisms.annotations import UNSET, Amount, OptionalNumber, OptionalPair, Parameter, computed, frozen
from fastdp.mechanisms.base import derived, given, set_fields
from fastdp.mechanisms.central.additive import CLAMP_OR_OPEN, FloatNoise, by_distance
from fastdp.mechanisms.central.parameters import check_boundary, choose_granularity, read_bounds, together
from fastdp.privacy import MetricPrivacy, Privacy
from fastdp.validation import PerRecord

LARGEST_STEPS = 2.0**32
SMALLEST_EPSILON = 2.0**-8
"""Below it there would be more stairs than a table numbers; Laplace noise is as good there."""
LARGEST_EACH_EPSILON = 12
"""A record's own law is drawn by trying places, e**(epsilon / 2) of them."""


@frozen()
class Staircase(FloatNoise):
    """Add staircase noise to floats: flat steps, which for large epsilon lose far less than Laplace's slope.

    epsilon-DP for one release of each value, when a neighbouring data set moves it by at most ``sensitivity``. Each
    stair is one sensitivity long and e**-epsilon as high as the one before; its first part, ``gamma`` of its length,
    keeps the height of the stair before. The default gamma, 1 / (1 + e**(epsilon / 2)), has the least expected error.
    Values are rounded to multiples of ``granularity`` as for Laplace. ``epsilon`` (up to 12 then) and ``sensitivity``
    may be arrays, one entry per record.

    [Geng, Kairouz, Oh, Viswanath 2015]

    Parameters
    ----------
    epsilon
        The privacy of one release of a value: the ratio of one stair to the next is e**-epsilon. Or one per record.
    sensitivity
        The largest change of a value between neighbouring data sets; a number, or one per record.
    gamma
        The part of each stair, between 0 and 1, that keeps the height of the one before; by default the one with the
        least expected error.
    granularity, bounds, boundary
        As in `Gaussian`.

    >>> import fastdp as fd
    >>> fd.Staircase(epsilon=8.0, sensitivity=1.0).variance < fd.Laplace(epsilon=8.0, sensitivity=1.0).variance
    True
    """

    epsilon: Amount
    sensitivity: Amount
    gamma: Parameter[float | None, float | PerRecord] = UNSET
    granularity: OptionalNumber = UNSET
    bounds: OptionalPair = UNSET
    boundary: Boundary = "clamp"
    _law: Any = computed()

    def __post_init__(self) -> None:
        owner = "Staircase"
        epsilon = validation.positive_or_per_record(owner, "epsilon", self.epsilon)
        sensitivity = validation.positive_or_per_record(owner, "sensitivity", self.sensitivity)
        bounds = read_bounds(self)
        check_boundary(owner, self.boundary, bounds, is_each=False, allowed=CLAMP_OR_OPEN)
        gamma = None if given(self.gamma) is None else validation.probability(owner, "gamma", self.gamma)
        arrays = together(owner, epsilon, sensitivity)
        calibrate = self._calibrate if arrays is None else self._calibrate_each
        epsilons, sensitivities = (epsilon, sensitivity) if arrays is None else arrays
        law, gamma, grid = calibrate(owner, epsilons, sensitivities, gamma)
        FloatGrid.within(owner, grid, bounds, self.boundary)
        set_fields(
            self, epsilon=epsilon, sensitivity=sensitivity, gamma=gamma, granularity=grid, bounds=bounds, _law=law
        )

    def _calibrate(self, owner: str, epsilon: Any, sensitivity: Any, gamma: Any) -> tuple[Any, Any, float]:
        _check_epsilon(owner, epsilon, LARGEST_RATE)
        gamma = gamma or derived(1 / (1 + math.exp(epsilon / 2)))
        grid = choose_granularity(owner, self.granularity, sensitivity * gamma, sensitivity, LARGEST_STEPS)
        steps = int(Fraction(sensitivity) / Fraction(grid)) + 1
        law = StaircaseLaw(Rate.below(Fraction(epsilon)), steps, min(steps, max(1, round(gamma * steps))))
        return law, gamma, grid

    def _calibrate_each(self, owner: str, epsilon: Any, sensitivity: Any, gamma: Any) -> tuple[Any, Any, float]:
        gammas = 1 / (1 + np.exp(epsilon / 2)) if gamma is None else np.full(epsilon.size, gamma)
        if not epsilon.size:
            return StaircaseEach(epsilon, epsilon, epsilon), gamma, derived(1.0)
        _check_epsilon(owner, float(epsilon.max()), LARGEST_EACH_EPSILON)
        _check_epsilon(owner, float(epsilon.min()), LARGEST_EACH_EPSILON)
        finest, widest = float((sensitivity * gammas).min()), float(sensitivity.max())
        grid = choose_granularity(owner, self.granularity, finest, widest, LARGEST_STEPS)
        steps = np.floor(sensitivity / grid) + 1
        treads = np.clip(np.rint(gammas * steps), 1, steps)
        return StaircaseEach(epsilon, steps, treads), gamma or derived(PerRecord(gammas)), grid

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the sampler as implemented, rounding of the values included, rounded up."""
        return Privacy(epsilon=self._law.cost())

    def losses(self) -> tuple[AtomicLoss, ...]:
        """The privacy loss of the noise, or of its worst record's epsilon."""
        return (self._law.loss(),)

    def _by_distance(self) -> MetricPrivacy:
        """A whole epsilon per started sensitivity: an edge of a stair may lie between any two values."""
        return by_distance(self, epsilon=self._law.cost(), started=True)


def _check_epsilon(owner: str, epsilon: float, largest: float) -> None:
    if not SMALLEST_EPSILON <= epsilon <= largest:
        raise ParameterError(
            f"{owner}: epsilon must lie between {SMALLEST_EPSILON} and {largest}, the sampler's resolution, "
            f"got {epsilon:.6g}; use Laplace for smaller ones"
        )
