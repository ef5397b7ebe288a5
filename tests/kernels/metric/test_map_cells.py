"""The projection of places onto a plane."""

from __future__ import annotations

import math
import random

import mpmath
import numpy as np
import pytest

from fastdp.mechanisms.metric.planar_laplace import FLOAT_ERROR
from fastdp.plane import Plane


@pytest.mark.parametrize(("latitude", "longitude"), [
    (48.85, 2.35), (-17.0, 179.95), (69.0, -180.0), (0.0, 0.0), (90.0, 0.0), (-89.5, 33.0), (-90.0, 120.0),
])  # fmt: skip
def test_projection__is_right_within_200_km_and_never_longer(latitude, longitude):
    """Short steps anywhere within 200 km have their length on the ellipsoid to 0.1 %, and come back."""
    source = np.random.default_rng(4)
    plane = Plane("test", latitude, longitude)
    east, north = source.uniform(-140e3, 140e3, (2, 20_000))
    where = plane.unproject(east, north)
    assert np.abs(where[1]).max() <= 180
    assert np.allclose(plane.project(*where), [east, north], atol=1e-6)
    phi = np.radians(where[0])
    bend = 1 - 0.00669437999014 * np.sin(phi) ** 2
    per_latitude = 6378137 * (1 - 0.00669437999014) / bend**1.5
    per_longitude = 6378137 / np.sqrt(bend) * np.cos(phi)
    turn = source.uniform(0, 2 * math.pi, east.size)
    ground = np.array([np.sin(turn), np.cos(turn)]) * 0.01
    step = np.degrees(ground[0] / per_latitude), np.degrees(ground[1] / per_longitude)
    beside = where[0] + step[0], np.mod(where[1] + step[1] + 180, 360) - 180
    seen = np.hypot(*(np.array(plane.project(*beside)) - [east, north])) / 0.01
    assert seen.max() <= 1 + 2e-5
    assert seen.min() >= 1 - 1e-3


def test_projection__is_exact_to_what_is_charged():
    """Float64 is off by far less than the half of FLOAT_ERROR that each of two points may be."""
    source = random.Random(6)
    for origin in ((48.85, 2.35), (-89.0, 170.0), (0.0, -180.0)):
        plane, worst = Plane("test", *origin), 0
        with mpmath.workdps(40):

            def exact(latitude, longitude):
                f = 1 / mpmath.mpf("298.257223563")
                phi, lam = mpmath.radians(mpmath.mpf(latitude)), mpmath.radians(mpmath.mpf(longitude))
                square = f * (2 - f)
                radius = 6378137 / mpmath.sqrt(1 - square * mpmath.sin(phi) ** 2)
                flat = radius * mpmath.cos(phi)
                return flat * mpmath.cos(lam), flat * mpmath.sin(lam), radius * (1 - square) * mpmath.sin(phi)

            phi, lam = (mpmath.radians(mpmath.mpf(part)) for part in origin)
            axes = (
                (-mpmath.sin(lam), mpmath.cos(lam), 0),
                (-mpmath.sin(phi) * mpmath.cos(lam), -mpmath.sin(phi) * mpmath.sin(lam), mpmath.cos(phi)),
            )
            for _ in range(100):
                point = max(-90.0, min(90.0, origin[0] + source.uniform(-20, 20))), source.uniform(-180, 180)
                if origin[0] > -80:
                    point = point[0], origin[1] + source.uniform(0, 20)
                away = [a - b for a, b in zip(exact(*point), exact(*origin), strict=True)]
                wanted = [sum(a * b for a, b in zip(axis, away, strict=True)) for axis in axes]
                found = plane.project(*(np.array([part]) for part in point))
                worst = max(worst, *(abs(float(side[0]) - side_) for side, side_ in zip(found, wanted, strict=True)))
        assert worst * math.sqrt(2) < FLOAT_ERROR / 8
