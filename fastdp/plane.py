"""The plane that touches the globe, in which places near one another have distances."""

from __future__ import annotations

import math

import numpy as np

from fastdp.errors import DomainError

AXIS, FLATTENING = 6378137.0, 1 / 298.257223563
"""The WGS 84 ellipsoid, in metres."""
SQUARED = FLATTENING * (2 - FLATTENING)


class Plane:
    """The plane that touches the globe at a point: metres east and north, seen from above.

    Seen from above nothing is longer than on the ground, and within 200 km nothing is shorter by more than 0.05 %.
    """

    def __init__(self, owner: str, latitude: float, longitude: float) -> None:
        self._owner = owner
        phi, lam = math.radians(latitude), math.radians(longitude)
        sin, cos = math.sin(phi), math.cos(phi)
        self._east = np.array([-math.sin(lam), math.cos(lam), 0.0])
        self._north = np.array([-sin * math.cos(lam), -sin * math.sin(lam), cos])
        self._up = np.array([cos * math.cos(lam), cos * math.sin(lam), sin])
        self._origin = np.array([float(part) for part in place(np.array(latitude), np.array(longitude))])

    @property
    def frame(self) -> np.ndarray:
        """The origin and the directions east, north and up, as rows, for kernels."""
        return np.array([self._origin, self._east, self._north, self._up])

    def project(self, latitude: np.ndarray, longitude: np.ndarray) -> list[np.ndarray]:
        """Metres east and north of the origin."""
        check_degrees(self._owner, latitude, longitude)
        away = [part - start for part, start in zip(place(latitude, longitude), self._origin, strict=True)]
        east, north, up = (sum(axis[k] * away[k] for k in range(3)) for axis in (self._east, self._north, self._up))
        if (up < -AXIS).any():
            raise DomainError(f"{self._owner}: points lie on the other side of the globe than the origin; move it")
        return [np.asarray(east), np.asarray(north)]

    def unproject(self, east: np.ndarray, north: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The latitudes and longitudes below points of the plane."""
        x, y, z = (self._origin[k] + self._east[k] * east + self._north[k] * north for k in range(3))
        # Down to the globe: x**2 + y**2 + (z / (1 - f))**2 = a**2 along the vertical.
        ratio = 1 / (1 - FLATTENING) ** 2
        u, v, w = self._up
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
        raise DomainError(
            f"{owner}: latitudes must be from -90 to 90 and longitudes from -180 to 180, without NaN; values withheld"
        )


def place(latitude: np.ndarray, longitude: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of the globe in space, in metres from its centre."""
    phi, lam = np.radians(latitude), np.radians(longitude)
    sin, cos = np.sin(phi), np.cos(phi)
    radius = AXIS / np.sqrt(1 - SQUARED * sin * sin)
    return radius * cos * np.cos(lam), radius * cos * np.sin(lam), radius * (1 - SQUARED) * sin
