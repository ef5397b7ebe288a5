"""What mechanisms share that add integer noise to numbers."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fastdp import rounding, validation
from fastdp.columns.numeric import Kind, Nulls, numeric_result_type, read_numeric
from fastdp.engine.runner import Placement, add_noise
from fastdp.errors import ParameterError
from fastdp.laws.central.gaussian_request import GaussianAim
from fastdp.laws.central.laplace import unconditioned
from fastdp.laws.central.placement import Boundary, FloatGrid
from fastdp.laws.law import Law
from fastdp.mechanisms.annotations import (
    Alternative,
    OptionalAmount,
    OptionalNumber,
    OptionalPair,
    computed,
    frozen,
    gives_values,
)
from fastdp.mechanisms.base import ColumnMechanism, derived, given, set_fields
from fastdp.mechanisms.central.noise_law import NoiseLaw
from fastdp.mechanisms.central.parameters import (
    PureParameters,
    Setting,
    check_boundary,
    read_bounds,
    read_sensitivity,
    together,
)
from fastdp.privacy import MetricPrivacy, Privacy
from fastdp.random.rng import Rng, resolve
from fastdp.typing import Column
from fastdp.validation import PerRecord

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.losses import Loss


CLAMP_OR_OPEN = ("clamp", "open")


class Additive(ColumnMechanism):
    """Mechanisms with one law of integer noise and one place to add it."""

    __slots__ = ()

    number_kind: ClassVar[Kind]
    """Whether it adds noise to integers or to floats."""
    boundary: Boundary = "clamp"
    sensitivity: Any
    _law: Any
    _steps: Any

    @abstractmethod
    def _placement(self, dtype: np.dtype[Any]) -> Placement:
        """Where and how the noise is added to values of this type."""

    @property
    def _step(self) -> float:
        """What one step of the noise is in the values' own unit."""
        return 1

    def _widened(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """The type of the results for values of this type."""
        return dtype

    @gives_values
    def randomize(self, values: Column, *, rng: Rng | None = None, nulls: Nulls = "error") -> Any:
        """One noisy value per value, in the caller's own kind of container.

        Takes numpy arrays of any layout, pyarrow arrays, pandas and polars series, one column of anything with an Arrow
        stream or array, Python numbers and sequences. ``rng=None`` draws from the process's own stream;
        ``nulls="public"`` keeps nulls where they are.
        """
        owner = type(self).__name__
        widen = self._widened if self.boundary == "open" else None
        column = read_numeric(owner, values, self.number_kind, nulls=nulls, widen=widen)
        law: Law = self._law
        records = self._records()
        if records is not None and records != column.size:
            raise ParameterError(f"{owner}: parameters are given for {records} records, values for {column.size}")
        placement = self._placement(column.result_dtype if column.read_dtype is None else column.read_dtype)
        resamples = self.boundary == "resample"
        return add_noise(owner, column, resolve(owner, rng), law, placement, needs_steps=resamples)

    def result_type(self, arrow_type: pa.DataType) -> pa.DataType:
        """The type of the values, or float64 for integers that get real noise.

        With ``boundary="open"`` integers become signed ones, wide enough for the noise.
        """
        import pyarrow as pa

        kind = numeric_result_type(type(self).__name__, arrow_type, self.number_kind)
        dtype = np.dtype(kind.to_pandas_dtype())
        self._placement(dtype)  # which refuses bounds that the type cannot hold
        return kind if self.boundary != "open" else pa.from_numpy_dtype(self._widened(dtype))

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

    @abstractmethod
    def _by_distance(self) -> MetricPrivacy:
        """`privacy_by_distance` of a mechanism with one parameter for all records."""

    @property
    def variance(self) -> Any:
        """The variance of the noise before any boundary; an array for per-record parameters."""
        return unconditioned(self._law).variance * self._step**2

    @property
    def law(self) -> NoiseLaw:
        """The distribution of the noise before any boundary: `pmf`, `pdf`, `cdf`, `log_ratio` and `plot`."""
        owner = type(self).__name__
        if self._records() is not None:
            raise ParameterError(f"{owner}: law is for one parameter for all records")
        law, distance = unconditioned(self._law), float(self.sensitivity)
        return NoiseLaw(owner, law, self._step, distance, is_real=self.number_kind == "float")

    def interval(self, level: float) -> tuple[Any, Any]:
        """The smallest symmetric interval that holds the noise, before any boundary, with probability ``level``.

        Integer noise has it with that probability or more.

        Parameters
        ----------
        level
            The probability, between 0 and 1.
        """
        width = unconditioned(self._law).half_width(validation.level(type(self).__name__, level)) * self._step
        return -width, width

    def _records(self) -> int | None:
        """The number of records that per-record parameters are for; None if there are none."""
        for name in ("epsilon", "rho", "sensitivity", "scale"):
            value = getattr(self, name, None)
            if isinstance(value, PerRecord):
                return len(value)
        return None


class FloatNoise(Additive):
    """Additive mechanisms on floats: noise on a grid of multiples of ``granularity``."""

    __slots__ = ()

    number_kind = "float"
    granularity: OptionalNumber
    bounds: OptionalPair

    def _placement(self, dtype: np.dtype[Any]) -> FloatGrid:
        return FloatGrid.within(type(self).__name__, float(self.granularity), self.bounds, self.boundary, dtype)

    @property
    def _step(self) -> float:
        return float(self.granularity)


@frozen()
class LaplaceNoise(Additive):
    """Additive mechanisms whose noise is discrete Laplace: pure epsilon, in proportion to the distance."""

    if TYPE_CHECKING:
        epsilon: OptionalAmount
        scale: OptionalAmount
        bounds: Any
    _steps: Any = computed()
    _law: Any = computed()

    def _ask(self) -> tuple[PureParameters, Any]:
        """The parameters that were asked for and the bounds, checked."""
        owner = type(self).__name__
        asked = PureParameters.read(owner, self.epsilon, self.scale, read_sensitivity(self))
        bounds = read_bounds(self)
        check_boundary(owner, self.boundary, bounds, is_each=asked.is_each)
        return asked, bounds

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the sampler as implemented, rounding of the values included; the worst record's."""
        return Privacy(epsilon=self._law.cost(self._steps))

    def _by_distance(self) -> MetricPrivacy:
        """In proportion: n steps cost at most n times the first, also where draws are repeated until inside.

        The log of the mass inside is concave, so there the first step from an end costs the most.
        """
        epsilon = rounding.float_up(Fraction(self._law.cost(1)) * self._steps)
        return by_distance(self, epsilon=epsilon)


@frozen()
class GaussianNoise(Additive):
    """Additive mechanisms whose noise is discrete Gaussian: epsilon and delta, or rho."""

    if TYPE_CHECKING:
        epsilon: Alternative
        delta: float | None
        rho: Alternative
        scale: OptionalAmount
        bounds: Any
    _steps: Any = computed()
    _law: Any = computed()
    _aim: GaussianAim = computed()

    def _ask(self) -> tuple[GaussianAim, Any, Any, list[np.ndarray] | None]:
        """What was asked for, the sensitivity, the bounds, and per-record parameters as arrays; checked."""
        owner = type(self).__name__
        sensitivity = read_sensitivity(self)
        aim = GaussianAim.read(owner, self.epsilon, self.delta, self.rho, given(self.scale))
        bounds = read_bounds(self)
        check_boundary(owner, self.boundary, bounds, is_each=False, allowed=CLAMP_OR_OPEN)
        return aim, sensitivity, bounds, together(owner, sensitivity, aim.parameter)

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the sampler as implemented, rounding of the values included; the worst record's."""
        return self._aim.privacy(self._law, self._steps)

    def _by_distance(self) -> MetricPrivacy:
        """Rho grows with the square of the distance; epsilon and delta hold up to one sensitivity."""
        stated = self.privacy
        return by_distance(self, epsilon=stated.epsilon, delta=stated.delta, rho=stated.rho)

    def _set_aim(self, aim: GaussianAim, law: Any, scale: Setting, **others: Any) -> None:
        """Set the fields: the parameters that were asked for, and those that follow from the law."""
        asked = aim.parameter if aim.kind == "scale" else derived(scale)
        set_fields(self, epsilon=aim.epsilon, delta=aim.delta, rho=aim.rho, scale=asked, _law=law, _aim=aim, **others)


def by_distance(mechanism: Additive, **stated: Any) -> MetricPrivacy:
    """The stated guarantee of one sensitivity; floats are rounded to multiples of the granularity first."""
    distance, rounded = mechanism.sensitivity, mechanism._step if mechanism.number_kind == "float" else 0.0  # noqa: SLF001
    assert not isinstance(distance, PerRecord), "privacy_by_distance refuses these"
    unit = f"distance {distance:g}"
    return MetricPrivacy(**stated, distance=distance, rounding=rounded, unit=unit, neighbours="replace")
