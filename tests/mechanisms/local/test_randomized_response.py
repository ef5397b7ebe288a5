"""Randomized response on bools: bytes and packed bits, at any offset, are flipped by the same coins."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd


def test_two_coins__is_the_survey():
    survey = fd.RandomizedResponse.two_coins()
    assert (survey.p, survey.q) == (0.75, 0.25)
    assert math.log(3) <= survey.privacy.epsilon <= math.log(3) * (1 + 1e-14)
    assert survey.epsilon == survey.privacy.epsilon
    assert survey == fd.RandomizedResponse.two_coins()
    assert survey != fd.RandomizedResponse(epsilon=1.0)
    answers = np.repeat([True, False], [70, 30])
    assert survey.channel().dense().tolist() == [[0.75, 0.25], [0.25, 0.75]]
    expected = answers.mean() * survey.p + (1 - answers.mean()) * survey.q
    assert expected == pytest.approx(0.6)  # 60 % noisy yes, 70 % true yes
    counted = survey.estimate(np.repeat([True, False], [60, 40]))
    assert counted.frequencies == pytest.approx([0.3, 0.7])


def test_estimate__inverts_both_answers():
    mechanism = fd.RandomizedResponse(epsilon=1.0)
    reports = np.repeat([True, False], [300, 700])
    estimate = mechanism.estimate(reports)
    assert estimate.frequencies.sum() == pytest.approx(1)
    assert estimate.frequencies[1] == pytest.approx((0.3 - mechanism.q) / (mechanism.p - mechanism.q))


@pytest.mark.parametrize(
    "bad", [np.zeros(3, np.uint8), [0, 1], [True, None], [True, 1], pa.array([1, 0]), np.array([1.0])]
)
def test_randomize__refuses_what_is_not_a_bool(bad):
    with pytest.raises(fd.SchemaError, match="bools"):
        fd.RandomizedResponse(epsilon=1.0).randomize(bad)
