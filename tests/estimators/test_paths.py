"""Ways from uniform to the likeliest: averages of neighbours on maps, and how far they are followed."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.channels import GridChannel, KRRChannel
from fastdp.errors import ParameterError
from fastdp.estimators import estimate, paths, regularize
from fastdp.estimators.paths import fading_blur, steady_blur
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
        (steady_blur(shape), 9, 0.25), (fading_blur(shape), 1, 0.25), (fading_blur(shape), 20, 5 / 400)
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
    monkeypatch.setattr(paths, "FADING", 0.0)  # the mutant: no averages at all
    assert error < 0.97 * mean_error(channel, truth, 3_000, 3)[0]


@pytest.mark.slow
def test_map__of_lone_spots_and_many_reports_takes_plain_steps():
    """Held-out reports tell that neighbours are not alike."""
    channel, truth = grid_towns(25, 0.5)
    error, found = mean_error(channel, truth, 1_000_000, 1)
    assert "averages" not in found[0].method
    assert error < 0.15


def test_order_without_a_map__is_not_used():
    counts = np.random.default_rng(1).integers(1, 40, 400)
    channel = KRRChannel(400, 0.1, 0.9 / 399)
    assert "averages" not in estimate(channel, counts, progress=False).method
    assert "averages" not in estimate(channel, counts, shape=(1, 400), progress=False).method
    with pytest.raises(ParameterError, match="shape must multiply"):
        estimate(channel, counts, shape=(20, 21))


def test_fewest__is_the_first_within_so_many_errors():
    """Scores that fall short by 8, 2 and 0 in sum, of a standard error that is 1 in each."""
    noise = np.array([1.0, -1.0] * 5) * np.sqrt(9 / 10) / np.sqrt(10)
    scores = np.stack([noise - 0.8, noise - 0.2, np.zeros(10)])[:, None, :]
    assert [regularize._fewest(scores, share) for share in (0.0, 1.9, 2.1, 7.9, 8.1)] == [2, 2, 1, 1, 0]
