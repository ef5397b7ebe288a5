"""Iterates of EM for many count vectors: written-out channels, and only the steps that are wanted."""

from __future__ import annotations

import cProfile
import itertools

import numpy as np
import pytest

import fastdp as fd
from fastdp.channels import DenseChannel, KRRChannel
from fastdp.estimators.likelihood.problem import Problem
from fastdp.estimators.smoothing.step_paths import (
    LARGEST_APART,
    LARGEST_LINE,
    LARGEST_WRITTEN,
    CountRows,
    accelerated_steps,
    em_steps,
    rows_of,
)


def line(size: int) -> fd.Channel:
    return fd.Geometric(epsilon=0.7, bounds=(0, size - 1)).channel()


def window(bins: int) -> fd.Channel:
    return fd.SquareWave(epsilon=1.0, bounds=(0.0, 1.0), bins=bins).channel()


def counts_of(channel: fd.Channel, rows: int) -> np.ndarray:
    return np.random.default_rng(5).integers(0, 50, (rows, channel.shape[1])).astype(float) + 1


def take(path, steps: int) -> list[np.ndarray]:
    return [points for _, points, _ in itertools.islice(path, steps)]


@pytest.mark.parametrize(
    "channel", [line(7), line(LARGEST_LINE), DenseChannel(line(9).dense()), window(8), window(LARGEST_WRITTEN)]
)
def test_written_out_channel__gives_the_steps_of_its_products(channel):
    """A matrix product in place of the channel's own changes the last bits alone."""
    counts = counts_of(channel, 3)
    problem = Problem("test", [(channel, counts[0])])
    written, plain = CountRows(problem, [counts]), CountRows(problem, [counts])
    assert written.matrix is not None
    plain.matrix = None

    for one, other in zip(take(accelerated_steps(written), 20), take(accelerated_steps(plain), 20), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    for one, other in zip(take(em_steps(written), 20), take(em_steps(plain), 20), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("rule", ["cv", "early"])
@pytest.mark.parametrize("bins", [8, 64])
def test_square_wave__takes_the_calls_of_its_matrix(bins, rule):
    """The same estimate, and no more Python calls than a few: products of windows took 37 times as long at 8 bins."""
    wave = window(bins)
    written = DenseChannel(wave.dense())
    counts = counts_of(wave, 1)[0]
    one, other = (counted_calls(channel, counts, rule) for channel in (wave, written))
    np.testing.assert_array_equal(one[0], other[0])
    assert one[1] <= 1.02 * other[1] + 20


def counted_calls(channel: fd.Channel, counts: np.ndarray, rule: str) -> tuple[np.ndarray, int]:
    """An estimate after one that does not count, and the Python calls that it took."""
    fd.estimate(channel, counts, regularize=rule, progress=False)
    profile = cProfile.Profile()
    found = profile.runcall(fd.estimate, channel, counts, regularize=rule, progress=False)
    return found.distribution, sum(entry.callcount for entry in profile.getstats())


def test_large_lines_and_several_channels__are_not_written_out():
    large, small = line(LARGEST_LINE + 1), line(5)

    assert CountRows(Problem("test", [(large, counts_of(large, 1)[0])]), [counts_of(large, 1)]).matrix is None
    twice = Problem("test", [(small, counts_of(small, 1)[0])] * 2)
    assert CountRows(twice, [counts_of(small, 1)] * 2).matrix is None


@pytest.mark.parametrize("channel", [line(6), KRRChannel(6, 0.5, 0.1)])
def test_wanted_steps__are_those_of_the_whole_path(channel):
    counts = counts_of(channel, 2)
    rows = rows_of(Problem("test", [(channel, counts[0])]), [counts])
    path = take(accelerated_steps(rows), 9)

    found = list(itertools.islice(accelerated_steps(rows, wanted=(0, 3, 8)), 3))
    assert [step for step, _, _ in found] == [0, 3, 8]
    for step, points, _ in found:
        np.testing.assert_allclose(points, path[step], rtol=1e-12)
        np.testing.assert_allclose(rows.whole(points).sum(axis=1), 1.0)


@pytest.mark.parametrize("size", [6, LARGEST_APART, 3 * LARGEST_APART])
def test_values_of_equal_counts__are_one_entry(size):
    """Steps, cuts and inverted points of the entries are those of all values."""
    channel = KRRChannel(size, 0.4, 0.6 / (size - 1))
    counts = np.random.default_rng(3).integers(0, 9, (4, size)).astype(float) + 40 * (np.arange(size) < 2)
    problem = Problem("test", [(channel, counts[0])])
    alike, plain = rows_of(problem, [counts]), CountRows(problem, [counts])
    assert (alike.shares.shape[1] < size) == (size > LARGEST_APART)
    for wanted in ((0, 1, 7, 40), None):
        paths = accelerated_steps(alike, wanted=wanted), accelerated_steps(plain, wanted=wanted)
        for (_, one, chances), (_, other, _) in itertools.islice(zip(*paths, strict=False), 4):
            np.testing.assert_allclose(alike.whole(one), other, rtol=1e-9)
            np.testing.assert_allclose(alike.whole(chances[0]), plain.products(other)[1][0], rtol=1e-9)
            np.testing.assert_array_equal(alike.last(one), alike.whole(one)[-1])
            np.testing.assert_array_equal(alike.entries(alike.whole(one)) * alike.sizes, one * alike.sizes)
            for count in (1, 2, 3):
                np.testing.assert_allclose(alike.largest(one, count), plain.largest(other, count), rtol=1e-9)
    folded = alike.folded([counts])[0]
    np.testing.assert_allclose(folded / counts.sum(axis=1, keepdims=True), alike.shares * alike.sizes)
