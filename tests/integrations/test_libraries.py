"""fastdp behind numpy's and OpenDP's names."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import fastdp as fd
from fastdp.integrations import numpy as behind_numpy


@pytest.mark.parametrize("name", ["laplace", "normal"])
def test_generator__is_distributed_as_numpys(name):
    drawn = getattr(behind_numpy.Generator(fd.Rng.unsafe_seed(1)), name)(loc=3.0, scale=2.0, size=(100, 200))
    assert drawn.shape == (100, 200)
    law = stats.laplace(3.0, 2.0) if name == "laplace" else stats.norm(3.0, 2.0)
    assert stats.kstest(drawn.ravel(), law.cdf).pvalue > 1e-3
    other = stats.norm(3.0, 2.2) if name == "normal" else stats.laplace(3.0, 2.2)
    assert stats.kstest(drawn.ravel(), other.cdf).pvalue < 1e-3


def test_generator__adds_noise_to_values_on_a_grid():
    values = np.random.default_rng(1).random(1000)
    made = behind_numpy.Generator().laplace(loc=values, scale=1.0)
    grid = float(fd.Laplace(scale=1.0, sensitivity=1.0).granularity)
    assert (made / grid == np.rint(made / grid)).all()
    assert isinstance(behind_numpy.Generator().laplace(), float)


@pytest.mark.parametrize(("name", "law"), [("laplace", stats.laplace), ("normal", stats.norm)])
def test_generator__takes_arrays_as_numpy_does(name, law):
    """Each place gets the noise of its own loc and scale, in the shape that numpy gives."""
    loc, scale = np.array([0.0, 100.0])[:, None], np.array([1.0, 5.0, 2.0])
    for size in (None, (2, 3), (4, 2, 3)):
        ours = getattr(behind_numpy.Generator(fd.Rng.unsafe_seed(1)), name)(loc, scale, size)
        assert ours.shape == getattr(np.random.default_rng(1), name)(loc, scale, size).shape
    drawn = getattr(behind_numpy.Generator(fd.Rng.unsafe_seed(2)), name)(loc, scale, (5000, 2, 3))
    for row, column in np.ndindex(2, 3):
        assert stats.kstest(drawn[:, row, column], law(loc[row, 0], scale[column]).cdf).pvalue > 1e-4
        assert stats.kstest(drawn[:, row, column], law(loc[row, 0], 1.3 * scale[column]).cdf).pvalue < 1e-4
    with pytest.raises(fd.ParameterError, match="shapes that broadcast"):
        getattr(behind_numpy.Generator(), name)([1.0, 2.0], 1.0, 3)
    with pytest.raises(fd.ParameterError):
        getattr(behind_numpy.Generator(), name)(0.0, 0.0)


def test_generator__has_all_of_numpys_names_or_says_why_not():
    made, covered = behind_numpy.Generator(), {"laplace", "normal", "standard_normal", "spawn"}
    names = {name for name in dir(np.random.Generator) if not name.startswith("_")}
    assert covered < names
    for name in names - covered:
        with pytest.raises(AttributeError, match=f"{name} is not noise .*(fastdp.Geometric|default_rng)"):
            getattr(made, name)
    with pytest.raises(AttributeError, match="has no 'laplas'"):
        _ = made.laplas


def test_generator__standard_normal_fills_what_it_is_given():
    made, out = behind_numpy.Generator(fd.Rng.unsafe_seed(3)), np.empty((200, 100))
    assert made.standard_normal(out=out) is out
    assert stats.kstest(out.ravel(), stats.norm.cdf).pvalue > 1e-3
    assert made.standard_normal(5).shape == made.standard_normal((5,)).shape == (5,)
    assert isinstance(made.standard_normal(), float)
    with pytest.raises(fd.ParameterError, match="float64"):
        made.standard_normal(5, dtype=np.float32)
    with pytest.raises(fd.ParameterError, match="of the given size"):
        made.standard_normal(3, out=out)


def test_generator__spawns_streams_that_never_repeat():
    made = behind_numpy.Generator(fd.Rng.unsafe_seed(4))
    draws = [child.laplace(size=4).tolist() for child in (*made.spawn(2), *made.spawn(2), made)]
    assert len({tuple(draw) for draw in draws}) == 5
    again = behind_numpy.Generator(fd.Rng.unsafe_seed(4)).spawn(1)[0]
    assert again.laplace(size=4).tolist() == draws[0]


@pytest.fixture(scope="module")
def dp():
    found = pytest.importorskip("opendp.prelude", reason="opendp is not installed")
    found.enable_features("contrib", "honest-but-curious")
    return found


def test_opendp__measures_with_maps_of_our_own(dp):
    from fastdp.integrations import opendp

    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=100), dp.l1_distance(T=float)
    made = opendp.make_laplace(*space, scale=2.0)
    assert len(made([1.0] * 100)) == 100
    assert 0.5 < made.map(1.0) < 0.501
    assert made.map(2.0) > 2 * 0.5
    integer = opendp.make_geometric(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)
    assert isinstance(integer(5), int)
    assert integer.map(1) == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(fd.ParameterError, match="needs a size"):
        opendp.make_laplace(dp.vector_domain(dp.atom_domain(T=float, nan=False)), space[1], scale=2.0)


@pytest.mark.parametrize("size", [None, 1, 100])
def test_opendp__gaussian_costs_the_rho_of_its_noise(dp, size):
    """A little more than without a grid, and never less than what a vector that rounds the worst way costs."""
    from fastdp.integrations import opendp

    atom = dp.atom_domain(T=float, nan=False)
    space = atom, dp.absolute_distance(T=float)
    if size is not None:
        space = dp.vector_domain(atom, size=size), dp.l2_distance(T=float)
    made = opendp.make_gaussian(*space, scale=2.0)
    base = fd.Gaussian(scale=2.0, sensitivity=2.0)
    for distance in (1e-6, 1.0, 7.0):
        worst = (distance + float(base.granularity) * (size or 1) ** 0.5) ** 2 / 8
        assert worst <= made.map(distance) <= (distance + 2 * float(base.granularity) * (size or 1) ** 0.5) ** 2 / 7.999
    assert made.map(0.0) == 0
    assert "ZeroConcentrated" in str(made.output_measure)
    with pytest.raises(fd.ParameterError, match="must be one of 64-bit floats"):
        opendp.make_gaussian(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=2.0)


def test_opendp__gaussian_is_normal(dp):
    """The noise is the operating system's, so the level is one that no run will meet by chance."""
    from fastdp.integrations import opendp

    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=50_000), dp.l2_distance(T=float)
    drawn = opendp.make_gaussian(*space, scale=2.0)([1.0] * 50_000)
    assert stats.kstest(drawn, stats.norm(1.0, 2.0).cdf).pvalue > 1e-8
    assert stats.kstest(drawn, stats.norm(1.0, 2.2).cdf).pvalue < 1e-8
    one = opendp.make_gaussian(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=2.0)
    assert abs(one(1.0) - 1.0) < 20
