"""The plane that touches the globe, in which places near one another have distances."""

from __future__ import annotations

import numpy as np

from fastdp.errors import DomainError
from fastdp.kernels.metric.ellipsoid import AXIS, FLATTENING, SQUARED
from fastdp.kernels.metric.map_cells import NOT_A_PLACE, fill_frames, fill_plane


class Plane:
    """The plane that touches the globe at a point: metres east and north, seen from above.

    Given many points, each has a plane of its own, and what is projected is a point for each. Seen from above nothing
    is longer than on the ground, and within 200 km nothing is shorter by more than 0.05 %.
    """

    def __init__(self, owner: str, latitude: float | np.ndarray, longitude: float | np.ndarray) -> None:
        self._owner = owner
        latitudes, longitudes = (np.atleast_1d(np.asarray(value, np.float64)) for value in (latitude, longitude))
        self._frames = np.empty((latitudes.size, 4, 3))
        fill_frames(latitudes, longitudes, self._frames)

    @property
    def origins(self) -> np.ndarray:
        """The points at which planes touch the globe, in metres from its centre, a row for each."""
        return self._frames[:, 0]

    def project(self, latitude: np.ndarray, longitude: np.ndarray) -> list[np.ndarray]:
        """Metres east and north of the origin."""
        east, north, behind = self.locate(latitude, longitude)
        if behind:
            raise DomainError(f"{self._owner}: points lie on the other side of the globe than the origin; move it")
        return [east, north]

    def locate(
        self, latitude: np.ndarray, longitude: np.ndarray, *, scale: float = 1.0
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """How far east and north, in units of which ``scale`` are a metre, and whether points are behind the globe.

        Those are infinitely far east.
        """
        flat = [np.ascontiguousarray(part, np.float64).reshape(-1) for part in (latitude, longitude)]
        x, y = np.empty(flat[0].size), np.empty(flat[0].size)
        bad = fill_plane(*flat, self._frames, scale, x, y)
        if bad & NOT_A_PLACE:
            raise _out_of_range(self._owner)
        return x.reshape(latitude.shape), y.reshape(latitude.shape), bool(bad)

    def unproject(self, east: np.ndarray, north: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The latitudes and longitudes below points of the plane."""
        origin, eastward, northward, upward = (self._frames[:, row].T for row in range(4))
        x, y, z = (origin[k] + eastward[k] * east + northward[k] * north for k in range(3))
        # Down to the globe: x**2 + y**2 + (z / (1 - f))**2 = a**2 along the vertical.
        ratio = 1 / (1 - FLATTENING) ** 2
        u, v, w = upward
        square = u * u + v * v + w * w * ratio
        linear = x * u + y * v + z * w * ratio
        rest = x * x + y * y + z * z * ratio - AXIS**2
        height = -rest / (linear + np.sqrt(np.maximum(linear * linear - square * rest, 0.0)))
        x, y, z = x + u * height, y + v * height, z + w * height
        latitude = np.degrees(np.arctan2(z / (1 - SQUARED), np.hypot(x, y)))
        return latitude, np.degrees(np.arctan2(y, x))


def check_degrees(owner: str, latitude: np.ndarray, longitude: np.ndarray) -> None:
    """Refuse what is no place on the globe."""
    good = (np.abs(latitude) <= 90) & (np.abs(longitude) <= 180)  # false for nan
    if not good.all():
        raise _out_of_range(owner)


def _out_of_range(owner: str) -> DomainError:
    return DomainError(
        f"{owner}: latitudes must be from -90 to 90 and longitudes from -180 to 180, without NaN; values withheld"
    )
