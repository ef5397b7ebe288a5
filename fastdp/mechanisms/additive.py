"""What mechanisms share that add integer noise to numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.columns.numeric import Kind, Nulls, read_numeric
from fastdp.errors import ParameterError
from fastdp.noise.cells import LARGEST_RATE, LARGEST_SCALE
from fastdp.noise.grid import BOUNDARIES
from fastdp.noise.rates import check_scale
from fastdp.noise.runner import Place, add_noise
from fastdp.noise.sampling import Law
from fastdp.random.rng import Rng, resolve
from fastdp.validation import PerRecord

Parameter = float | PerRecord
ROUNDING_BITS = 20
SMALLEST_NUMBER = 1e-300
SMALLEST_GRANULARITY = 2.0**-1000
LARGEST_GRANULARITY = 2.0**900


class Additive:
    """Mechanisms with one law of integer noise and one place to add it."""

    __slots__ = ()

    _kind: Kind
    _law: Any

    def _place(self, dtype: np.dtype[Any]) -> Place:
        raise NotImplementedError

    def _resamples(self) -> bool:
        return False

    def randomize(self, values: Any, *, rng: Rng | None = None, nulls: Nulls = "error") -> Any:
        """One noisy value per value, in the caller's own kind of container.

        Takes numpy arrays of any layout, pyarrow arrays, pandas and polars series, one column of anything with an Arrow
        stream or array, Python numbers and sequences. ``rng=None`` draws from the process's own stream;
        ``nulls="public"`` keeps nulls where they are.
        """
        owner = type(self).__name__
        column = read_numeric(owner, values, self._kind, nulls=nulls)
        law: Law = self._law
        records = self._records()
        if records is not None and records != column.size:
            raise ParameterError(f"{owner}: parameters are given for {records} records, values for {column.size}")
        place = self._place(column.result_dtype)
        return add_noise(owner, column, resolve(owner, rng), law, place, needs_steps=self._resamples())

    def _records(self) -> int | None:
        """The number of records that per-record parameters are for; None if there are none."""
        values = (getattr(self, name, None) for name in ("epsilon", "rho", "sensitivity", "scale"))
        return next((len(value) for value in values if isinstance(value, PerRecord)), None)


@dataclass(frozen=True, slots=True)
class PureParameters:
    """Epsilon and sensitivity of a mechanism, as asked and as numbers or arrays to compute with."""

    epsilon: Parameter
    sensitivity: Parameter
    epsilons: Any
    sensitivities: Any
    scales: Any
    is_each: bool
    is_scale: bool

    @classmethod
    def read(cls, owner: str, epsilon: Any, scale: Any, sensitivity: Parameter) -> PureParameters:
        """From epsilon, or from a scale, which is sensitivity / epsilon; the other follows."""
        given = validation.exactly_one(owner, epsilon=epsilon, scale=scale)
        parameter = validation.positive_or_per_record(owner, given, epsilon if given == "epsilon" else scale)
        arrays = together(owner, sensitivity, parameter)
        values: Any = arrays if arrays is not None else [sensitivity, parameter]
        with np.errstate(over="ignore", under="ignore"):
            other = np.asarray(values[0]) / np.asarray(values[1])
        if other.size and not (np.isfinite(other) & (other > SMALLEST_NUMBER)).all():
            missing = "scale" if given == "epsilon" else "epsilon"
            raise ParameterError(f"{owner}: sensitivity / {given} gives a {missing} beyond float64; rescale the data")
        quotients: Any = float(other) if arrays is None else other
        epsilons, scales = (values[1], quotients) if given == "epsilon" else (quotients, values[1])
        if given == "scale":
            parameter = epsilons if arrays is None else PerRecord(epsilons)
        return cls(parameter, sensitivity, epsilons, values[0], scales, arrays is not None, given == "scale")


def check_boundary(owner: str, boundary: str, bounds: Any, *, is_each: bool) -> None:
    """A way to treat the bounds needs bounds; drawing until inside needs one law for all records."""
    validation.one_of(owner, "boundary", boundary, BOUNDARIES)
    if bounds is None and boundary != "clamp":
        raise ParameterError(f'{owner}: boundary="{boundary}" needs bounds')
    if boundary == "resample" and is_each:
        raise ParameterError(f'{owner}: boundary="resample" takes one epsilon and sensitivity for all records')


def set_fields(mechanism: Any, **values: Any) -> None:
    """Give a frozen mechanism its validated and derived values, once, while it is made."""
    for name, value in values.items():
        object.__setattr__(mechanism, name, value)


def together(owner: str, *parameters: Parameter) -> list[np.ndarray] | None:
    """Per-record parameters and numbers as arrays of one length; None if all are plain numbers."""
    lengths = {len(parameter) for parameter in parameters if isinstance(parameter, PerRecord)}
    if not lengths:
        return None
    if len(lengths) > 1:
        raise ParameterError(f"{owner}: per-record parameters must have the same length, got {sorted(lengths)}")
    (length,) = lengths
    return [p.values if isinstance(p, PerRecord) else np.full(length, p) for p in parameters]


def choose_granularity(owner: str, given: Any, finest: float, widest: float, largest: float) -> float:
    """The power of two that was given, or one below 2**-20 of ``finest``, or coarser if the noise needs it to fit.

    ``finest`` is the smallest number that rounding must not disturb, ``widest`` the largest scale of the noise, and
    ``largest`` the most steps, a power of two, that its sampler can draw.
    """
    scale_bits = int(math.log2(largest))
    if given is not None:
        grid = validation.power_of_two(owner, "granularity", given)
    else:
        exponent = math.floor(math.log2(finest)) - ROUNDING_BITS - 1
        grid = 2.0 ** min(max(exponent, math.ceil(math.log2(widest)) - scale_bits + 1, -1070), 1000)
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


def symmetric(half_width: Any, unit: float) -> tuple[Any, Any]:
    """The interval [-w, w] in the values' own unit."""
    width = half_width * unit
    return -width, width
