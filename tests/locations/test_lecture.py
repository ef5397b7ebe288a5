"""The lecture's experiment, on synthetic and, where FASTDP_GOWALLA names their folder, on real check-ins."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

import fastdp as fd
from fastdp.errors import ParameterError, SchemaError
from fastdp.locations import Grid, clustered_checkins
from fastdp.locations.lecture import CITIES, REACH, lecture

GOWALLA = os.environ.get("FASTDP_GOWALLA")


def check(results, *, within):
    """What must hold: restored is closer than noisy, and the default nearly as close as the best count in hindsight.

    The count is chosen in hindsight for each distance apart.
    """
    for result in results:
        noisy, restored = (result.mean("planar", rule) for rule in ("noisy", "default"))
        for k, rule in enumerate(("hindsight", "hindsight moved")):
            assert restored[k] < noisy[k], result.city
            assert restored[k] <= within * result.mean("planar", rule)[k], result.city


def test_calibration__is_ln_8_at_the_edge_of_a_square_kilometre():
    result = lecture(runs=1, cell=500.0, rng=fd.Rng.unsafe_seed(1))[0]
    assert math.pi * REACH**2 == pytest.approx(1e6)
    planar, krr = result.privacy["planar"], result.privacy["krr"]
    assert planar.epsilon_at(REACH) == pytest.approx(math.log(8), rel=3e-3)
    assert planar.epsilon == pytest.approx(math.log(2) / (REACH / 3))
    assert krr.privacy.epsilon == pytest.approx(math.log(8))
    fits = result.runs[0]
    assert (fits["planar", "ibu"].iterations, fits["krr", "ibu"].iterations) == (300, 500)
    direct = fd.ibu(
        krr.channel(), np.round(fits["krr", "noisy"].map.reshape(-1) * result.n), method="em", max_iterations=500
    )
    assert np.allclose(direct.distribution, fits["krr", "ibu"].map.reshape(-1), atol=1e-9)


def test_lecture__on_synthetic_cities():
    results = lecture(runs=2, rng=fd.Rng.unsafe_seed(7))
    assert [result.city.name for result in results] == ["San Francisco", "Paris"]
    assert not any(result.is_real for result in results)
    check(results, within=1.1)
    for result in results:
        for k in (0, 1):
            assert result.mean("planar", "default")[k] < result.mean("krr", "default")[k]
        hindsight = [run["planar", "hindsight"].errors.total_variation for run in result.runs]
        plain = [run["planar", "ibu"].errors.total_variation for run in result.runs]
        assert all(a <= b for a, b in zip(hindsight, plain, strict=True))
        for run in result.runs:
            moved = [run["planar", rule].errors.wasserstein for rule in ("hindsight moved", "hindsight", "ibu")]
            assert moved[0] <= min(moved[1:])


@pytest.mark.skipif(GOWALLA is None, reason="FASTDP_GOWALLA names no folder of check-ins")
def test_lecture__on_real_cities():
    results = lecture(GOWALLA, runs=4, rng=fd.Rng.unsafe_seed(8))
    assert all(result.is_real for result in results)
    assert results[0].n == 10_000
    check(results, within=1.1)
    for result in results:  # and in each run by itself
        for run in result.runs:
            variation, moved = (
                [run["planar", rule].errors for rule in ("default", best)] for best in ("hindsight", "hindsight moved")
            )
            assert variation[0].total_variation <= 1.1 * variation[1].total_variation
            assert moved[0].wasserstein <= 1.25 * moved[1].wasserstein  # Paris: 5 of 30 runs are beyond a tenth


def test_lecture__takes_synthetic_ones_where_a_file_is_missing(tmp_path):
    """One file is there, with places in the square and one outside it."""
    city = CITIES[1]
    rows = [f"{city.middle[0] + 0.0001 * k},{city.middle[1]}" for k in range(60)]
    (tmp_path / city.file).write_text("latitude,longitude\n" + "\n".join([*rows, "10.0,10.0"]) + "\n")
    results = lecture(tmp_path, runs=1, cell=600.0, rng=fd.Rng.unsafe_seed(9))
    assert [result.is_real for result in results] == [False, True]
    assert results[1].n == 60


def test_lecture__refuses(tmp_path):
    with pytest.raises(ParameterError, match="folder"):
        lecture(tmp_path / "none")
    with pytest.raises(ParameterError, match="runs"):
        lecture(runs=0)
    (Path(tmp_path) / CITIES[0].file).write_text("lat,lon\n36.0,-120.0\n")
    with pytest.raises(SchemaError, match="'latitude'"):
        lecture(tmp_path, runs=1)
    (Path(tmp_path) / CITIES[0].file).write_text("latitude,longitude\n36.0,-120.0\n-36.0,60.0\n")
    with pytest.raises(ParameterError, match="no check-in"):
        lecture(tmp_path, runs=1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_checkins__are_clustered_within_the_grid(seed):
    """Far more uneven than uniform points would be, and the same for the same seed."""
    grid = Grid(x=(0, 2.0), y=(5, 7.0), cell=0.1, unit="km")
    x, y = clustered_checkins(grid, 20_000, seed=seed)
    assert grid.inside(x, y).all()
    counts = grid.count(x, y)
    assert counts.var() / counts.mean() > 20
    assert (counts > 0).mean() > 0.9
    again = clustered_checkins(grid, 20_000, seed=seed)
    assert np.array_equal(again, (x, y))
    assert not np.array_equal(clustered_checkins(grid, 20_000, seed=seed + 1), (x, y))
