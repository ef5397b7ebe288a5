"""Heat maps: the channel of points on cells, the methods, the errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chisquare

import fastdp as fd
from fastdp.channels import GridChannel
from fastdp.channels.planar import laplace_masses
from fastdp.errors import ParameterError
from fastdp.locations import Grid, compare, heat_map
from fastdp.locations import errors as map_errors
from fastdp.locations.errors import compare_all, gather
from fastdp.locations.heat import METHODS
from fastdp.locations.mechanisms import channel_on

GRID = Grid(x=(0, 3000), y=(0, 2400), cell=300)


def towns(n=20_000, seed=4):
    source = np.random.default_rng(seed)
    middles = np.array([(700.0, 1800.0), (2200.0, 700.0), (1500.0, 1300.0)])
    spots = middles[source.choice(3, n, p=(0.5, 0.3, 0.2))] + source.normal(0, 300, (n, 2))
    return np.clip(spots[:, 0], 0, 3000), np.clip(spots[:, 1], 0, 2400)


@pytest.mark.parametrize("epsilon", [0.002, 0.006, 0.02])
def test_channel__is_the_law_of_reports_from_points_within_a_cell(epsilon):
    """Points all over one cell: their reports' cells follow its row, and not that of noise from the cell's middle."""
    mechanism = fd.PlanarLaplace(epsilon=epsilon, unit="m", region=GRID.bounds)
    source = np.random.default_rng(1)
    x, y = source.uniform(600, 900, 400_000), source.uniform(1500, 1800, 400_000)
    cell = int(GRID.cells([750.0], [1650.0])[0])
    seen = GRID.count(*mechanism.randomize(x, y, rng=fd.Rng.unsafe_seed(5))).reshape(-1)
    middle = GridChannel(laplace_masses(epsilon * 300, 10), GRID.shape)
    for channel, fits in ((channel_on(GRID, mechanism), True), (middle, epsilon < 0.003)):
        expected = channel.row(cell) * seen.sum()
        common = expected >= 10
        folded = [np.append(one[common], one[~common].sum()) for one in (seen, expected)]
        folded = [one[folded[1] > 0] for one in folded]
        if fits and channel is not middle:
            assert chisquare(folded[0], folded[1] * folded[0].sum() / folded[1].sum()).pvalue > 1e-3
        elif not fits:
            assert chisquare(folded[0], folded[1] * folded[0].sum() / folded[1].sum()).pvalue < 1e-6


@pytest.mark.parametrize("method", [one for one in METHODS if one != "inversion"])
def test_heat_map__is_closer_than_the_reports(method):
    x, y = towns()
    truth = GRID.count(x, y)
    mechanism = fd.PlanarLaplace(epsilon=math.log(2) / 200, unit="m", region=GRID.bounds)
    counts = GRID.count(*mechanism.randomize(x, y, rng=fd.Rng.unsafe_seed(6)))
    heat = heat_map(mechanism, counts, GRID, method=method, max_iterations=100 if method == "ibu" else None)
    assert heat.restored.shape == GRID.shape
    assert heat.restored.sum() == pytest.approx(1)
    assert (heat.restored >= 0).all()
    restored, noisy = heat.errors(truth), heat.noisy_errors(truth)
    assert restored.total_variation < noisy.total_variation
    assert restored.wasserstein < noisy.wasserstein
    assert restored.per_cell.sum() == pytest.approx(0, abs=1e-12)
    assert restored.largest == pytest.approx(np.abs(heat.restored - truth / truth.sum()).max())
    if method == "ibu":
        assert heat.iterations == 100


def test_inversion__undoes_the_channel():
    """Without chance it is the truth; with it, that is blown up."""
    truth = GRID.count(*towns())
    mechanism = fd.PlanarLaplace(epsilon=math.log(2) / 200, unit="m")
    expected = channel_on(GRID, mechanism).forward(truth.reshape(-1).astype(float))
    heat = heat_map(mechanism, expected, GRID, method="inversion")
    assert heat.errors(truth).total_variation < 1e-9


@pytest.mark.parametrize(
    "make",
    [
        lambda: fd.GridLaplace(epsilon=0.004, shape=GRID.shape, cell=300.0, unit="m"),
        lambda: fd.GridGeometric(epsilon=0.004, shape=GRID.shape, cell=300.0, unit="m"),
        lambda: fd.KRR(epsilon=3.0, domain=GRID.size),
    ],
)
def test_heat_map__of_reported_cells(make):
    mechanism = make()
    x, y = towns()
    truth = GRID.count(x, y)
    reports = mechanism.randomize(GRID.cells(x, y), rng=fd.Rng.unsafe_seed(7))
    heat = heat_map(mechanism, GRID.count_cells(reports), GRID)
    assert heat.errors(truth).total_variation < 0.6 * heat.noisy_errors(truth).total_variation


def test_heat_map__in_other_units_is_the_same():
    """Kilometres of the mechanism, metres of the grid."""
    metres = fd.PlanarLaplace(epsilon=0.005, unit="m")
    kilometres = fd.PlanarLaplace(epsilon=5.0, unit="km", granularity=2.0**-10)
    rows = [channel_on(GRID, one).row(7) for one in (metres, kilometres)]
    assert np.allclose(*rows, rtol=1e-12)


def test_heat_map__refuses():
    mechanism = fd.PlanarLaplace(epsilon=0.005, unit="m", region=GRID.bounds)
    counts = np.ones(GRID.shape)
    for wrong in (
        {"method": "best"}, {"max_iterations": 5}, {"method": "ibu", "max_iterations": 0}, {"counts": np.ones(3)},
        {"mechanism": fd.PlanarLaplace(epsilon=0.005, unit="m", granularity=128.0)},
        {"mechanism": fd.KRR(epsilon=1.0, domain=3)}, {"mechanism": fd.Laplace(epsilon=1.0, sensitivity=1.0)},
        {"mechanism": fd.GridLaplace(epsilon=1.0, shape=GRID.shape[::-1])},
        {"mechanism": fd.PlanarLaplace(epsilon=0.005, unit="m", region=((0, 1500), (0, 2400)))},
    ):  # fmt: skip
        given = {"mechanism": mechanism, "counts": counts, **wrong}
        with pytest.raises(ParameterError, match="heat_map: "):
            heat_map(given.pop("mechanism"), given.pop("counts"), GRID, **given)


def test_compare__moves_mass_as_far_as_it_is_off(monkeypatch):
    """All mass in one corner and in the opposite one: the distance between them; in blocks it is nearly that."""
    here, there = np.zeros(GRID.shape), np.zeros(GRID.shape)
    here[0, 0], there[7, 9] = 5, 2
    errors = compare(GRID, here, there)
    assert errors.total_variation == 1.0
    assert errors.wasserstein == pytest.approx(300 * math.hypot(7, 9))
    assert errors.blocks == 1
    assert np.array_equal(gather(np.ones((5, 3)), 2), [[4, 2], [4, 2], [2, 1]])
    monkeypatch.setattr(map_errors, "LARGEST_TRANSPORT", 2_000_000)
    wide = Grid(x=(0, 1500), y=(0, 1500), cell=10)
    source = np.random.default_rng(2)
    maps = source.random((2, *wide.shape)) + np.linspace(0, 1, 150)
    maps[1] = maps[1][:, ::-1]
    errors = compare(wide, *maps)
    assert errors.blocks > 1
    by_marginal = fd.measures.wasserstein(*(one.sum(axis=0) / one.sum() for one in maps)) * 10
    assert errors.wasserstein == pytest.approx(by_marginal, rel=0.05)
    same = compare_all(wide, {"far": maps[0], "near": maps[1] + 1e-9 * (np.arange(150) == 3)}, maps[1])
    assert same["near"].blocks == same["far"].blocks == errors.blocks
    for wrong in (-here, here * np.nan, here * 0, here[:3], "a map"):
        with pytest.raises(ParameterError, match="compare: "):
            compare(GRID, wrong, there)


def test_to_arrow__has_a_row_per_cell():
    grid = Grid.over(latitude=(48.85, 48.88), longitude=(2.32, 2.36), cell=500)
    mechanism = fd.PlanarLaplace(epsilon=0.01, unit="m", origin=grid.origin, region=grid.bounds)
    heat = heat_map(mechanism, np.arange(grid.size).reshape(grid.shape), grid, method="ibu", max_iterations=5)
    table = heat.to_arrow()
    assert table.column_names == ["row", "column", "latitude", "longitude", "noisy", "restored"]
    assert np.array_equal(np.asarray(table["restored"]).reshape(grid.shape), heat.restored)
    assert np.array_equal(grid.count_latlon(table["latitude"], table["longitude"]), np.ones(grid.shape, int))
