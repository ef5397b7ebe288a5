"""Channels on a grid: cell masses, the border, and what a wrong border would cost."""

from __future__ import annotations

import functools
import math
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fastdp as fd
from fastdp.channels import Channel, GridChannel
from fastdp.channels.planar import geometric_masses, laplace_masses, spread_masses
from tests.channels.cases import grid, random_masses


def distances(rows, columns, step=1.0):
    places = np.stack(np.divmod(np.arange(rows * columns), columns), axis=1)
    return step * np.linalg.norm(places[:, None] - places, axis=2)


@pytest.mark.parametrize(("kind", "expected"), [("laplace", 0.8844), ("geometric", 0.9)])
def test_planar__cost_on_a_small_grid(kind, expected):
    """3 x 3 cells of side 1.1, epsilon 0.9: clamping costs the continuous noise a little less than nominal."""
    channel = getattr(GridChannel, kind)(0.9 * 1.1, (3, 3))
    assert channel.epsilon(distances(3, 3, 1.1)) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("rate", [0.1, 0.8, 5.0])
@pytest.mark.parametrize("shape", [(2, 3), (5, 4)])
def test_geometric__has_its_nominal_epsilon(rate, shape):
    assert GridChannel.geometric(rate, shape).epsilon(distances(*shape)) == pytest.approx(rate, rel=1e-9)


@pytest.mark.parametrize("rate", [0.1, 0.8, 5.0])
def test_laplace__costs_no_more_than_nominal(rate):
    assert GridChannel.laplace(rate, (4, 6)).epsilon(distances(4, 6)) <= rate * (1 + 1e-9)


def test_border__that_is_cut_off_and_normalised_costs_more():
    """The trap: 11 x 15 cells to 21 x 25, nominal 0.2 a cell is really 0.2507; clamped it is 0.2."""
    places = np.stack(np.divmod(np.arange(11 * 15), 15), axis=1) + 5
    outputs = np.stack(np.divmod(np.arange(21 * 25), 25), axis=1)
    cut = np.exp(-0.2 * np.linalg.norm(places[:, None] - outputs, axis=2))
    cut = Channel.from_matrix(cut / cut.sum(axis=1, keepdims=True))
    assert cut.epsilon(distances(11, 15)) == pytest.approx(0.2507, abs=5e-5)
    assert GridChannel.geometric(0.2, (11, 15)).epsilon(distances(11, 15)) == pytest.approx(0.2, rel=1e-9)


@pytest.mark.parametrize("rate", [0.05, 0.5, 3.0])
def test_laplace_masses__are_integrals_of_the_density(rate):
    """Against Gauss's rule with many points on parts of a cell, near the peak and away from it."""
    masses = laplace_masses(rate, 9)
    assert masses.sum() == pytest.approx(1, abs=1e-14)
    assert np.array_equal(masses, masses[::-1])
    assert np.allclose(masses, masses.T, rtol=1e-12, atol=0)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    for i, j in [(0, 1), (1, 1), (2, 0), (2, 2), (3, 1), (4, 0), (5, 5)]:
        x, y = i + nodes[:, None] / 2, j + nodes / 2
        density = rate**2 / (2 * math.pi) * np.exp(-rate * np.hypot(x, y))
        assert masses[8 + i, 8 + j] == pytest.approx(weights @ density @ weights / 4, rel=1e-11)


fine_masses = functools.cache(laplace_masses)


def mean_mass(rate, parts, i, j):
    """The mean over the middles of parts x parts parts of a cell of the probability to end up in cell (i, j)."""
    fine, triangle = fine_masses(rate / parts, 4 * parts), parts - np.abs(np.arange(1 - parts, parts))
    rows, columns = (slice((4 + k) * parts - parts, (4 + k) * parts + parts - 1) for k in (i, j))
    return triangle @ fine[rows, columns] @ triangle / parts**2


@pytest.mark.parametrize("rate", [0.4, 0.9, 3.0])
def test_spread_masses__are_means_over_the_points_of_a_cell(rate):
    """Means over finer and finer parts come to them; the masses from a cell's middle are other ones."""
    masses, middle = spread_masses(rate, 9), laplace_masses(rate, 9)
    assert masses.sum() == pytest.approx(1, abs=1e-14)
    assert np.array_equal(masses, masses[::-1])
    for i, j in [(0, 0), (0, 1), (1, 1), (2, 1)]:
        coarse, fine = (mean_mass(rate, parts, i, j) for parts in (7, 21))
        assert masses[8 + i, 8 + j] == pytest.approx((9 * fine - coarse) / 8, rel=3e-5)
        assert middle[8 + i, 8 + j] != pytest.approx(masses[8 + i, 8 + j], rel=1e-3)


@pytest.mark.parametrize("rate", [0.05, 0.5, 3.0])
def test_laplace_masses__agree_with_the_radius(rate):
    """The whole disc is 1 - (1 + r) e**-r; cells that lie in it, and cells that touch it, are on either side."""
    masses = laplace_masses(rate, 40)
    offsets = np.hypot(*np.meshgrid(np.arange(-39, 40), np.arange(-39, 40)))
    for radius in (5.0, 20.0):
        disc = 1 - (1 + rate * radius) * math.exp(-rate * radius)
        assert masses[offsets <= radius - 0.71].sum() <= disc <= masses[offsets <= radius + 0.71].sum() + 1e-12


@pytest.mark.parametrize("rate", [0.3, 1.0])
def test_masses__beyond_the_outermost_are_kept(rate):
    """A smaller array is the larger one with its outside folded in."""
    for masses in (laplace_masses, geometric_masses):
        assert np.allclose(masses(rate, 5), fold(masses(rate, 30), 4), atol=1e-15)


def fold(masses, most):
    reach = len(masses) // 2
    out = np.zeros((2 * most + 1, 2 * most + 1))
    for (i, j), mass in np.ndenumerate(masses):
        out[min(max(i - reach, -most), most) + most, min(max(j - reach, -most), most) + most] += mass
    return out


def test_masses__refuse_rates_that_reach_too_far():
    with pytest.raises(fd.ParameterError, match="rate must be at least"):
        GridChannel.geometric(1e-4, (3, 3))


@pytest.mark.parametrize("masses", [laplace_masses, spread_masses, geometric_masses])
@pytest.mark.parametrize(("rate", "shape"), [(0.3, (5, 9)), (2.0, (1, 4)), (0.9, (12, 3))])
def test_masses__of_a_rectangle_are_those_of_the_square_around_it(masses, rate, shape):
    whole, part = (GridChannel(masses(rate, size), shape).masses for size in (max(shape), shape))
    assert np.allclose(part, whole, rtol=1e-12, atol=1e-17)


@pytest.mark.parametrize("masses", [laplace_masses, spread_masses])
@pytest.mark.parametrize("rate", [0.3, 0.05, 0.01])
def test_masses__beyond_the_map_are_all_that_is_left(masses, rate):
    """What the parts beyond hold together is what a larger map has there cell by cell."""
    small, large = masses(rate, 4), masses(rate, 40)
    middle = large.shape[0] // 2
    assert np.allclose(small[1:-1, 1:-1], large[middle - 2 : middle + 3, middle - 2 : middle + 3], rtol=1e-11)
    assert small[0, 3] == pytest.approx(large[: middle - 2, middle].sum(), rel=1e-11)
    assert small[0, 0] == pytest.approx(large[: middle - 2, : middle - 2].sum(), rel=1e-11)


@pytest.mark.parametrize("make", [GridChannel.laplace, GridChannel.geometric])
@pytest.mark.parametrize("shape", [(3, 2.5), (0, 3), (True, 3), ("3", 3)])
def test_grid__checks_its_shape_first(make, shape):
    with pytest.raises(fd.ParameterError, match="GridChannel: (rows|columns) must be"):
        make(1.0, shape)


def test_laplace_masses__of_wide_noise_are_next_to_nothing_within():
    """Noise ten thousand times as wide as the map: all of it falls beyond, a quarter in each corner."""
    masses = laplace_masses(1e-5, 5)
    assert masses[1:-1, 1:-1].sum() < 1e-8
    corners = masses[0, 0], masses[0, -1], masses[-1, 0], masses[-1, -1]
    assert corners == pytest.approx([0.25] * 4, abs=1e-3)


@pytest.mark.parametrize(
    ("masses", "shape"),
    [(np.ones((2, 3)) / 6, (3, 3)), (np.ones(3) / 3, (3, 3)), (np.ones((3, 3)), (3, 3)), (np.eye(3), (3, 3)),
     (np.full((3, 3), np.nan), (3, 3)), (np.ones((1, 1)), (0, 3)), (np.ones((1, 1)), (3, 2.0)),
     (np.array([[-0.5], [1.0], [0.5]]), (3, 3))],
)  # fmt: skip
def test_grid__refuses_wrong_parameters(masses, shape):
    with pytest.raises(fd.ParameterError, match="GridChannel"):
        GridChannel(masses, shape)


def test_border__without_the_outside_is_noticed():
    """The contract sees each side and corner: a channel that drops one is off by far more than it allows."""
    masses = random_masses(9, 7)
    expected = grid(masses, 4, 5)
    p = np.random.default_rng(1).dirichlet(np.ones(20))
    for name in ("sides", "ends", "corners"):
        for part in range(4 if name == "corners" else 2):
            channel = GridChannel(masses, (4, 5))
            for tables in ("_tables", "_adjoint"):
                kept = getattr(getattr(channel, tables), name).copy()
                kept[part] = 0
                setattr(channel, tables, getattr(channel, tables)._replace(**{name: kept}))
            assert np.abs(channel.forward(p) - p @ expected).max() > 1e-3
            assert np.abs(channel.backward(p) - expected @ p).max() > 1e-3


def test_laplace__on_a_grid_that_is_no_square_has_real_tables():
    """Masses that are clipped on one side stay symmetric to the last bit."""
    assert GridChannel.laplace(0.3, (9, 31))._tables.spectrum.shape[3] == 1
    assert GridChannel.geometric(0.3, (31, 9))._tables.spectrum.shape[3] == 1


def test_products__of_many_threads_are_those_of_one():
    """Each product has its own scratch."""
    channel = GridChannel.laplace(0.5, (40, 50))
    inputs = np.random.default_rng(1).dirichlet(np.ones(2000), 64)
    with ThreadPoolExecutor(4) as pool:
        outputs = list(pool.map(channel.forward, inputs))
    assert np.array_equal(outputs, channel.forward(inputs))


def test_gradient__is_never_negative():
    """Nor infinite, where transforms turn very small products into their errors."""
    channel = GridChannel.laplace(2.0, (30, 30))
    p = np.zeros(900)
    p[0] = 1.0
    g, likelihood = channel.gradient(p, np.ones(900))
    assert (channel.forward(p) >= 0).all()
    assert (g >= 0).all()
    assert np.isfinite(g).all()
    assert math.isfinite(likelihood)


def test_grid__of_a_quarter_million_cells_fits_in_memory():
    """500 x 500: the matrix would take 500 GB. One iteration, channel included, peaks below 200 MB."""
    tracemalloc.start()
    try:
        channel = GridChannel.laplace(0.5, (500, 500))
        p = np.full(250_000, 1 / 250_000)
        counts = np.random.default_rng(1).poisson(4.0, 250_000)
        g, _ = channel.gradient(p, counts)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert p @ g == pytest.approx(counts.sum())
    assert peak < 200e6
