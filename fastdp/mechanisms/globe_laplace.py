"""Planar Laplace noise anywhere on the globe, around an origin that is itself private."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from fastdp import rounding, validation
from fastdp.columns.numeric import Nulls, read_block, read_numeric
from fastdp.errors import ParameterError, SchemaError
from fastdp.mechanisms.additive import set_fields
from fastdp.mechanisms.geometric import Geometric
from fastdp.mechanisms.planar_laplace import LARGEST_DISTANCE, PlanarLaplace
from fastdp.parallel import BLOCK
from fastdp.plane import Plane, check_degrees, place
from fastdp.privacy import Privacy
from fastdp.quantities import METRES
from fastdp.random.rng import Rng, resolve

SMALLEST_SHARE, LARGEST_SHARE = 1 / 64, 1 / 4
"""Parts of epsilon that the origin may cost."""
FAR = 1.0e5
"""The scale in metres of the origin's noise that is aimed at: a plane is flat to 0.1 % over 200 km."""
STEPS = 1 << 20
"""Steps of the origin's grid per scale of its noise: rounding to the grid costs 3 parts of that."""
FLOAT_ERROR = 1.0e-6
"""Metres by which float64 may bring two points farther apart than they are."""
_ROOT_THREE = Fraction(math.isqrt(3 << 200) + 1, 1 << 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobeLaplace:
    """Move a latitude and a longitude by planar Laplace noise, on a plane that touches the globe near the point.

    epsilon-d-private for one report per person, d the distance on the ground: ``epsilon`` is per ``unit`` ("m", "km",
    "ft" or "mi"). `PlanarLaplace` wants a public origin; here each point draws its own, from 1/64 to 1/4 of epsilon:
    discrete Laplace noise on its three coordinates in space, in steps, where no two points are farther apart than on
    the ground, and whose sum of absolute differences is at most sqrt(3) times that. The rest of epsilon pays for the
    noise on the plane that touches the globe (WGS 84) there. Where the origin's noise would have a scale above 100 km
    at a quarter of epsilon, the mechanism is refused: give `PlanarLaplace` a public origin.

    36 random bytes per point and more for some. [Andres et al. 2013; Chatzikokolakis et al. 2013]

    >>> import fastdp as fd
    >>> mechanism = fd.GlobeLaplace(epsilon=0.7, unit="km")
    >>> latitude, longitude = mechanism.randomize(48.86, 2.33, rng=fd.Rng.unsafe_seed(7))
    >>> mechanism.privacy
    Privacy(epsilon=0.7..., unit='1 km', neighbours='replace')
    """

    epsilon: Any
    unit: Any
    granularity: Any = None
    _step: float = field(init=False, repr=False, compare=False)
    _coarse: Any = field(init=False, repr=False, compare=False)
    _fine: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        owner = "GlobeLaplace"
        epsilon = validation.positive(owner, "epsilon", self.epsilon)
        unit = validation.one_of(owner, "unit", self.unit, tuple(METRES))
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

    def radius(self, confidence: float) -> float:
        """How many units a report is off at most, with this probability; that of the law on a flat plane."""
        return float(self._fine.radius(confidence))

    def randomize(
        self, latitude: Any, longitude: Any, *, rng: Rng | None = None, nulls: Nulls = "error"
    ) -> tuple[Any, Any]:
        """One latitude and one longitude (from -180 to 180) per point, in the caller's own kinds of container."""
        owner = "GlobeLaplace"
        columns = [read_numeric(owner, values, "float", nulls=nulls) for values in (latitude, longitude)]
        size = columns[0].size
        if columns[1].size != size:
            raise SchemaError(f"{owner}: the two columns must have the same length")
        rng = resolve(owner, rng)
        flat = []
        for column in columns:
            pieces = [read_block(owner, piece, 0, piece.size, column.result_dtype) for piece in column.pieces]
            flat.append(np.concatenate([piece.astype(np.float64) for piece in pieces] or [np.zeros(0)]))
        results = [np.empty(size, column.result_dtype) for column in columns]
        for start in range(0, size, BLOCK):
            part = slice(start, min(start + BLOCK, size))
            for result, moved in zip(results, self._move(flat[0][part], flat[1][part], rng), strict=True):
                result[part] = moved
        first, second = (
            column.rebuild([result[a:b].copy() for a, b in pairwise(_edges(column.pieces))])
            for column, result in zip(columns, results, strict=True)
        )
        return first, second

    def _move(self, latitude: np.ndarray, longitude: np.ndarray, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
        metres = METRES[self.unit]
        check_degrees("GlobeLaplace", latitude, longitude)
        noisy = []
        for axis, where in zip("xyz", place(latitude, longitude), strict=True):
            steps = np.rint(where / self._step).astype(np.int64)
            noisy.append(self._coarse.randomize(steps, rng=rng.child(f"origin {axis}")) * self._step)
        x, y, z = noisy
        planes = Planes("GlobeLaplace", np.degrees(np.arctan2(z, np.hypot(x, y))), np.degrees(np.arctan2(y, x)))
        east, north = (part / metres for part in planes.project(latitude, longitude))
        east, north = self._fine.randomize(east, north, rng=rng.child("plane"))
        return planes.unproject(east * metres, north * metres)


class Planes(Plane):
    """A plane of its own for each point."""

    def __init__(self, owner: str, latitude: np.ndarray, longitude: np.ndarray) -> None:
        self._owner = owner
        phi, lam = np.radians(latitude), np.radians(longitude)
        sin, cos = np.sin(phi), np.cos(phi)
        self._east = np.stack([-np.sin(lam), np.cos(lam), np.zeros_like(lam)])
        self._north = np.stack([-sin * np.cos(lam), -sin * np.sin(lam), cos])
        self._up = np.stack([cos * np.cos(lam), cos * np.sin(lam), sin])
        self._origin = np.stack(place(latitude, longitude))


def _edges(pieces: list[np.ndarray]) -> list[int]:
    return [int(edge) for edge in np.cumsum([0] + [piece.size for piece in pieces])]
