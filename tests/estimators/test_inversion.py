"""Estimates by the inverse of the channel."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from fastdp.channels import DenseChannel, GeometricChannel, GridChannel, KRRChannel
from fastdp.channels.planar import spread_masses
from fastdp.errors import NotIdentifiableError
from fastdp.estimators import ibu, inversion, invert
from fastdp.estimators.likelihood import deconvolution

SURVEY = KRRChannel(2, 0.75, 0.25)


class TestTwoCoinSurvey:
    """Noisy answers: yes is entry 0."""

    def test_sixty_percent__are_seventy(self):
        np.testing.assert_allclose(invert(SURVEY, [60, 40]), [0.7, 0.3], atol=1e-15)
        np.testing.assert_allclose(ibu(SURVEY, [60, 40]).distribution, [0.7, 0.3], atol=1e-15)

    def test_eighty_percent__are_more_than_all(self):
        np.testing.assert_allclose(invert(SURVEY, [80, 20]), [1.1, -0.1], atol=1e-15)

    @pytest.mark.parametrize("project", ["clip", "simplex"])
    def test_eighty_percent__are_brought_back(self, project):
        assert invert(SURVEY, [80, 20], project=project).tolist() == [1.0, 0.0]

    @pytest.mark.parametrize("method", ["auto", "em", "nesterov", "second-order"])
    def test_eighty_percent__by_likelihood(self, method):
        found = ibu(SURVEY, [80, 20], method=method, tolerance=1e-9)
        np.testing.assert_allclose(found.distribution, [1.0, 0.0], atol=1e-7)
        assert found.gap <= 1e-9

    def test_mechanism__is_this_survey(self):
        channel = fd.RandomizedResponse.two_coins().channel()
        np.testing.assert_allclose(channel.dense(), SURVEY.dense(), atol=1e-15)


@pytest.mark.parametrize(
    "channel",
    [
        KRRChannel(9, 0.3, 0.0875),
        KRRChannel(5, 0.1, 0.225),
        GeometricChannel(1, 0.5),
        GeometricChannel(2, 0.5),
        GeometricChannel(40, 0.05),
        GeometricChannel(7, 3.0),
        DenseChannel(np.random.default_rng(1).dirichlet(np.ones(8), size=8)),
        DenseChannel(np.random.default_rng(2).dirichlet(np.ones(13), size=6)),
        fd.HadamardResponse(epsilon=1.0, domain=6).channel(),
        fd.SquareWave(epsilon=3.0, bounds=(0, 1), bins=10).channel(),
    ],
    ids=lambda channel: f"{type(channel).__name__}{channel.shape}",
)
def test_inverse__undoes_the_channel(channel):
    truth = np.random.default_rng(5).dirichlet(np.ones(channel.shape[0]))
    np.testing.assert_allclose(invert(channel, 1e6 * channel.forward(truth)), truth, atol=1e-8)


def test_hadamard__is_least_squares():
    channel = fd.HadamardResponse(epsilon=1.0, domain=6).channel()
    counts = np.random.default_rng(0).poisson(50, size=channel.shape[1])
    solved = np.linalg.lstsq(channel.dense().T, counts / counts.sum())[0]
    np.testing.assert_allclose(invert(channel, counts), solved, atol=1e-12)


@pytest.mark.parametrize(
    "channel",
    [
        DenseChannel([[0.5, 0.5], [0.5, 0.5]]),
        DenseChannel([[0.4, 0.6], [0.5, 0.5], [0.6, 0.4]]),
        DenseChannel([[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]]),
        DenseChannel([[0.5, 0.5], [0.5 + 1e-14, 0.5 - 1e-14]]),
        KRRChannel(4, 0.25, 0.25),
        GeometricChannel(5, 1e-7),
    ],
)
def test_inverse__of_dependent_rows_is_refused_with_the_way_out(channel):
    with pytest.raises(fd.NotIdentifiableError, match="ibu"):
        invert(channel, np.ones(channel.shape[1]))


def test_inverse__refuses_bad_arguments():
    with pytest.raises(fd.ParameterError, match="project"):
        invert(SURVEY, [1, 2], project="nearest")
    with pytest.raises(fd.ParameterError, match="Channel"):
        invert("matrix", [1, 2])
    with pytest.raises(fd.ParameterError, match="counts"):
        invert(SURVEY, [1, -2])


LEANING = np.outer([0.1, 0.7, 0.2], [0.05, 0.8, 0.15])
"""Noise that is not the same under reflections."""


class TestMaps:
    @pytest.mark.parametrize(
        "channel",
        [
            GridChannel.laplace(0.5, (20, 13)),
            GridChannel.geometric(1.7, (9, 30)),
            GridChannel(spread_masses(1.0, 17), (17, 17)),
            GridChannel(LEANING, (12, 15)),
        ],
    )
    def test_steps__find_what_the_matrix_gives(self, channel, monkeypatch):
        counts = np.random.default_rng(3).integers(0, 50, channel.shape[0])
        written = invert(channel, counts)
        monkeypatch.setattr(inversion, "LARGEST_WRITTEN", 10)
        np.testing.assert_allclose(invert(channel, counts), written, atol=1e-8 * np.abs(written).max())

    def test_large_map(self):
        channel = GridChannel.laplace(1.7, (150, 120))
        truth = np.random.default_rng(5).dirichlet(np.full(18_000, 0.3))
        np.testing.assert_allclose(invert(channel, 1e6 * channel.forward(truth)), truth, atol=1e-11)

    @pytest.mark.parametrize("rate", [0.02, 0.1])
    def test_noise_too_wide__is_refused(self, rate, monkeypatch):
        monkeypatch.setattr(deconvolution, "MOST_STEPS", 20)
        channel = GridChannel.laplace(rate, (60, 60))
        counts = np.random.default_rng(3).integers(0, 50, 3600)
        with pytest.raises(NotIdentifiableError, match="too wide"):
            invert(channel, counts)

    def test_average_noise__that_kills_a_wave_is_refused(self):
        """(1, 2, 1) / 4 turns alternating cells to nothing."""
        row = np.array([0.25, 0.5, 0.25])
        with pytest.raises(NotIdentifiableError, match="ill-conditioned"):
            invert(GridChannel(np.outer(row, row), (50, 50)), np.ones(2500))
