"""Model inversion: classes of handwritten digits are recognised from confidences, far less so behind noise."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from fastdp.attacks import invert_model
from tests.learning import data


@pytest.fixture(scope="module")
def digits():
    return data.digits()


def test_plain_model__shows_its_classes(digits):
    from sklearn.linear_model import LogisticRegression as Plain

    plain = Plain(max_iter=300, C=0.01).fit(digits.rows, digits.labels)
    found = invert_model(plain.predict_proba, digits.test_rows, digits.test_labels, bounds=(-1, 1))
    assert found.success == 1.0
    assert found.details["mean_correlation"] > 0.6


def test_noisy_model__shows_hardly_any(digits):
    noisy = fd.learning.LogisticRegression(epsilon=0.01, delta=1e-6, radius=digits.radius, unsafe_seed=1)
    noisy.fit(digits.rows, digits.labels)
    found = invert_model(noisy.predict_proba, digits.test_rows, digits.test_labels, bounds=(-1, 1))
    assert found.success <= 0.4
    assert abs(found.details["mean_correlation"]) < 0.3


def test_model_that_says_nothing__is_a_guess():
    rows, labels = np.eye(4), np.arange(4)
    found = invert_model(lambda x: np.full((len(x), 4), 0.25), rows, labels, bounds=(0, 1), steps=2)
    assert found.success == found.baseline == 0.25


def test_inputs__are_checked():
    with pytest.raises(fd.ParameterError, match="label"):
        invert_model(lambda x: x, np.eye(3), [1], bounds=(0, 1))
    with pytest.raises(fd.ParameterError, match="two classes"):
        invert_model(lambda x: x, np.eye(3), [1, 1, 1], bounds=(0, 1))
    with pytest.raises(fd.ParameterError, match="columns"):
        invert_model(lambda x: x[:, :1], np.eye(3), [1, 2, 3], bounds=(0, 1))
