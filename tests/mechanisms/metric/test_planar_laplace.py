"""Planar Laplace noise: its integer weights, its law, its projection, its containers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import chisquare

import fastdp as fd
from fastdp.mechanisms.metric.planar_laplace import PlanarLaplace
from fastdp.plane import Plane

SIZE = 2_000_000


def seeded(seed: int = 5) -> fd.Rng:
    return fd.Rng.unsafe_seed(seed)


def offsets(rate: float, size: int = SIZE) -> tuple[np.ndarray, np.ndarray]:
    """Draws in steps."""
    zeros = np.zeros(size)
    return PlanarLaplace(epsilon=rate, unit="m", granularity=1.0).randomize(zeros, zeros, rng=seeded())


def test_privacy__states_the_cost_of_rounding():
    """Two points one unit apart may be sqrt(2) steps farther apart once they are rounded."""
    mechanism = PlanarLaplace(epsilon=0.7, unit="km")
    assert mechanism.granularity == 2.0**-10
    assert mechanism.privacy.epsilon == pytest.approx(0.7 * (1 + math.sqrt(2) / 1024), rel=1e-8)
    assert mechanism.privacy.unit == "1 km"
    assert mechanism.epsilon_at(1.0) > 0.7 * (1 + math.sqrt(2) / 1024) * (1 - 1e-9)
    # Two points that the bound is nearly met by: each rounded away from the other, along the diagonal.
    half = 2.0**-11
    a, b = (half * 0.999,) * 2, (half * 1.001 + 1 / math.sqrt(2),) * 2
    snapped = [tuple(round(part * 1024) / 1024 for part in point) for point in (a, b)]
    assert 0.7 * math.dist(*snapped) <= mechanism.epsilon_at(math.dist(a, b))


def radial(rate: float, edges: np.ndarray) -> np.ndarray:
    """The law of the length, from the lattice where it is coarse, else from 1 - (1 + s) e**-s."""
    if rate < 0.01:
        s = rate * edges
        return np.diff(1 - (1 + s) * np.exp(-s))
    reach = math.ceil(45 / rate)
    lengths = np.hypot(*np.mgrid[-reach : reach + 1, -reach : reach + 1])
    weights = np.exp(-rate * lengths)
    return np.histogram(lengths, edges, weights=weights / weights.sum())[0]


@pytest.mark.parametrize("rate", [0.9, 0.06, 0.0007])
def test_offsets__lengths_and_directions_follow_the_law(rate):
    """Lengths against the exact law, a rate 1 % larger being told apart; directions uniform."""
    x, y = offsets(rate)
    edges = (np.append(np.linspace(0, 12, 25 if rate > 0.5 else 60), 400.0) + 1e-7) / rate
    edges[0] = -1e-9
    seen = np.histogram(np.hypot(x, y), edges)[0]
    keep = radial(rate, edges) * SIZE > 20

    def p_value(scale: float) -> float:
        expected = radial(rate * scale, edges)
        return chisquare(seen[keep], expected[keep] / expected[keep].sum() * seen[keep].sum()).pvalue

    assert p_value(1.0) > 1e-3
    assert p_value(1.01) < 1e-3
    assert directions(rate, x, y) > 1e-3
    turned = np.where(np.arange(SIZE) % 100 == 0, np.abs(x), x)  # one in a hundred never goes west
    assert directions(rate, turned, y) < 1e-3


def directions(rate: float, x: np.ndarray, y: np.ndarray) -> float:
    """The p-value of directions: eight of the lattice are alike, four by four; with fine steps all are."""
    far = np.hypot(x, y) > 0
    bins = 8 if rate > 0.01 else 360
    angles = np.arctan2(y[far] + x[far] * 1e-9, x[far]) + math.pi / bins
    counts = np.histogram(np.mod(angles, 2 * math.pi), bins, (0, 2 * math.pi))[0]
    parts = (counts[::2], counts[1::2]) if bins == 8 else (counts,)
    return min(chisquare(part).pvalue for part in parts)


@pytest.mark.parametrize("rate", [2.5, 0.8, 0.3])
def test_offsets__cells_follow_the_law(rate):
    """Each offset near 0 has its own probability."""
    x, y = (part.astype(int) for part in offsets(rate))
    near, reach = 12, math.ceil(45 / rate)
    weights = np.exp(-rate * np.hypot(*np.mgrid[-reach : reach + 1, -reach : reach + 1]))
    middle = slice(max(0, reach - near), reach + near + 1)
    near = min(near, reach)
    expected = (weights / weights.sum())[middle, middle].reshape(-1) * SIZE
    inside = (abs(x) <= near) & (abs(y) <= near)
    seen = np.bincount((x[inside] + near) * (2 * near + 1) + y[inside] + near, minlength=expected.size)
    common = expected > 20
    pooled = [np.append(part[common], SIZE - part[common].sum()) for part in (seen, expected)]
    assert chisquare(pooled[0], pooled[1] / pooled[1].sum() * SIZE).pvalue > 1e-3


def test_radius__known_values():
    mechanism = PlanarLaplace(epsilon=2.0, unit="km")
    assert mechanism.radius(0.95) == pytest.approx(4.743865 / 2, abs=1e-6)
    assert mechanism.radius(0.5) == pytest.approx(1.678347 / 2, abs=1e-6)


def test_reports__are_the_same_for_any_threads_batches_and_chunks():
    mechanism = PlanarLaplace(epsilon=0.7, unit="km")
    x, y = np.linspace(-5, 5, 300_000), np.linspace(3, 9, 300_000)
    before = fd.get_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            fd.set_threads(threads)
            results.append(mechanism.randomize(x, y, rng=seeded()))
    finally:
        fd.set_threads(before)
    rng, cuts = seeded(), [1, 1000, 70_001]
    parts = [mechanism.randomize(*pair, rng=rng) for pair in zip(np.split(x, cuts), np.split(y, cuts), strict=True)]
    results.append(tuple(np.concatenate(side) for side in zip(*parts, strict=True)))
    chunks = pa.chunked_array(np.split(x, [5, 200_000])), pa.chunked_array(np.split(y, [777]))
    chunked = mechanism.randomize(*chunks, rng=seeded())
    assert [side.num_chunks for side in chunked] == [3, 2]
    results.append(tuple(side.to_numpy() for side in chunked))
    for result in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], result, strict=True))


def test_reports__lie_on_the_grid_and_in_the_region():
    region = ((-1.0, 2.0), (0.0, 0.5))
    mechanism = PlanarLaplace(epsilon=0.7, unit="km", granularity=2.0**-6, region=region)
    x, y = mechanism.randomize(np.linspace(-9, 9, 10_000), np.linspace(9, -9, 10_000), rng=seeded())
    assert all((part * 64 % 1 == 0).all() for part in (x, y))
    assert (x.min(), x.max(), y.min(), y.max()) == (-1.0, 2.0, 0.0, 0.5)


def test_containers__come_back_as_they_went_in():
    mechanism = PlanarLaplace(epsilon=0.7, unit="km", origin=(48.85, 2.35))
    for randomize in (mechanism.randomize, mechanism.randomize_latlon):
        a, b = randomize([48.8, 48.9], (2.3, 2.4), rng=seeded())
        assert (type(a), type(b)) == (list, tuple)
        x, y = randomize(np.array([48.8, 48.9]), pa.array([2.3, 2.4]), rng=seeded())
        assert (x.tolist(), tuple(y.to_pylist())) == (a, b)
        x, y = randomize(np.array([48.8, 48.9], np.float32), np.array([[2.3], [2.4]]), rng=seeded())
        assert (x.dtype, y.shape) == (np.float32, (2, 1))
        one, other = randomize(48.8, 2.3, rng=seeded())
        assert (one, other) == (a[0], b[0])
        assert randomize(np.zeros(0), np.zeros(0))[0].size == 0
        assert randomize(pa.array([48.8, None]), pa.array([2.3, 2.4]), nulls="public")[0][1].as_py() is None


def test_latlon__moves_by_the_law_across_the_date_line():
    mechanism = PlanarLaplace(epsilon=0.1, unit="km", origin=(-17.0, 179.99))
    latitude, longitude = mechanism.randomize_latlon(np.full(100_000, -17.0), np.full(100_000, 179.99), rng=seeded())
    assert (longitude > 0).any()
    assert (longitude < 0).any()
    lengths = np.hypot(*Plane("test", -17.0, 179.99).project(latitude, longitude)) / 1000
    assert np.median(lengths) == pytest.approx(mechanism.radius(0.5), rel=0.01)


@pytest.mark.parametrize("origin", [(90.0, 0.0), (-90.0, 12.0), (89.99, 179.0)])
def test_latlon__moves_by_the_law_around_a_pole(origin):
    """Reports go over the pole to all longitudes, as far as the law says, and latitudes never pass 90."""
    mechanism = PlanarLaplace(epsilon=0.1, unit="km", origin=origin)
    latitude, longitude = mechanism.randomize_latlon(np.full(100_000, origin[0]), np.full(100_000, 7.0), rng=seeded())
    assert np.abs(latitude).max() <= 90
    assert np.histogram(longitude, 36, (-180, 180))[0].min() > 1_000
    plane = Plane("test", *origin)
    start = np.array(plane.project(np.array([origin[0]]), np.array([7.0])))
    lengths = np.hypot(*(np.array(plane.project(latitude, longitude)) - start)) / 1000
    assert np.median(lengths) == pytest.approx(mechanism.radius(0.5), rel=0.01)


def test_latlon__stays_in_its_region_and_on_the_plane():
    region = ((-2.0, 3.0), (0.0, 1.0))
    mechanism = PlanarLaplace(epsilon=0.3, unit="km", region=region, origin=(48.85, 2.35))
    where = mechanism.randomize_latlon(np.full(5_000, 48.86), np.full(5_000, 2.34), rng=seeded())
    east, north = (part / 1000 for part in Plane("test", 48.85, 2.35).project(*where))
    ends = [east.min(), east.max(), north.min(), north.max()]
    assert np.allclose(ends, [-2.0, 3.0, 0.0, 1.0], atol=1e-8)
    assert np.abs(east * 1024 - np.rint(east * 1024)).max() < 1e-5
    with pytest.raises(fd.ParameterError, match="4,000 km"):
        PlanarLaplace(epsilon=1.0, unit="km", region=((5000, 6000), (0, 1)), origin=(0, 0)).randomize_latlon([0], [0])


def test_latlon__public_nulls_stand_for_no_place():
    """A null is kept wherever the origin is: what stands under it never counts as a place on the other side."""
    for origin in ((-33.87, 151.21), (48.85, 2.35)):
        mechanism = PlanarLaplace(epsilon=0.7, unit="km", origin=origin)
        latitude = pa.chunked_array([[origin[0], None], [None, origin[0]]], pa.float64())
        longitude = pa.array([origin[1], None, origin[1], None], pa.float32())
        out = mechanism.randomize_latlon(latitude, longitude, nulls="public", rng=seeded())
        assert [side.is_null().to_pylist() for side in out] == [[False, True, True, False], [False, True, False, True]]
        plain = mechanism.randomize_latlon(np.full(4, origin[0]), np.full(4, origin[1], np.float32), rng=seeded())
        assert out[0][0].as_py() == plain[0][0]
        assert out[1][2].as_py() == plain[1][2]
        with pytest.raises(fd.DomainError, match="nulls"):
            mechanism.randomize_latlon(latitude, longitude)


def test_containers__of_both_columns_come_back_as_one():
    """An array of shape (n, 2), data frames, tables and dicts; others are refused."""
    mechanism = PlanarLaplace(epsilon=0.7, unit="km", origin=(48.85, 2.35))
    x, y = np.array([48.8, 48.9, 48.7]), np.array([2.3, 2.4, 2.5])
    for randomize in (mechanism.randomize, mechanism.randomize_latlon):
        a, b = randomize(x, y, rng=seeded())
        out = randomize(np.stack((x, y), axis=1), rng=seeded())
        assert np.array_equal(out, np.stack((a, b), axis=1))
        frame = pd.DataFrame({"x": x, "y": y}, index=[5, 7, 7])
        out = randomize(frame, rng=seeded())
        assert out.equals(pd.DataFrame({"x": a, "y": b}, index=[5, 7, 7]))
        assert randomize(pl.DataFrame({"x": x, "y": y}), rng=seeded()).equals(pl.DataFrame({"x": a, "y": b}))
        for table in (pa.table({"x": x, "y": y}), pa.record_batch({"x": x, "y": y})):
            out = randomize(table, rng=seeded())
            assert type(out) is type(table)
            assert out.to_pydict() == {"x": a.tolist(), "y": b.tolist()}
        out = randomize({"lat": x, "lon": y.tolist()}, rng=seeded())
        assert (out["lat"].tolist(), out["lon"]) == (a.tolist(), b.tolist())
        for series in (pd.Series, pl.Series):
            one, other = randomize(series(x), series(y), rng=seeded())
            assert isinstance(one, series)
            assert (one.to_list(), other.to_list()) == (a.tolist(), b.tolist())
        twice = pd.DataFrame(np.zeros((2, 2)), columns=["x", "x"])
        masked = np.ma.MaskedArray(np.zeros((2, 2)))
        for bad in (x, np.zeros((3, 3)), frame[["x"]], pa.table({"x": x}), [[1.0, 2.0]], None, {"x": x}, masked, twice):
            with pytest.raises(fd.SchemaError, match="PlanarLaplace"):
                randomize(bad)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 91.7777, -180.7777])
def test_bad_input__is_refused_without_its_value(bad):
    mechanism = PlanarLaplace(epsilon=0.7, unit="km", origin=(48.85, 2.35))
    with pytest.raises(fd.DomainError) as caught:
        mechanism.randomize_latlon(np.array([48.8, bad]), np.array([2.3, 2.4]))
    assert "7777" not in str(caught.value)
    if not math.isfinite(bad):
        for x, y in (([bad], [1.0]), ([1.0], [bad])):
            with pytest.raises(fd.DomainError):
                mechanism.randomize(x, y)


def test_bad_input__other_side_lengths_and_types():
    mechanism = PlanarLaplace(epsilon=0.7, unit="km", origin=(48.85, 2.35))
    with pytest.raises(fd.DomainError):
        mechanism.randomize_latlon([-48.0], [-178.0])
    with pytest.raises(fd.SchemaError):
        mechanism.randomize([1.0, 2.0], [1.0])
    with pytest.raises(fd.SchemaError):
        mechanism.randomize(["a"], [1.0])
    with pytest.raises(fd.ParameterError):
        PlanarLaplace(epsilon=0.7, unit="km").randomize_latlon([1.0], [1.0])


@pytest.mark.parametrize("given", [
    {"epsilon": 0}, {"epsilon": -1}, {"epsilon": math.nan}, {"epsilon": math.inf}, {"epsilon": True}, {"epsilon": "1"},
    {"epsilon": 1e-9}, {"epsilon": 5e-324},
    {"epsilon": 1e6}, {"unit": "parsec"}, {"unit": None}, {"granularity": 0.3}, {"granularity": 0},
    {"region": 3}, {"region": ((0, 1),)}, {"region": ((0, 1), (1, 0))}, {"origin": 5}, {"origin": (91, 0)},
    {"origin": (math.nan, 0)},
])  # fmt: skip
def test_bad_parameters__are_refused(given):
    with pytest.raises(fd.ParameterError):
        PlanarLaplace(**{"epsilon": 0.7, "unit": "km"} | given)
