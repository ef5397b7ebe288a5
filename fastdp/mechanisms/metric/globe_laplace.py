"""Planar Laplace noise anywhere on the globe, around an origin that is itself private."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from fastdp import rounding, validation
from fastdp.columns.numeric import Nulls
from fastdp.columns.points import read_points
from fastdp.errors import ParameterError
from fastdp.mechanisms.annotations import UNSET, OptionalNumber, Rate, computed, frozen
from fastdp.mechanisms.base import PointMechanism, set_fields
from fastdp.mechanisms.central.geometric import Geometric
from fastdp.mechanisms.metric.planar_laplace import LARGEST_DISTANCE, PlanarLaplace
from fastdp.plane import Plane, check_degrees
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, resolve
from fastdp.renamed import renamed
from fastdp.typing import Column
from fastdp.units.lengths import METRES, read_rate

SMALLEST_SHARE, LARGEST_SHARE = 1 / 64, 1 / 4
"""Parts of epsilon that the origin may cost."""
FAR = 1.0e5
"""The scale in metres of the origin's noise that is aimed at: a plane is flat to 0.1 % over 200 km."""
STEPS = 1 << 20
"""Steps of the origin's grid per scale of its noise: rounding to the grid costs 3 parts of that."""
FLOAT_ERROR = 1.0e-6
"""Metres by which float64 may bring two points farther apart than they are."""
AT_ONCE = 1 << 15
"""Points that are moved together: some forty temporary arrays of them take 10 MiB."""
_ROOT_THREE = Fraction(math.isqrt(3 << 200) + 1, 1 << 100)


@frozen()
class GlobeLaplace(PointMechanism):
    """Move a latitude and a longitude by planar Laplace noise, on a plane that touches the globe near the point.

    epsilon-d-private for one report per person, d the distance on the ground: ``epsilon`` is per ``unit`` ("m", "km",
    "ft" or "mi"). `PlanarLaplace` wants a public origin; here each point draws its own, from 1/64 to 1/4 of epsilon:
    discrete Laplace noise on its three coordinates in space, in steps, where no two points are farther apart than on
    the ground, and whose sum of absolute differences is at most sqrt(3) times that. The rest of epsilon pays for the
    noise on the plane that touches the globe (WGS 84) there. Where the origin's noise would have a scale above 100 km
    at a quarter of epsilon, the mechanism is refused: give `PlanarLaplace` a public origin.

    36 random bytes per point and more for some. [Andres et al. 2013; Chatzikokolakis et al. 2013]

    Parameters
    ----------
    epsilon
        The privacy per unit of distance.
    unit
        The unit of distance, such as "m" or "km".
    granularity
        The spacing of the output grid, in that unit.

    >>> import fastdp as fd
    >>> mechanism = fd.GlobeLaplace(epsilon=0.7, unit="km")
    >>> latitude, longitude = mechanism.randomize(48.86, 2.33, rng=fd.Rng.unsafe_seed(7))
    >>> mechanism.privacy
    Privacy(epsilon=0.7..., unit='1 km', neighbours='replace')
    """

    epsilon: Rate
    unit: str
    granularity: OptionalNumber = UNSET
    _step: float = computed()
    _coarse: Any = computed()
    _fine: Any = computed()

    def __post_init__(self) -> None:
        owner = "GlobeLaplace"
        unit = validation.one_of(owner, "unit", self.unit, tuple(METRES))
        epsilon = validation.positive(owner, "epsilon", read_rate(owner, self.epsilon, unit))
        per_metre = epsilon / METRES[unit]
        share = max(math.sqrt(3) / (per_metre * FAR), SMALLEST_SHARE)
        if not share <= LARGEST_SHARE:
            raise ParameterError(
                f"{owner}: noise of {1 / per_metre:.6g} m is too wide for an origin drawn per point; give a public one"
            )
        scale = math.sqrt(3) / (share * per_metre)
        step = 2.0 ** math.floor(math.log2(scale / STEPS))
        most = LARGEST_DISTANCE / METRES[unit]
        fine = PlanarLaplace(
            epsilon=epsilon * (1 - share), unit=unit, granularity=self.granularity, region=((-most, most),) * 2
        )
        set_fields(
            self,
            epsilon=epsilon,
            granularity=fine.granularity,
            _step=step,
            _coarse=Geometric(epsilon=step / scale, sensitivity=1),
            _fine=fine,
        )

    def epsilon_at(self, distance: float) -> float:
        """What a report costs between two points at most ``distance`` units apart, rounded up.

        The origin costs its rate times the steps that two points are apart in all three coordinates: sqrt(3) times the
        distance, and one more for each coordinate that is rounded. Given the origin, the point on its plane costs what
        `PlanarLaplace` states; the projection brings no two points farther apart.
        """
        distance = validation.positive("GlobeLaplace.epsilon_at", "distance", distance)
        apart = Fraction(distance) * Fraction(METRES[self.unit]) + Fraction(FLOAT_ERROR)
        coarse = Fraction(self._coarse.privacy.epsilon) * (_ROOT_THREE * apart / Fraction(self._step) + 3)
        fine = self._fine.epsilon_at(rounding.float_up(apart / Fraction(METRES[self.unit])))
        return rounding.float_up(coarse + Fraction(fine))

    @property
    def privacy(self) -> Privacy:
        """The guarantee for two points up to one unit apart, of the samplers as implemented, rounded up."""
        return Privacy(epsilon=self.epsilon_at(1.0), unit=f"1 {self.unit}", neighbours="replace")

    @renamed(confidence="level")
    def radius(self, level: float) -> float:
        """How many units a report is off at most, with this probability; that of the law on a flat plane."""
        return float(self._fine.radius(level))

    def randomize(  # of degrees alone
        self, latitude: Column, longitude: Column | None = None, *, rng: Rng | None = None, nulls: Nulls = "error"
    ) -> Any:
        """One latitude and one longitude (from -180 to 180) per point, in the caller's own kinds of container.

        Parameters
        ----------
        latitude, longitude, rng, nulls
            As in `PointMechanism.randomize_latlon`.
        """
        owner = "GlobeLaplace"
        points = read_points(owner, latitude, longitude, nulls=nulls)
        rng, results = resolve(owner, rng), points.begin()
        for first, last in points.spans():
            for start in range(first, last, AT_ONCE):
                stop = min(start + AT_ONCE, last)
                results.fill(start, stop, self._move(rng, *points.read(owner, start, stop)))
        return results.finish()

    def randomize_latlon(
        self, latitude: Column, longitude: Column | None = None, *, rng: Rng | None = None, nulls: Nulls = "error"
    ) -> Any:
        """The same as `randomize`, as `PlanarLaplace` calls it."""
        return self.randomize(latitude, longitude, rng=rng, nulls=nulls)

    def _move(self, rng: Rng, latitude: np.ndarray, longitude: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        metres, latitude, longitude = METRES[self.unit], latitude.astype(np.float64), longitude.astype(np.float64)
        check_degrees("GlobeLaplace", latitude, longitude)
        noisy = []
        for axis, where in zip("xyz", Plane("GlobeLaplace", latitude, longitude).origins.T, strict=True):
            steps = np.rint(where / self._step).astype(np.int64)
            noisy.append(self._coarse.randomize(steps, rng=rng.child(f"origin {axis}")) * self._step)
        x, y, z = noisy
        planes = Plane("GlobeLaplace", np.degrees(np.arctan2(z, np.hypot(x, y))), np.degrees(np.arctan2(y, x)))
        east, north = (part / metres for part in planes.project(latitude, longitude))
        east, north = self._fine.randomize(east, north, rng=rng.child("plane"))
        return planes.unproject(east * metres, north * metres)
