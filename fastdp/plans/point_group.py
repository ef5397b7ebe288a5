"""Groups of two columns that are a point: planar Laplace noise, on a plane or on the globe."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fastdp import rounding, validation
from fastdp.errors import FastDPError, ParameterError, SchemaError
from fastdp.plans.documents import coordinate_names as places
from fastdp.plans.policies import Policies, decode, decoded_type
from fastdp.privacy import MetricPrivacy
from fastdp.units.lengths import METRES, parse_length, parse_number, parse_rate

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.mechanisms.base import PointMechanism
    from fastdp.random.rng import Rng

KEYS = ("epsilon", "unit", "coordinates", "origin", "region", "granularity", "nulls")
ORIGIN = "give origin = [latitude, longitude], a public place"
STEPS = 4096
"""Steps of the grid within the distance that epsilon is for: rounding to the grid costs a part of 2**-11."""
SCALE_BITS = 20
"""Steps per scale of the noise that the sampler is asked for, at most, as a power of two."""
TRIES = 4
SMALLEST_FLOAT = 5e-324
Coordinates = Literal["latlon", "plane"]


@dataclass(frozen=True, slots=True)
class Points:
    """Two columns that are moved together; epsilon is for points that are ``distance`` of the mechanism's units apart.

    Its guarantee is d-privacy: in proportion more for points farther apart, the rounding to a grid included.
    """

    columns: tuple[str, str]
    coordinates: Coordinates
    mechanism: PointMechanism
    distance: float
    nulls: Policies
    reports_values: ClassVar[bool] = False
    not_estimable: ClassVar[str] = (
        "moved points are read as they are; for a density, count them on a grid and use the grid's channel"
    )

    @classmethod
    def read(cls, owner: str, columns: tuple[str, ...], given: Mapping[str, Any]) -> Points:
        if len(columns) != 2:
            raise ParameterError(f"{owner}: planar_laplace is for two columns, a latitude and a longitude or x and y")
        first, second = columns
        coordinates = _read_coordinates(owner, first, second, given)
        unit, epsilon, distance = _read_epsilon(owner, given, coordinates)
        parameters = {key: given[key] for key in ("origin", "region", "granularity") if key in given}
        mechanism = _build(owner, coordinates, parameters | {"epsilon": epsilon, "unit": unit}, distance)
        nulls = Policies.read(owner, {key: given[key] for key in ("nulls",) if key in given}, domain=None)
        return cls((first, second), coordinates, mechanism, distance, nulls)

    @property
    def privacy(self) -> MetricPrivacy:
        """The guarantee for two points up to the stated distance apart, and by distance beyond.

        The cost grows by a rate from what rounding alone costs: as if points were farther apart by ``rounding``.
        """
        epsilon = self.mechanism.epsilon_at(self.distance)
        rounded = Fraction(self.mechanism.epsilon_at(SMALLEST_FLOAT)) * Fraction(self.distance) / Fraction(epsilon)
        return MetricPrivacy(
            epsilon=epsilon,
            distance=self.distance,
            rounding=rounding.float_up(rounded),
            unit=f"distance {self.distance:g} {self.mechanism.unit}",
            neighbours="replace",
        )

    @property
    def expected_error(self) -> str:
        """How far 95 % of the reports are from their points, at most."""
        metres = self.mechanism.radius(0.95) * METRES[self.mechanism.unit]
        return f"{metres:,.4g} m from each point" if metres < 1000 else f"{metres:,.0f} m from each point"

    @property
    def fillers(self) -> tuple[float, float]:
        """A public point, which stands where there is none."""
        return self.mechanism.public_point

    def settle(self, values: list[pa.Array], rng: Rng) -> list[pa.Array]:  # noqa: ARG002 - as other groups
        """Numbers without dictionaries or runs."""
        for name, column in zip(self.columns, values, strict=True):
            self._plain_type(name, column.type)
        return [decode(column) for column in values]

    @staticmethod
    def _plain_type(name: str, kind: pa.DataType) -> pa.DataType:
        """The type of numbers without dictionaries or runs; others are refused."""
        import pyarrow as pa

        plain = decoded_type(kind)
        if not (pa.types.is_floating(plain) or pa.types.is_integer(plain)):
            raise SchemaError(f"column {name!r}: arrow type {plain} is not supported; it takes numbers")
        return plain

    def randomize(self, values: list[pa.Array], rng: Rng) -> list[pa.Array]:
        """The points, moved."""
        move = self.mechanism.randomize_latlon if self.coordinates == "latlon" else self.mechanism.randomize
        return list(move(*values, rng=rng))

    def result_types(self, kinds: list[pa.DataType]) -> list[pa.DataType]:
        """Those of the numbers, or float64 for integers."""
        plain = [self._plain_type(*pair) for pair in zip(self.columns, kinds, strict=True)]
        return self.mechanism.result_types(plain)


def _read_coordinates(owner: str, first: str, second: str, given: Mapping[str, Any]) -> Coordinates:
    """What the columns hold: as the plan says, or else as their names tell."""
    if places.is_globe(second, first):
        raise ParameterError(f"{owner}: name the latitude first, then the longitude")
    if "coordinates" in given:
        kind: Any = validation.one_of(owner, "coordinates", given["coordinates"], ("latlon", "plane"))
    elif "origin" in given or places.is_globe(first, second):
        kind = "latlon"
    elif places.is_plane(first, second):
        kind = "plane"
    else:
        raise ParameterError(
            f'{owner}: say coordinates = "latlon" (degrees) or "plane" (lengths); the names of the columns do not tell'
        )
    if kind == "plane":
        if "origin" in given:
            raise ParameterError(f"{owner}: origin is for latitudes and longitudes")
        if "unit" not in given:
            raise ParameterError(f'{owner}: say the unit of the coordinates, such as unit = "km"')
    elif "region" in given and "origin" not in given:
        raise ParameterError(
            f"{owner}: region is around an origin; give origin = [latitude, longitude], a public place"
        )
    return kind  # type: ignore[no-any-return]


def _read_epsilon(owner: str, given: Mapping[str, Any], coordinates: str) -> tuple[str, float, float]:
    """The unit of the mechanism, epsilon per unit, and the distance in units that the plan states epsilon for."""
    epsilon, unit = given.get("epsilon"), given.get("unit")
    if unit is not None:
        validation.one_of(owner, "unit", unit, tuple(METRES))
    if isinstance(epsilon, str) and not _is_number(owner, epsilon):
        per_metre, length = parse_rate(owner, "epsilon", epsilon), _length(owner, epsilon)
        unit = unit or ("km" if length >= 1000 and coordinates == "latlon" else "m")
        return unit, per_metre * METRES[unit], length / METRES[unit]
    value = parse_number(owner, "epsilon", epsilon) if isinstance(epsilon, str) else epsilon
    value = validation.positive(owner, "epsilon", value)
    if unit is None:
        raise ParameterError(
            f'{owner}: epsilon is per length here; write "ln(2)/500m" or "0.7/km", or give unit = "km"'
        )
    return unit, value, 1.0


def _is_number(owner: str, text: str) -> bool:
    try:
        parse_number(owner, "epsilon", text)
    except ParameterError:
        return False
    return True


def _length(owner: str, text: str) -> float:
    """The length in metres that an epsilon is divided by as it is written, else a kilometre."""
    try:
        return parse_length(owner, "epsilon", text.rpartition("/")[2])
    except ParameterError:
        return 1000.0


def _build(owner: str, coordinates: str, given: dict[str, Any], distance: float) -> Any:
    """The mechanism that costs at most what was asked for between points that are ``distance`` units apart.

    What the rounding to a grid adds is made up for by a little more noise, on a grid that is fine for that distance.
    """
    from fastdp.mechanisms.metric.globe_laplace import GlobeLaplace
    from fastdp.mechanisms.metric.planar_laplace import PlanarLaplace

    is_global = coordinates == "latlon" and "origin" not in given
    asked = Fraction(given["epsilon"]) * Fraction(distance)
    parameters = {"granularity": _granularity(given["epsilon"], given["unit"], distance)} | given
    try:
        for _ in range(TRIES):
            mechanism = (GlobeLaplace if is_global else PlanarLaplace)(**parameters)
            cost = Fraction(mechanism.epsilon_at(distance))
            if cost <= asked:
                break
            parameters["epsilon"] *= float(asked / cost) * (1 - 2.0**-30)
    except FastDPError as error:
        way_out = f"; {ORIGIN}" if is_global else ""
        raise ParameterError(f"{owner}: {error}{way_out}") from None
    return mechanism


def _granularity(epsilon: float, unit: str, distance: float) -> float:
    """A power of two below a metre and a small part of the distance, but not too small for the sampler."""
    finest = math.ceil(math.log2(1 / epsilon) - SCALE_BITS)
    return 2.0 ** max(math.floor(math.log2(min(1 / METRES[unit], distance / STEPS))), finest)
