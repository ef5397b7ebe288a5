"""Cells over the map, and points counted in them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fastdp.errors import DomainError, ParameterError, SchemaError
from fastdp.locations import Grid
from fastdp.plane import Plane


def points(n=20_000, seed=3):
    source = np.random.default_rng(seed)
    return source.normal(0, 800, n), source.normal(0, 500, n)


def naive(grid, x, y, *, drop):
    """One point after the other."""
    rows, columns = grid.shape
    counts = np.zeros(grid.shape, np.int64)
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        row, column = int((grid.y[1] - b) // grid.cell), int((a - grid.x[0]) // grid.cell)
        if not drop or (0 <= row < rows and 0 <= column < columns):
            counts[min(max(row, 0), rows - 1), min(max(column, 0), columns - 1)] += 1
    return counts


@pytest.mark.parametrize(("cell", "shape"), [(250.0, (8, 12)), ("0.1km", (20, 30)), (333.0, (7, 10))])
@pytest.mark.parametrize("outside", ["clamp", "drop"])
def test_count__is_that_of_one_point_after_the_other(cell, shape, outside):
    grid = Grid(x=(-1500, 1500), y=(-1000, 1000), cell=cell)
    assert grid.shape == shape
    x, y = points()
    counts = grid.count(x, y, outside=outside)
    assert np.array_equal(counts, naive(grid, x, y, drop=outside == "drop"))
    if outside == "clamp":
        assert np.array_equal(counts, grid.count_cells(grid.cells(x, y)))
    else:
        assert counts.sum() == grid.inside(x, y).sum() < x.size


def test_count__takes_any_container_and_adds_up():
    grid = Grid(x=(-1500, 1500), y=(-1000, 1000), cell=100)
    x, y = points(300_000)
    whole = grid.count(x, y)
    assert np.array_equal(whole, grid.count(pa.array(x), pa.chunked_array([y[:7], y[7:]])))
    assert np.array_equal(whole, grid.count(x[:9], y[:9]) + grid.count(x[9:], y[9:]))


def test_over__is_north_up_and_right_in_metres():
    grid = Grid.over(latitude=(48.85, 48.88), longitude=(2.32, 2.36), cell=100)
    latitude, longitude = grid.latlon()
    assert latitude[0] > latitude[-1]
    assert longitude[0] < longitude[-1]
    assert np.array_equal(grid.count_latlon(latitude, longitude), np.ones(grid.shape, int))
    x, y = grid.project(latitude, longitude)
    assert np.allclose(np.stack((x, y), axis=1), grid.positions, atol=1e-6)
    north, south = (grid.project([one], [2.34])[1][0] for one in (48.88, 48.85))
    assert north - south == pytest.approx(0.03 * 111_200, rel=1e-3)


def naive_plane(latitude, longitude, origin):
    """Metres east and north of the origin, step by step as a textbook has it (WGS 84)."""

    def in_space(latitude, longitude):
        phi, lam = np.radians(latitude), np.radians(longitude)
        flattening = 1 / 298.257223563
        eccentricity = flattening * (2 - flattening)
        radius = 6378137.0 / np.sqrt(1 - eccentricity * np.sin(phi) ** 2)
        across = radius * np.cos(phi)
        return np.stack([across * np.cos(lam), across * np.sin(lam), radius * (1 - eccentricity) * np.sin(phi)])

    away = (in_space(latitude, longitude).T - in_space(*origin)).T
    phi, lam = np.radians(origin)
    east = np.array([-np.sin(lam), np.cos(lam), 0.0])
    north = np.array([-np.sin(phi) * np.cos(lam), -np.sin(phi) * np.sin(lam), np.cos(phi)])
    return east @ away, north @ away


def test_project__is_the_textbook_projection():
    """The compiled projection is the one that is written down naively, in the unit of the grid."""
    source = np.random.default_rng(5)
    grid = Grid.over(latitude=(-17.5, -16.5), longitude=(179.5, -179.5), cell="10km", unit="km")
    latitude, longitude = source.uniform(-18, -16, 1000), source.uniform(179, 181, 1000)
    longitude = np.where(longitude > 180, longitude - 360, longitude)
    expected = naive_plane(latitude, longitude, grid.origin)
    assert np.allclose(Plane("test", *grid.origin).project(latitude, longitude), expected, rtol=0, atol=1e-6)
    assert np.allclose(grid.project(latitude, longitude), np.array(expected) / 1000, rtol=0, atol=1e-9)
    assert abs(grid.origin[1]) == 180.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": "x"},
        {"origin": (99, 0)},
        {"x": (-1e308, 1e308)},
        {"x": (0, 1e300), "cell": 1e-300},
        {"cell": 0},
        {"cell": "250"},
        {"cell": 0.1},
        {"x": (3, 3)},
        {"y": (0,)},
        {"unit": "yd"},
        {"cell": 1e9},
    ],
)
def test_grid__refuses(wrong):
    with pytest.raises(ParameterError, match="Grid: "):
        Grid(**{"x": (0, 1000), "y": (0, 1000), "cell": 100, **wrong})


@pytest.mark.parametrize(
    ("latitude", "longitude"),
    [((0, 91), (0, 1)), ((1, 0), (0, 1)), ((0, 1), (2, 2)), ((0, 1), (-180, 180)), ((0, 40), (0, 1)), ((0, 1), 3)],
)
def test_over__refuses(latitude, longitude):
    with pytest.raises(ParameterError, match="Grid: "):
        Grid.over(latitude=latitude, longitude=longitude, cell="20km")


def test_count__withholds_what_is_wrong():
    grid = Grid.over(latitude=(0, 1), longitude=(0, 1), cell="20km")
    for latitude, longitude in [(91.2345, 0.5), (0.5, np.nan), (0.5, 200.0), (0.5, -179.0)]:
        with pytest.raises(DomainError) as caught:
            grid.count_latlon([latitude], [longitude])
        assert "1.2345" not in str(caught.value)
    assert grid.count_latlon([0.5, 0.5], [0.5, -179.0], outside="drop").sum() == 1
    with pytest.raises(DomainError):
        grid.count([np.nan], [0.0])
    with pytest.raises(DomainError):
        grid.inside([np.nan], [0.0])
    with pytest.raises(DomainError):
        grid.count_cells([grid.size])
    with pytest.raises(ParameterError, match="same length"):
        grid.count([1.0], [1.0, 2.0])
    with pytest.raises(SchemaError):
        grid.count(["a"], [1.0])
    with pytest.raises(ParameterError, match=r"Grid\.over"):
        Grid(x=(0, 1), y=(0, 1), cell=0.5).count_latlon([0.0], [0.0])
