"""Planar Laplace noise around an origin that is drawn privately: its law, its cost, its containers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare, kstest

import fastdp as fd
from fastdp.mechanisms.metric.globe_laplace import GlobeLaplace
from fastdp.mechanisms.metric.planar_laplace import PlanarLaplace
from fastdp.plane import Plane

PLACES = [(48.85, 2.35), (-17.0, 179.995), (78.2, 15.6), (0.0, -180.0), (-89.9, 10.0)]


def seeded(seed: int = 5) -> fd.Rng:
    return fd.Rng.unsafe_seed(seed)


def gamma_two(lengths: np.ndarray) -> np.ndarray:
    """P(length <= r) of planar Laplace noise with a scale of one."""
    return 1 - (1 + lengths) * np.exp(-lengths)


def moved(mechanism: GlobeLaplace, latitude: float, longitude: float, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Metres east and north by which reports of one place are off."""
    reports = mechanism.randomize(np.full(size, latitude), np.full(size, longitude), rng=seeded())
    return tuple(Plane("test", latitude, longitude).project(*reports))


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize(("epsilon", "unit"), [(math.log(2) / 500, "m"), (0.2, "km")])
def test_reports__follow_the_planar_law_everywhere(where, epsilon, unit):
    """Lengths by the fine noise alone, in every direction: across the date line and at the poles."""
    mechanism = GlobeLaplace(epsilon=epsilon, unit=unit)
    east, north = moved(mechanism, *where, 20_000)
    metres = {"m": 1.0, "km": 1000.0}[unit]
    scale = metres / mechanism._fine.epsilon
    assert kstest(np.hypot(east, north) / scale, gamma_two).pvalue > 1e-3
    turns = np.floor((np.arctan2(north, east) / math.tau) * 8).astype(int) % 8
    assert chisquare(np.bincount(turns, minlength=8)).pvalue > 1e-3
    assert kstest(np.hypot(east, north) / (scale * 1.05), gamma_two).pvalue < 1e-3  # it would be seen


def test_planes__are_planes():
    """Each point on its own plane is where the plane of that origin has it, and comes back."""
    source = np.random.default_rng(2)
    origins = source.uniform(-80, 80, 40), source.uniform(-180, 180, 40)
    points = origins[0] + source.uniform(-1, 1, 40), np.clip(origins[1] + source.uniform(-1, 1, 40), -180, 180)
    planes = Plane("test", *origins)
    together = planes.project(*points)
    for k in range(40):
        alone = Plane("test", origins[0][k], origins[1][k]).project(points[0][k : k + 1], points[1][k : k + 1])
        assert np.allclose([part[k] for part in together], [float(part[0]) for part in alone], atol=1e-6)
    assert np.allclose(planes.unproject(*together), points, atol=1e-9)


@pytest.mark.parametrize(("epsilon", "unit"), [(math.log(2) / 500, "m"), (0.7, "km"), (0.2, "mi"), (0.01, "ft")])
def test_privacy__is_what_was_asked_and_the_cost_of_its_steps(epsilon, unit):
    """Above epsilon by the rounding to steps only, and never below what origin and plane cost apart."""
    mechanism = GlobeLaplace(epsilon=epsilon, unit=unit)
    distance = 1 / epsilon
    assert 1 - 1e-6 < mechanism.epsilon_at(distance) < 1.005 + 1.5 * mechanism.granularity * epsilon
    coarse = Fraction(mechanism._coarse.privacy.epsilon)
    apart = Fraction(distance) * Fraction({"m": 1.0, "km": 1000.0, "mi": 1609.344, "ft": 0.3048}[unit])
    least = coarse * Fraction(math.sqrt(3)) * apart / Fraction(mechanism._step) + Fraction(
        mechanism._fine.epsilon_at(distance)
    )
    assert Fraction(mechanism.epsilon_at(distance)) > least * (1 - Fraction(1, 10**9))
    assert mechanism.privacy.unit == f"1 {unit}"


def test_steps__of_two_points_are_no_more_than_is_charged():
    """The coordinates of two places in space, rounded, differ by sqrt(3) d / step + 3 at most in sum."""
    mechanism, source = GlobeLaplace(epsilon=0.7, unit="km"), np.random.default_rng(1)
    first = source.uniform(-89, 89, 20_000), source.uniform(-180, 180, 20_000)
    second = first[0] + source.normal(0, 0.05, 20_000), np.clip(first[1] + source.normal(0, 0.05, 20_000), -180, 180)
    here, there = np.array(Plane("test", *first).origins.T), np.array(Plane("test", *second).origins.T)
    chord = np.linalg.norm(here - there, axis=0)
    steps = np.abs(np.rint(here / mechanism._step) - np.rint(there / mechanism._step)).sum(axis=0)
    assert (steps <= math.sqrt(3) * chord / mechanism._step + 3).all()
    assert steps.max() > 1.5 * chord.max() / mechanism._step  # sqrt(3) is needed: without it the charge is too small


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_results__do_not_depend_on_batches(rows):
    mechanism, source = GlobeLaplace(epsilon=0.7, unit="km"), np.random.default_rng(3)
    latitude, longitude = source.uniform(-90, 90, 1000), source.uniform(-180, 180, 1000)
    expected = mechanism.randomize(latitude, longitude, rng=seeded())
    rng = seeded()
    parts = [
        mechanism.randomize(latitude[start : start + rows], longitude[start : start + rows], rng=rng)
        for start in range(0, 1000, rows)[:40]
    ]
    for one, together in zip(expected, zip(*parts, strict=True), strict=True):
        found = np.concatenate(together)
        assert np.array_equal(one[: found.size], found)


def test_containers__come_back_as_they_went_in():
    mechanism = GlobeLaplace(epsilon=0.7, unit="km")
    a, b = mechanism.randomize([48.8, 48.9], (2.3, 2.4), rng=seeded())
    assert (type(a), type(b)) == (list, tuple)
    chunked = pa.chunked_array([[48.8], [], [48.9]], pa.float64())
    x, y = mechanism.randomize(chunked, pa.array([2.3, 2.4]), rng=seeded())
    assert (x.to_pylist(), tuple(y.to_pylist())) == (a, b)
    x, _ = mechanism.randomize(np.array([48.8, 48.9], np.float32), np.array([2.3, 2.4]), rng=seeded())
    assert x.dtype == np.float32
    assert mechanism.randomize(np.zeros(0), np.zeros(0))[0].size == 0
    assert mechanism.randomize(pa.array([1.0, None]), pa.array([2.0, 3.0]), nulls="public")[0][1].as_py() is None


@pytest.mark.parametrize("bad", [math.nan, math.inf, 91.7777, -180.7777])
def test_bad_input__is_refused_without_its_value(bad):
    with pytest.raises(fd.DomainError) as caught:
        GlobeLaplace(epsilon=0.7, unit="km").randomize(np.array([48.8, bad]), np.array([2.3, 2.4]))
    assert "7777" not in str(caught.value)


@pytest.mark.parametrize(
    "given", [{"epsilon": 0}, {"epsilon": True}, {"unit": "furlong"}, {"granularity": 3}, {"epsilon": 0.01}]
)
def test_parameters__are_checked(given):
    with pytest.raises(fd.ParameterError):
        GlobeLaplace(**{"epsilon": 0.7, "unit": "km"} | given)


def test_lengths__must_be_the_same():
    with pytest.raises(fd.SchemaError):
        GlobeLaplace(epsilon=0.7, unit="km").randomize([1.0, 2.0], [1.0])


def test_error__is_little_above_that_of_a_public_origin():
    public = PlanarLaplace(epsilon=math.log(2) / 500, unit="m", origin=(48.85, 2.35))
    assert 1 < GlobeLaplace(epsilon=math.log(2) / 500, unit="m").radius(0.95) / public.radius(0.95) < 1.02
