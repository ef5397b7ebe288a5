"""Comparisons of protocols: computed from closed forms, measured by drawing, and what is recommended."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastdp as fd
from fastdp.mechanisms.comparison import PROTOCOLS


def _closed_forms(epsilon: float, k: int) -> dict[str, float]:
    """n times the variance at frequency 0, as the papers state it."""
    e, half = math.exp(epsilon), math.exp(epsilon / 2)
    g = round(e) + 1
    return {
        "krr": (k - 2 + e) / (e - 1) ** 2,
        "oue": 4 * e / (e - 1) ** 2,
        "sue": half / (half - 1) ** 2,
        "blh": (e + 1) ** 2 / (e - 1) ** 2,
        "olh": (e - 1 + g) ** 2 / ((e - 1) ** 2 * (g - 1)),
    }


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_errors__are_those_of_the_papers_where_values_are_rare(epsilon):
    k, n = 100_000, 1000
    for name, expected in _closed_forms(epsilon, k).items():
        found = fd.compare([name], [epsilon], k=k, n=n, measure=False)
        assert found.error[0, 0] == pytest.approx(math.sqrt(expected / n), rel=2e-3), name


def test_measured__is_what_was_computed():
    n, k = 20_000, 64
    found = fd.compare(PROTOCOLS, [0.5, 2.0], k=k, n=n, rng=fd.Rng.unsafe_seed(5))
    ratio = found.measured / found.error  # a mean square of 64 nearly normal errors
    assert (np.abs(ratio - 1) < 4.5 / math.sqrt(2 * k)).all(), ratio
    together = math.sqrt(np.mean(ratio**2))  # errors of another size are seen
    assert abs(together - 1) < 4.5 / math.sqrt(2 * k * ratio.size) < abs(1.2 * together - 1)
    assert found.to_arrow().num_rows == found.to_pandas().shape[0] == 2 * len(PROTOCOLS)


@pytest.mark.parametrize(("epsilon", "k"), [(0.5, 2), (1.0, 4), (1.0, 50), (3.0, 50), (1.0, 5000), (4.0, 5000)])
def test_recommend__has_the_least_error_and_the_fewest_bytes(epsilon, k):
    chosen = fd.recommend(epsilon=epsilon, k=k, n=1000)
    errors = dict(zip(PROTOCOLS, chosen.comparison.error[:, 0], strict=True))
    sizes = dict(zip(PROTOCOLS, chosen.comparison.bytes[:, 0], strict=True))
    assert errors[chosen.by_error] <= 1.01 * min(errors.values())
    assert sizes[chosen.by_communication] == min(sizes.values())
    assert errors["krr"] > errors["oue"] or k < 3 * math.exp(epsilon) + 2  # Wang et al. 2017


def test_bytes__are_those_of_the_reports():
    truth = np.zeros(10, np.int64)
    for name, made in {
        "oue": fd.UnaryEncoding(epsilon=1.0, domain=100),
        "subset": fd.SubsetSelection(epsilon=1.0, domain=100),
        "olh": fd.LocalHashing(epsilon=1.0, domain=100),
        "hadamard": fd.HadamardResponse(epsilon=1.0, domain=100),
    }.items():
        reports = made.randomize(truth, rng=fd.Rng.unsafe_seed(1))
        assert fd.compare([name], [1.0], k=100, n=10, measure=False).bytes[0, 0] == reports.nbytes / 10, name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["krr"], [1.0], 1, 10), "k must be at least 2"),
        (("krr", [1.0], 5, 10), "in lists"),
        (([], [1.0], 5, 10), "at least one"),
        ((["kr"], [1.0], 5, 10), "krr"),
        ((["krr"], [-1.0], 5, 10), "epsilon"),
        ((["krr"], [1.0], 5, 0), "n must"),
    ],
)
def test_what_is_wrong_is_refused(arguments, message):
    with pytest.raises(fd.ParameterError, match=message):
        fd.compare(*arguments)
