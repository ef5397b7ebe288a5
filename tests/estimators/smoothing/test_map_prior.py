"""Maps: averages of neighbours, the typical number of steps, and what comes of both."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.channels import DenseChannel, GridChannel, KRRChannel
from fastdp.errors import ParameterError
from fastdp.estimators import estimate
from fastdp.estimators.likelihood.problem import Problem
from fastdp.estimators.smoothing import cross_validation as held_out
from fastdp.estimators.smoothing import map_prior as maps
from fastdp.estimators.smoothing.map_prior import fading_blur, is_map, noise_variance, steady_blur, typical_steps
from tests.estimators.test_quality import grid_towns, total_variation


def blurred(block, part):
    """By the book: each entry and its neighbours, reflected at the ends, along each axis in turn."""
    for axis in range(block.ndim):
        wide = np.pad(block, [(1, 1) if k == axis else (0, 0) for k in range(block.ndim)], mode="edge")
        below, above = (np.take(wide, np.arange(block.shape[axis]) + k, axis) for k in (0, 2))
        block = (1 - 2 * part) * block + part * (below + above)
    return block


@pytest.mark.parametrize("shape", [(7,), (4, 5), (1, 6), (2, 3, 4)])
def test_blur__is_an_average_of_neighbours(shape):
    rows = np.random.default_rng(3).random((3, int(np.prod(shape))))
    for after, step, part in [
        (steady_blur(shape), 9, 0.25), (fading_blur(shape, 2.5), 1, 0.25), (fading_blur(shape, 2.5), 20, 5 / 400)
    ]:  # fmt: skip
        found = after(rows, step)
        expected = np.stack([blurred(row.reshape(shape), part).reshape(-1) for row in rows])
        assert np.allclose(found, expected, rtol=1e-13)
        assert np.allclose(found.sum(axis=1), rows.sum(axis=1))


def towns(side=18):
    """Three wide towns: what neighbours are alike in."""
    place = np.stack(np.meshgrid(*[np.arange(side)] * 2, indexing="ij"), axis=-1).reshape(-1, 2) / side
    spots = [((0.3, 0.6), 0.15), ((0.7, 0.3), 0.1), ((0.75, 0.8), 0.12)]
    truth = sum(np.exp(-((place - where) ** 2).sum(axis=1) / (2 * width**2)) for where, width in spots)
    return GridChannel.laplace(0.7, (side, side)), truth / truth.sum()


def mean_error(channel, truth, reports, samples):
    chances = channel.forward(truth)
    rows = np.random.default_rng(5).multinomial(reports, chances / chances.sum(), size=samples)
    found = [estimate(channel, counts, progress=False) for counts in rows]
    return np.mean([total_variation(one.distribution, truth) for one in found]), found


def test_map__is_closer_to_the_truth_with_averages_than_without(monkeypatch):
    channel, truth = towns()
    error, found = mean_error(channel, truth, 3_000, 3)
    assert all("averages of neighbours" in one.method for one in found)
    monkeypatch.setattr(maps, "FADING", 0.0)  # the mutant: no averages at all
    assert error < 0.97 * mean_error(channel, truth, 3_000, 3)[0]


@pytest.mark.slow
def test_map__of_lone_spots_and_many_reports_takes_plain_steps():
    """Held-out reports tell that neighbours are not alike."""
    channel, truth = grid_towns(25, 0.5)
    error, found = mean_error(channel, truth, 1_000_000, 1)
    assert not found[0].method.startswith("averages")
    assert error < 0.15


def test_order_without_a_map__is_not_used():
    counts = np.random.default_rng(1).integers(1, 40, 400)
    channel = KRRChannel(400, 0.1, 0.9 / 399)
    assert "averages" not in estimate(channel, counts, progress=False).method
    assert "averages" not in estimate(channel, counts, shape=(1, 400), progress=False).method
    with pytest.raises(ParameterError, match="shape must multiply"):
        estimate(channel, counts, shape=(20, 21))


@pytest.mark.parametrize(("rate", "shape"), [(0.8, (25, 25)), (1.5, (15, 21)), (1.2, (19, 30))])
def test_noise_variance__is_the_mechanisms(rate, shape):
    """3 / rate**2 along an axis for planar Laplace noise from a cell's middle, and a twelfth of a cell for rounding."""
    channel = GridChannel.laplace(rate, shape)
    problem = Problem("test", [(channel, np.ones(channel.shape[1]))])
    assert noise_variance(problem, shape) == pytest.approx(3 / rate**2 + 1 / 12, rel=0.03)


def test_noise_variance__is_a_cells_at_least():
    problem = Problem("test", [(GridChannel.laplace(50.0, (9, 9)), np.ones(81))])
    assert noise_variance(problem, (9, 9)) == 1.0


def test_noise_variance__of_several_mechanisms_is_their_mean_by_reports():
    shape = (20, 20)
    channels = [GridChannel.laplace(rate, shape) for rate in (0.8, 1.4)]
    alone = [noise_variance(Problem("test", [(one, np.ones(400))]), shape) for one in channels]
    both = Problem("test", [(channels[0], np.full(400, 3)), (channels[1], np.ones(400))])
    assert noise_variance(both, shape) == pytest.approx(0.75 * alone[0] + 0.25 * alone[1])


def test_typical_steps__is_a_law_of_the_reports_within_reach():
    """Smaller cells, or a larger map with as many more reports, have the same number."""
    numbers = []
    for rate, side, reports in ((0.8, 16, 10_000), (0.4, 32, 10_000), (0.8, 32, 40_000)):
        channel = GridChannel.laplace(rate, (side, side))
        problem = Problem("test", [(channel, np.full(side**2, reports / side**2))])
        numbers.append(typical_steps(problem, noise_variance(problem, (side, side))))
    assert numbers == pytest.approx([numbers[0]] * 3, rel=0.1)


@pytest.mark.parametrize("rate", [5.0, 20.0, 500.0])
@pytest.mark.parametrize("reports", [60, 5_000])
def test_map__of_hardly_any_noise_is_that_of_the_reports(rate, reports):
    channel, truth = GridChannel.laplace(rate, (20, 20)), towns(20)[1]
    chances = channel.forward(truth)
    counts = np.random.default_rng(8).multinomial(reports, chances / chances.sum())
    found = estimate(channel, counts, progress=False)
    assert total_variation(found.distribution, truth) <= total_variation(counts / reports, truth)


def test_map__is_one_where_reports_are_of_its_cells():
    channel = GridChannel.laplace(1.0, (4, 5))
    square, wide = Problem("test", [(channel, np.ones(20))]), Problem("test", [(grid_reports(), np.ones(21))])
    assert is_map(square, (4, 5))
    assert not is_map(square, None)
    assert not is_map(square, (1, 20))
    assert not is_map(square, (20,))
    assert not is_map(wide, (4, 5))


def grid_reports():
    """Twenty cells and an output that tells of none."""
    kept = GridChannel.laplace(1.0, (4, 5)).dense() * 0.9
    return DenseChannel(np.hstack([kept, np.full((20, 1), 0.1)]))


@pytest.mark.parametrize(
    "tried", [slice(16, 20), pytest.param(slice(None), marks=pytest.mark.slow)], ids=["four", "thirty"]
)
def test_map__is_not_led_astray_by_chance(monkeypatch, tried):
    """Of thirty small maps of few reports none fits noise; the mutant believes whatever held-out reports like best."""
    channel, truth = towns(10)
    chances = channel.forward(truth)
    rows = np.random.default_rng(9).multinomial(2_000, chances / chances.sum(), size=30)[tried]

    def errors():
        return (total_variation(estimate(channel, counts, progress=False).distribution, truth) for counts in rows)

    assert max(errors()) < 0.3
    monkeypatch.setattr(held_out, "TEMPERATURE", 10.0)
    for name in ("MORE", "FEWER", "PLAIN"):
        monkeypatch.setattr(held_out, name, 0.0)
    assert any(error > 0.5 for error in errors())
