"""Points on a map: onto the plane, into cells, and counted, in one pass."""

from __future__ import annotations

import math

import numpy as np

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.metric.ellipsoid import AXIS, SQUARED

NOT_A_PLACE, BEHIND = 1, 2


@inlined
def _locate(latitude, longitude):
    """A point of the globe in space, in metres from its centre."""
    phi, lam = math.radians(latitude), math.radians(longitude)
    sin, cos = math.sin(phi), math.cos(phi)
    radius = AXIS / math.sqrt(1 - SQUARED * sin * sin)
    return radius * cos * math.cos(lam), radius * cos * math.sin(lam), radius * (1 - SQUARED) * sin


@kernel
def fill_frames(latitude, longitude, out):
    """Write the plane that touches the globe at each point, float64[4, 3]: the point, and east, north and up there."""
    for i in range(latitude.size):
        phi, lam = math.radians(latitude[i]), math.radians(longitude[i])
        out[i, 0, 0], out[i, 0, 1], out[i, 0, 2] = _locate(latitude[i], longitude[i])
        out[i, 1, 0], out[i, 1, 1], out[i, 1, 2] = -math.sin(lam), math.cos(lam), 0.0
        out[i, 2, 0], out[i, 2, 1] = -math.sin(phi) * math.cos(lam), -math.sin(phi) * math.sin(lam)
        out[i, 2, 2] = math.cos(phi)
        out[i, 3, 0], out[i, 3, 1] = math.cos(phi) * math.cos(lam), math.cos(phi) * math.sin(lam)
        out[i, 3, 2] = math.sin(phi)


@inlined
def _project(latitude, longitude, frames, i):
    """Metres east, north and above plane ``i``."""
    a, b, c = _locate(latitude, longitude)
    a, b, c = a - frames[i, 0, 0], b - frames[i, 0, 1], c - frames[i, 0, 2]
    return (
        frames[i, 1, 0] * a + frames[i, 1, 1] * b + frames[i, 1, 2] * c,
        frames[i, 2, 0] * a + frames[i, 2, 1] * b + frames[i, 2, 2] * c,
        frames[i, 3, 0] * a + frames[i, 3, 1] * b + frames[i, 3, 2] * c,
    )


@kernel
def fill_plane(latitude, longitude, frames, scale, x, y):
    """Write how far each point is east and north, in units of which ``scale`` are a metre.

    Pre:  frames are one plane for all points, or one for each.
    Post: the result is NOT_A_PLACE if a latitude or longitude is out of range or NaN, and what is written for it of no
    use; BEHIND if a point is on the far side of the globe, which is infinitely far east.
    """
    bad = np.uint8(0)
    for i in range(latitude.size):
        if not (abs(latitude[i]) <= 90.0 and abs(longitude[i]) <= 180.0):
            bad |= np.uint8(NOT_A_PLACE)
        east, north, up = _project(latitude[i], longitude[i], frames, min(i, len(frames) - 1))
        if up < -AXIS:
            bad |= np.uint8(BEHIND)
            east = math.inf
        x[i] = east * scale
        y[i] = north * scale
    return bad


@inlined
def _cell(x, y, left, top, side, rows, columns):
    """The cell of a point, rows from the top; outside, the nearest of the border, row and column each clamped."""
    row = math.floor(min(max((top - y) / side, 0.0), rows - 1.0))
    column = math.floor(min(max((x - left) / side, 0.0), columns - 1.0))
    return np.int64(row) * np.int64(columns) + np.int64(column)


@inlined
def _is_inside(x, y, left, top, side, rows, columns):
    return left <= x <= left + side * columns and top - side * rows <= y <= top


@kernel
def count_places(x, y, left, top, side, rows, columns, drop, counts):
    """Add the number of points in each cell to ``counts``, int64[rows * columns]; those outside unless ``drop``.

    Post: the result is NOT_A_PLACE if a coordinate is NaN; such points are not counted.
    """
    bad = np.uint8(0)
    for i in range(x.size):
        if x[i] != x[i] or y[i] != y[i]:
            bad = np.uint8(NOT_A_PLACE)
        elif not drop or _is_inside(x[i], y[i], left, top, side, rows, columns):
            counts[_cell(x[i], y[i], left, top, side, rows, columns)] += 1
    return bad


@kernel
def fill_cells(x, y, left, top, side, rows, columns, out):
    """Write the cell of each point; NOT_A_PLACE if a coordinate is NaN, whose cell is then 0."""
    bad = np.uint8(0)
    for i in range(x.size):
        if x[i] != x[i] or y[i] != y[i]:
            bad, out[i] = np.uint8(NOT_A_PLACE), 0
        else:
            out[i] = _cell(x[i], y[i], left, top, side, rows, columns)
    return bad


@kernel
def mark_inside(x, y, left, top, side, rows, columns, out):
    """Write which points are inside the grid, its edges included."""
    for i in range(x.size):
        out[i] = _is_inside(x[i], y[i], left, top, side, rows, columns)
