"""What mechanisms share that add integer noise to numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fastdp import validation
from fastdp.columns.numeric import Kind, Nulls, numeric_result_type, read_numeric
from fastdp.engine.runner import Place, add_noise
from fastdp.errors import ParameterError
from fastdp.laws.cell_tables import LARGEST_RATE, LARGEST_SCALE
from fastdp.laws.central.placement import BOUNDARIES, Boundary
from fastdp.laws.law import Law
from fastdp.laws.rate import check_scale
from fastdp.mechanisms.annotations import gives_values
from fastdp.mechanisms.base import ColumnMechanism, derived, given
from fastdp.privacy import MetricPrivacy
from fastdp.random.rng import Rng, resolve
from fastdp.typing import Column
from fastdp.validation import PerRecord

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.losses import Loss

Setting = float | PerRecord
ROUNDING_BITS = 20
SMALLEST_NUMBER = 1e-300
SMALLEST_GRANULARITY = 2.0**-1000
LARGEST_GRANULARITY = 2.0**900


class Additive(ColumnMechanism):
    """Mechanisms with one law of integer noise and one place to add it."""

    __slots__ = ()

    number_kind: ClassVar[Kind]
    """Whether it adds noise to integers or to floats."""
    boundary: Boundary = "clamp"
    _law: Any
    _steps: Any

    def _place(self, dtype: np.dtype[Any]) -> Place:
        raise NotImplementedError

    @gives_values
    def randomize(self, values: Column, *, rng: Rng | None = None, nulls: Nulls = "error") -> Any:
        """One noisy value per value, in the caller's own kind of container.

        Takes numpy arrays of any layout, pyarrow arrays, pandas and polars series, one column of anything with an Arrow
        stream or array, Python numbers and sequences. ``rng=None`` draws from the process's own stream;
        ``nulls="public"`` keeps nulls where they are.
        """
        owner = type(self).__name__
        column = read_numeric(owner, values, self.number_kind, nulls=nulls)
        law: Law = self._law
        records = self._records()
        if records is not None and records != column.size:
            raise ParameterError(f"{owner}: parameters are given for {records} records, values for {column.size}")
        place = self._place(column.result_dtype)
        resamples = getattr(self, "boundary", None) == "resample"
        return add_noise(owner, column, resolve(owner, rng), law, place, needs_steps=resamples)

    def result_type(self, arrow_type: pa.DataType) -> pa.DataType:
        """The type of the values, or float64 for integers that get real noise."""
        kind = numeric_result_type(type(self).__name__, arrow_type, self.number_kind)
        self._place(np.dtype(kind.to_pandas_dtype()))  # which refuses bounds that the type cannot hold
        return kind

    def losses(self) -> tuple[Loss, ...]:
        """The privacy loss of the noise, the worst record's; clamping and folding are post-processing."""
        return (self._law.loss(self._steps),)

    @property
    def privacy_by_distance(self) -> MetricPrivacy:
        """The guarantee for any two values, by their distance: what one ``sensitivity`` costs, and how that grows."""
        owner = type(self).__name__
        if self._records() is not None:
            raise ParameterError(f"{owner}: privacy_by_distance is for one parameter for all records")
        return self._by_distance()

    def _by_distance(self) -> MetricPrivacy:
        raise NotImplementedError

    def _records(self) -> int | None:
        """The number of records that per-record parameters are for; None if there are none."""
        for name in ("epsilon", "rho", "sensitivity", "scale"):
            value = getattr(self, name, None)
            if isinstance(value, PerRecord):
                return len(value)
        return None


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


def by_distance(distance: Setting, granularity: float = 0.0, **stated: Any) -> MetricPrivacy:
    """The guarantee of noise on values that are rounded to multiples of ``granularity`` first."""
    assert not isinstance(distance, PerRecord), "privacy_by_distance refuses these"
    unit = f"distance {distance:g}"
    return MetricPrivacy(**stated, distance=distance, rounding=granularity, unit=unit, neighbours="replace")


def check_boundary(owner: str, boundary: str, bounds: tuple[float, float] | None, *, is_each: bool) -> None:
    """A way to treat the bounds needs bounds; drawing until inside needs one law for all records."""
    validation.one_of(owner, "boundary", boundary, BOUNDARIES)
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


def symmetric(half_width: Any, unit: float) -> tuple[Any, Any]:
    """The interval [-w, w] in the values' own unit."""
    width = half_width * unit
    return -width, width
