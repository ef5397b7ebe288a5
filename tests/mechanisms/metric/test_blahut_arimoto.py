"""Blahut-Arimoto: its fixed point, and the published values on the Gowalla grids.

The Gowalla check-ins are read from the folder that the environment variable FASTDP_GOWALLA names.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

import fastdp as fd
from fastdp.mechanisms.metric.blahut_arimoto import BlahutArimoto
from tests.reference.metric import line, plane

EDGES = {
    # San Francisco's steps divide its box evenly; Paris is cut into whole steps from the south-west.
    "paris": (48.8286 + 0.00427 * np.arange(12), 2.2855 + 0.0066 * np.arange(16), 10_078),
    "san_francisco": (np.linspace(37.7228, 37.7946, 17), np.linspace(-122.5153, -122.3789, 25), 123_025),
}


@pytest.mark.parametrize(("city", "beta", "epsilon"), [
    ("paris", 0.2, 0.392818), ("paris", 0.4, 0.781393),
    ("san_francisco", 0.2, 0.398662), ("san_francisco", 0.4, 0.788381),
])  # fmt: skip
def test_epsilon__is_the_published_one(city, beta, epsilon):
    """Uniform start, 10 iterations; the published counts drop the first check-in."""
    folder = os.environ.get("FASTDP_GOWALLA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("FASTDP_GOWALLA names no folder with the check-ins")
    latitudes, longitudes, n = EDGES[city]
    points = np.loadtxt(Path(folder) / f"{city}.csv", delimiter=",", skiprows=2)
    counts = np.histogram2d(points[:, 0], points[:, 1], (latitudes, longitudes))[0][::-1]
    assert counts.sum() == n
    mechanism = BlahutArimoto(prior=counts.reshape(-1), distance=plane(*counts.shape), beta=beta, max_iterations=10)
    assert mechanism.privacy.epsilon == pytest.approx(epsilon, abs=1e-5)


def mutual_information(prior: np.ndarray, matrix: np.ndarray) -> float:
    reports = prior @ matrix
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nansum(prior[:, None] * matrix * np.log(matrix / reports)))


@pytest.mark.parametrize("beta", [0.3, 0.8, 2.0])
def test_fixed_point__reveals_least_for_its_distance(beta):
    """No mixture with other mechanisms has a lower information + beta * expected distance."""
    source, distance = np.random.default_rng(1), line(7)
    prior = source.dirichlet(np.ones(7))
    matrix = BlahutArimoto(prior=prior, distance=distance, beta=beta, max_iterations=5000).channel().dense()

    def lagrangian(candidate: np.ndarray) -> float:
        return mutual_information(prior, candidate) + beta * float((prior[:, None] * candidate * distance).sum())

    for _ in range(50):
        other = source.dirichlet(np.ones(7), 7)
        assert lagrangian(matrix) <= lagrangian(0.98 * matrix + 0.02 * other) + 1e-9


def test_first_iteration__is_the_exponential_kernel():
    distance = plane(3, 4)
    for beta in (0.1, 0.7, 1.9):
        weights = np.exp(-beta * distance)
        matrix = BlahutArimoto(prior=[1] * 12, distance=distance, beta=beta, max_iterations=1).channel().dense()
        assert np.abs(matrix - weights / weights.sum(axis=1, keepdims=True)).max() < 1e-14


@pytest.mark.parametrize("given", [
    {"prior": [1, 2]}, {"prior": [0, 0, 0]}, {"prior": [1, -1, 1]}, {"prior": [1, math.nan, 1]}, {"prior": "abc"},
    {"prior": [1j, 1, 1]}, {"prior": [10**400, 1, 1]}, {"beta": 1e308, "prior": [1, 0, 0]},
    {"beta": 0}, {"beta": math.inf}, {"max_iterations": 0}, {"max_iterations": 2.0}, {"unit": ""},
])  # fmt: skip
def test_bad_parameters__are_refused(given):
    with pytest.raises(fd.ParameterError):
        BlahutArimoto(**{"prior": [1, 1, 1], "distance": line(3), "beta": 1.0} | given)


def test_iterations__is_the_old_name_of_max_iterations():
    """It is taken and read for one version, with a warning; plans keep their key."""
    given = {"prior": [1, 2], "distance": [[0, 1], [1, 0]], "beta": 1.0}
    with pytest.warns(DeprecationWarning, match="BlahutArimoto: the keyword 'iterations' is called 'max_iterations'"):
        old = BlahutArimoto(**given, iterations=3)
    assert old == BlahutArimoto(**given, max_iterations=3) != BlahutArimoto(**given, max_iterations=4)
    with pytest.warns(DeprecationWarning, match="the field 'iterations' is called 'max_iterations'"):
        assert old.iterations == 3
    plan = fd.Plan(columns={"x": {"mechanism": "blahut_arimoto", **given, "iterations": 3}})
    assert plan.columns["x"].mechanism == old
