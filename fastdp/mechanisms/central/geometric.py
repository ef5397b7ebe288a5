"""The geometric mechanism on integers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from fastdp.channels import LARGEST_DENSE, Channel, DenseChannel, GeometricChannel
from fastdp.errors import ParameterError
from fastdp.laws.central.laplace import LaplaceEach, LaplaceLaw, law_within, unconditioned
from fastdp.laws.central.placement import Boundary
from fastdp.laws.rate import Rate
from fastdp.mechanisms.annotations import ONE, UNSET, OptionalAmount, OptionalIntegers, WholeAmount, frozen
from fastdp.mechanisms.base import set_fields
from fastdp.mechanisms.central.additive import LaplaceNoise
from fastdp.mechanisms.central.integers import IntegerNoise
from fastdp.mechanisms.central.parameters import PureParameters, check_rate
from fastdp.validation import PerRecord


@frozen()
class Geometric(LaplaceNoise, IntegerNoise):
    """Add two-sided geometric noise to integers: P(z) = (1 - a) / (1 + a) * a**|z|, a = e**(-epsilon / sensitivity).

    epsilon-DP for one release of each value, when a neighbouring data set moves it by at most ``sensitivity``. Sums
    saturate at the ends of the integer type. ``bounds`` clamps values and sums to an interval: the truncated geometric
    mechanism, which is optimal for every prior and loss on counting queries; ``boundary="fold"`` reflects sums at its
    ends, ``"resample"`` draws until inside, with the scale enlarged to keep epsilon. ``epsilon``, ``sensitivity`` and
    ``scale`` (sensitivity / epsilon, instead of epsilon) may be arrays, one entry per record.

    2 random bytes per value for scales below 128, 4 below 8,192, 6 or 8 above. [Ghosh, Roughgarden, Sundararajan 2009]

    Parameters
    ----------
    epsilon
        The privacy of one release of a value; a number, or one per record.
    sensitivity
        The largest change of a value between neighbouring data sets, an integer; one number, or one per record.
    scale
        The scale of the noise, instead of epsilon.
    bounds
        The interval (low, high) of integers that values are clamped to.
    boundary
        What happens to outputs outside the bounds: "clamp", "fold", "resample", or "open", which leaves them there.

    >>> import fastdp as fd
    >>> fd.Geometric(epsilon=0.5, sensitivity=1, bounds=(0, 120)).channel().shape
    (121, 121)
    """

    epsilon: OptionalAmount = UNSET
    sensitivity: WholeAmount = ONE
    scale: OptionalAmount = UNSET
    bounds: OptionalIntegers = UNSET
    boundary: Boundary = "clamp"

    def __post_init__(self) -> None:
        asked, bounds = self._ask()
        law = (self._calibrate_each if asked.is_each else self._calibrate)("Geometric", asked, bounds)
        scale = asked.scale(PerRecord(1 / law.rates) if asked.is_each else 1 / float(unconditioned(law).rate.exact))
        parameters = {"epsilon": asked.epsilon, "sensitivity": asked.sensitivity, "scale": scale, "bounds": bounds}
        set_fields(self, **parameters, _law=law, _steps=asked.sensitivities)

    def _calibrate(self, owner: str, asked: PureParameters, bounds: Any) -> Any:
        epsilon, steps = asked.epsilons, asked.sensitivities
        check_rate(owner, epsilon, steps)
        if self.boundary != "resample":
            return LaplaceLaw(Rate.below(1 / Fraction(asked.scales) if asked.is_scale else Fraction(epsilon) / steps))
        if bounds[1] - bounds[0] >= 1 << 61:
            raise ParameterError(f"{owner}: bounds must be less than 2**61 apart to resample")
        return law_within(epsilon, steps, bounds[1] - bounds[0])

    def _calibrate_each(self, owner: str, asked: PureParameters, _bounds: Any) -> Any:
        return LaplaceEach(1 / asked.scales if asked.is_scale else asked.epsilons / asked.sensitivities, owner)

    def channel(self) -> Channel:
        """The channel between the integers of ``bounds``, low first."""
        if self.bounds is None or self.boundary == "open" or self._records() is not None:
            raise ParameterError("Geometric: a channel needs bounds that outputs keep, and one epsilon for all records")
        low, high = self.bounds
        size = high - low + 1
        rate = float(unconditioned(self._law).rate.exact)
        if self.boundary == "clamp":
            return GeometricChannel(size, rate)
        if size > LARGEST_DENSE:
            raise ParameterError(f"Geometric: a dense channel has at most {LARGEST_DENSE} inputs, got {size}")
        distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
        if self.boundary == "resample":
            matrix = np.exp(-rate * distance)
            return DenseChannel(matrix / matrix.sum(axis=1, keepdims=True))
        return DenseChannel(_folded(size, rate))


def _folded(size: int, rate: float) -> np.ndarray:
    """P(y|x): all sums that reflect onto y, which lie at y and its mirror images, a period of 2 (size - 1) apart."""
    period = 2 * (size - 1)
    a = np.exp(-rate)
    x, y = np.arange(size)[:, None], np.arange(size)[None, :]

    def images(offset: np.ndarray) -> np.ndarray:
        """The sum of a**|offset + j * period| over all integers j."""
        near = offset % period
        total: np.ndarray = (a**near + a ** (period - near)) / (1 - a**period)
        return total

    sums = images(y - x) + np.where((y == 0) | (y == size - 1), 0.0, images(-y - x))
    matrix: np.ndarray = sums * (1 - a) / (1 + a)
    return matrix
