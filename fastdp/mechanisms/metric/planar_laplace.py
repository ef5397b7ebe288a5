"""Planar Laplace noise on points, in the plane and on the globe."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fastdp import rounding, validation
from fastdp.columns.numeric import Nulls
from fastdp.columns.points import PointColumns, read_points
from fastdp.engine.runner import working_memory
from fastdp.errors import ParameterError
from fastdp.laws.central.placement import FLOAT64, FloatGrid
from fastdp.laws.metric.planar import EXCESS, LARGEST_SCALE, SMALLEST_SCALE, PlanarLaw
from fastdp.laws.rate import check_scale
from fastdp.mechanisms.annotations import (
    UNSET,
    OptionalNumber,
    OptionalPair,
    Rate,
    Region,
    computed,
    frozen,
)
from fastdp.mechanisms.base import derived, given, set_fields
from fastdp.mechanisms.metric.planar_noise import PlanarNoise
from fastdp.mechanisms.metric.remapped_points import RemappedPoints
from fastdp.plane import Plane
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, resolve
from fastdp.renamed import renamed
from fastdp.threads import for_each_block
from fastdp.typing import Column, Matrix, Numbers
from fastdp.units.lengths import METRES, read_rate

LARGEST_DISTANCE = 4.0e6
"""Metres east or north of the origin up to which reports on the globe lie; it must be far less than a quadrant."""
FLOAT_ERROR = Fraction(1, 1 << 20)
"""Metres by which float64 may bring two points of the globe farther apart than they are, when they are projected."""
SMALLEST_FLOAT = 5e-324
AT_ONCE = 1 << 15
"""Points that are projected together: some twenty temporary arrays of them stay in the caches."""
ROOT_TWO = Fraction(math.isqrt(1 << 201) + 1, 1 << 100)


@frozen()
class PlanarLaplace(PlanarNoise):
    """Move a point by z with probability proportional to e**(-epsilon |z|), on a grid: geo-indistinguishability.

    epsilon-d-private for one report per person, d the distance: ``epsilon`` is per ``unit`` ("m", "km", "ft" or "mi"),
    and coordinates are in that unit. Points are rounded to multiples of ``granularity`` first (a power of two in units;
    the largest up to one metre by default), and z is a whole number of steps: the discrete planar Laplace, drawn from
    integer weights, so that no digit of a report tells more than its place on the grid. ``region``, two pairs of bounds
    for x and for y, clamps points and reports.

    Latitudes and longitudes are projected onto the plane that touches the globe (WGS 84) at ``origin``, a public
    latitude and longitude. Within 200 km of it distances are right to 0.1 %; nowhere are they longer than on the
    ground, so that epsilon holds for the ground's. Reports lie up to 4,000 km east and north of it.

    10 random bytes per point, and 12 more for one in four. [Andres et al. 2013]

    Parameters
    ----------
    epsilon
        The privacy per unit of distance; or words such as ``"ln(2)/200m"``.
    unit
        The unit of the coordinates and of epsilon, such as "m" or "km".
    granularity
        The spacing of the output grid, in that unit.
    region
        Bounds of x and of y that outputs are clamped to.
    origin
        The public latitude and longitude where the plane touches the globe, for `randomize_latlon`.

    >>> import fastdp as fd
    >>> from fastdp.mechanisms.metric.planar_laplace import PlanarLaplace
    >>> mechanism = PlanarLaplace(epsilon=0.7, unit="km", origin=(48.85, 2.35))
    >>> mechanism.privacy
    Privacy(epsilon=0.70096..., unit='1 km', neighbours='replace')
    >>> x, y = mechanism.randomize([0.5, 2.0], [1.0, 1.5], rng=fd.Rng.unsafe_seed(7))
    >>> latitude, longitude = mechanism.randomize_latlon(48.86, 2.33)
    """

    epsilon: Rate
    unit: str
    granularity: OptionalNumber = UNSET
    region: Region = UNSET
    origin: OptionalPair = UNSET
    _law: Any = computed()

    def __post_init__(self) -> None:
        owner = "PlanarLaplace"
        unit = validation.one_of(owner, "unit", self.unit, tuple(METRES))
        epsilon = validation.positive(owner, "epsilon", read_rate(owner, self.epsilon, unit))
        granularity = given(self.granularity)
        if granularity is None:
            granularity = derived(2.0 ** math.floor(-math.log2(METRES[unit])))
        else:
            granularity = validation.power_of_two(owner, "granularity", granularity)
        scale = 1 / max(epsilon * granularity, SMALLEST_FLOAT)
        check_scale(owner, scale, scale, SMALLEST_SCALE, LARGEST_SCALE / 2)
        region = self.region
        if region is not None:
            if not isinstance(region, tuple | list) or len(region) != 2:
                raise ParameterError(f"{owner}: region must be two pairs of bounds, for x and for y")
            region = tuple(validation.bounds(owner, bounds, integers=False) for bounds in region)
        law = PlanarLaw.below(Fraction(epsilon) * Fraction(granularity))
        set_fields(self, epsilon=epsilon, granularity=granularity, region=region, _law=law)
        if self.origin is not None:
            set_fields(self, origin=validation.origin(owner, self.origin))

    def epsilon_at(self, distance: float) -> float:
        """What a report costs between two points at most ``distance`` units apart: rate * (distance + sqrt(2) step).

        Rounding moves each point by at most step / sqrt(2), so that two of them come nearer or farther by sqrt(2) steps
        at most. Two offsets' weights then differ by e**(rate * |z - z'|) at most, up to the rounding of the thresholds
        in the kernel, which is bounded and added; the same sum of weights divides both. Clamping to a region brings no
        two points farther apart, and projecting the globe by no more than float64 is off, which is added as well.
        """
        distance = validation.positive("PlanarLaplace.epsilon_at", "distance", distance)
        return rounding.float_up(self._law.rate * (self.steps_apart(Fraction(distance)) + ROOT_TWO) + 2 * EXCESS)

    def steps_apart(self, distance: Fraction) -> Fraction:
        """How many steps of the grid two points so many units apart can be apart before they are rounded."""
        if self.origin is not None:
            distance += FLOAT_ERROR / Fraction(METRES[self.unit])
        return distance / Fraction(self.granularity)

    @property
    def privacy(self) -> Privacy:
        """The guarantee for two points up to one unit apart, of the sampler as implemented, rounded up.

        It is above the asked epsilon by the part that sqrt(2) steps are of a unit: see :meth:`epsilon_at`.
        """
        return Privacy(epsilon=self.epsilon_at(1.0), unit=f"1 {self.unit}", neighbours="replace")

    @renamed(confidence="level")
    def radius(self, level: float) -> float:
        """How many units a report is off at most, with this probability; that of the law without steps.

        >>> from fastdp.mechanisms.metric.planar_laplace import PlanarLaplace
        >>> round(PlanarLaplace(epsilon=1.0, unit="km").radius(0.95), 6)
        4.743865
        """
        level = validation.probability("PlanarLaplace.radius", "level", level)
        low, high = 0.0, 100.0 - 2 * math.log1p(-level)
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if -math.expm1(-middle) - middle * math.exp(-middle) < level else (low, middle)
        return high / self.epsilon

    def randomize(self, x: Column, y: Column | None = None, *, rng: Rng | None = None, nulls: Nulls = "error") -> Any:
        """One point per point, as two columns in the caller's own kinds of container.

        One container of both columns (an array of shape (n, 2), a data frame, a table) comes back as such a container.
        """
        points = read_points("PlanarLaplace", x, y, nulls=nulls)
        grids = self.grids("PlanarLaplace", [column.result_dtype for column in points.columns])

        def add(values: list[np.ndarray], offsets: list[np.ndarray], results: list[np.ndarray]) -> None:
            for grid, *parts in zip(grids, values, offsets, results, strict=True):
                grid.add(*parts)

        return self._run(points, rng, add)

    def randomize_latlon(
        self, latitude: Column, longitude: Column | None = None, *, rng: Rng | None = None, nulls: Nulls = "error"
    ) -> Any:
        """One latitude and one longitude (from -180 to 180) per point, in the caller's own kinds of container.

        One container of both columns, latitudes first, comes back as such a container.
        """
        owner, flat_earth, origin = "PlanarLaplace", self.on_plane(), self.public_origin()
        points = read_points(owner, latitude, longitude, nulls=nulls, missing=origin)
        metres, plane = METRES[self.unit], Plane(owner, *origin)
        grids = flat_earth.grids(owner)

        def add(values: list[np.ndarray], offsets: list[np.ndarray], results: list[np.ndarray]) -> None:
            for start in range(0, values[0].size, AT_ONCE):
                some, moves, out = ([part[start : start + AT_ONCE] for part in p] for p in (values, offsets, results))
                degrees = (part.astype(np.float64, copy=False) for part in some)
                flat = [part / metres for part in plane.project(*degrees)]
                for grid, part, move in zip(grids, flat, moves, strict=True):
                    grid.add(part, move, part)
                for result, part in zip(out, plane.unproject(*(part * metres for part in flat)), strict=True):
                    result[:] = part

        return self._run(points, rng, add)

    def remap(self, prior: Numbers, places: Matrix, loss: str = "absolute") -> RemappedPoints:
        """This mechanism with each report replaced by the one of ``places`` that loses least given it, under ``prior``.

        It costs no more privacy. Places are pairs of coordinates, or latitudes and longitudes if there is an origin.

        Parameters
        ----------
        prior
            The weight of each value.
        places
            The coordinates of each place, in rows.
        loss
            The loss of a guess: ``"absolute"``, ``"squared"``, ``"zero-one"``, or a matrix.
        """
        return RemappedPoints(mechanism=self, places=places, prior=prior, loss=loss)

    def grids(self, owner: str, dtypes: Sequence[np.dtype[Any]] = (FLOAT64, FLOAT64)) -> list[FloatGrid]:
        """Where noise is added to x and to y: the multiples of ``granularity`` in the region."""
        return [
            FloatGrid.within(owner, self.granularity, limits, dtype=dtype)
            for limits, dtype in zip(self.region or (None, None), dtypes, strict=True)
        ]

    def public_origin(self) -> tuple[float, float]:
        """The origin, without which latitudes and longitudes are refused."""
        if self.origin is None:
            raise ParameterError("PlanarLaplace: latitudes and longitudes need origin, a public latitude and longitude")
        return self.origin

    @property
    def public_point(self) -> tuple[float, float]:
        """The origin, or a corner of the region, or (0, 0)."""
        if self.origin is not None:
            return self.origin
        return (0.0, 0.0) if self.region is None else (self.region[0][0], self.region[1][0])

    def on_plane(self) -> PlanarLaplace:
        """The mechanism on the plane that touches the globe at ``origin``, within 4,000 km of it."""
        self.public_origin()
        most = LARGEST_DISTANCE / METRES[self.unit]
        limits = tuple((max(low, -most), min(high, most)) for low, high in self.region or ((-most, most),) * 2)
        if not all(low < high for low, high in limits):
            raise ParameterError("PlanarLaplace: the region lies beyond 4,000 km of the origin")
        return replace(self, region=limits)

    def _run(self, points: PointColumns, rng: Rng | None, add: Callable[..., None]) -> Any:
        """Two columns with every block moved; nothing if any block is refused."""
        owner, results = "PlanarLaplace", points.begin()
        key, slot = resolve(owner, rng).reserve(points.size)
        fill = self._law.sampler()

        def work(start: int, stop: int) -> None:
            values, parts = points.read(owner, start, stop), results.take(start, stop)
            with working_memory() as memory:
                offsets = [memory.noise[: stop - start], np.empty(stop - start, np.int64)]
                fill(key, slot + np.uint64(start), memory.scratch, *offsets)
                add(values, offsets, parts)
            results.put(start, stop, parts)

        for first, last in points.spans():

            def shifted(start: int, stop: int, first: int = first) -> None:
                work(first + start, first + stop)

            for_each_block(last - first, shifted)
        return results.finish()
