"""Parameters of mechanisms that add noise, checked: sensitivities, scales, bounds and boundaries, and the grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.laws.cell_tables import LARGEST_RATE, LARGEST_SCALE
from fastdp.laws.central.placement import BOUNDARIES
from fastdp.laws.rate import check_scale
from fastdp.mechanisms.base import derived, given
from fastdp.validation import PerRecord

if TYPE_CHECKING:
    from fastdp.mechanisms.central.additive import Additive

Setting = float | PerRecord
ROUNDING_BITS = 20
SMALLEST_NUMBER = 1e-300
SMALLEST_GRANULARITY = 2.0**-1000
LARGEST_GRANULARITY = 2.0**900


@dataclass(frozen=True, slots=True)
class PureParameters:
    """Epsilon and sensitivity of a mechanism, as asked and as numbers or arrays to compute with."""

    epsilon: Setting
    sensitivity: Setting
    epsilons: Any
    sensitivities: Any
    scales: Any
    is_each: bool
    is_scale: bool
    own: Setting

    def scale(self, realised: Setting) -> Setting:
        """The scale that was asked for, or the one that follows from epsilon."""
        return self.own if self.is_scale else derived(realised)

    @classmethod
    def read(cls, owner: str, epsilon: Setting | None, scale: Setting | None, sensitivity: Setting) -> PureParameters:
        """From epsilon, or from a scale, which is sensitivity / epsilon; the other follows."""
        epsilon, scale = given(epsilon), given(scale)
        asked = validation.exactly_one(owner, epsilon=epsilon, scale=scale)
        parameter = validation.positive_or_per_record(owner, asked, epsilon if asked == "epsilon" else scale)
        arrays = together(owner, sensitivity, parameter)
        values: Any = arrays if arrays is not None else [sensitivity, parameter]
        with np.errstate(over="ignore", under="ignore"):
            other = np.asarray(values[0]) / np.asarray(values[1])
        if other.size and not (np.isfinite(other) & (other > SMALLEST_NUMBER)).all():
            missing = "scale" if asked == "epsilon" else "epsilon"
            raise ParameterError(f"{owner}: sensitivity / {asked} gives a {missing} beyond float64; rescale the data")
        quotients: Any = float(other) if arrays is None else other
        epsilons, scales = (values[1], quotients) if asked == "epsilon" else (quotients, values[1])
        own = parameter
        if asked == "scale":
            parameter = derived(epsilons if arrays is None else PerRecord(epsilons))
        is_scale = asked == "scale"
        return cls(parameter, sensitivity, epsilons, values[0], scales, arrays is not None, is_scale, own)


def read_sensitivity(mechanism: Additive) -> Any:
    """The sensitivity of a mechanism, a number or one per record: integers for noise on integers."""
    integers = mechanism.number_kind == "integer"
    read = validation.positive_integer_or_per_record if integers else validation.positive_or_per_record
    return read(type(mechanism).__name__, "sensitivity", mechanism.sensitivity)


def read_bounds(mechanism: Any) -> Any:
    """The bounds of a mechanism, if it has any: integers for noise on integers."""
    if mechanism.bounds is None:
        return None
    owner, integers = type(mechanism).__name__, mechanism.number_kind == "integer"
    return validation.bounds(owner, mechanism.bounds, integers=integers)


def check_boundary(
    owner: str,
    boundary: str,
    bounds: tuple[float, float] | None,
    *,
    is_each: bool,
    allowed: tuple[str, ...] = BOUNDARIES,
) -> None:
    """All but clamping need bounds; resampling needs one law for all records."""
    validation.one_of(owner, "boundary", boundary, allowed)
    if bounds is None and boundary != "clamp":
        raise ParameterError(f'{owner}: boundary="{boundary}" needs bounds')
    if boundary == "resample" and is_each:
        raise ParameterError(f'{owner}: boundary="resample" takes one epsilon and sensitivity for all records')


def together(owner: str, *parameters: Setting) -> list[np.ndarray] | None:
    """Per-record parameters and numbers as arrays of one length; None if all are plain numbers."""
    lengths = {len(parameter) for parameter in parameters if isinstance(parameter, PerRecord)}
    if not lengths:
        return None
    if len(lengths) > 1:
        raise ParameterError(f"{owner}: per-record parameters must have the same length, got {sorted(lengths)}")
    (length,) = lengths
    return [p.values if isinstance(p, PerRecord) else np.full(length, p) for p in parameters]


def choose_granularity(owner: str, asked: float | None, finest: float, widest: float, largest: float) -> float:
    """The power of two that was given, or one below 2**-20 of ``finest``, or coarser if the noise needs it to fit.

    ``finest`` is the smallest number that rounding must not disturb, ``widest`` the largest scale of the noise, and
    ``largest`` the most steps, a power of two, that its sampler can draw.
    """
    scale_bits = int(math.log2(largest))
    if given(asked) is not None:
        grid = validation.power_of_two(owner, "granularity", asked)
    else:
        exponent = math.floor(math.log2(finest)) - ROUNDING_BITS - 1
        grid = derived(2.0 ** min(max(exponent, math.ceil(math.log2(widest)) - scale_bits + 1, -1070), 1000))
    if not SMALLEST_GRANULARITY <= grid <= LARGEST_GRANULARITY:
        raise ParameterError(
            f"{owner}: granularity must lie between 2**-1000 and 2**900, got {grid!r}; rescale the data"
        )
    if widest / grid > largest:
        raise ParameterError(
            f"{owner}: granularity {grid!r} is too fine for noise of scale {widest:.6g}; choose at least "
            f"{2.0 ** (math.ceil(math.log2(widest)) - scale_bits)!r}"
        )
    return grid


def check_rate(owner: str, epsilon: float, steps: float) -> None:
    """Refuse noise so small, or so large, that the sampler cannot resolve it."""
    check_scale(owner, steps / epsilon, steps / epsilon, 1 / LARGEST_RATE, LARGEST_SCALE)
