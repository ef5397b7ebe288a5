"""The sparse vector technique: published probabilities, the guarantee by enumeration, and its wrong variants."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd


def geometric(rate: float, z: int) -> float:
    a = math.exp(-rate)
    return (1 - a) / (1 + a) * a ** abs(z)


@pytest.mark.parametrize(("value", "probability"), [(10, 0.542494407817), (13, 0.753167422924), (7, 0.306908619977)])
def test_first__meets_published_probabilities(value, probability):
    """Discrete Laplace noise of scale 2 on the threshold and 4 on the value, at least the threshold."""
    mechanism = fd.AboveThreshold(epsilon=1.0, threshold=10, share=0.5, granularity=1.0)
    rng = fd.Rng.unsafe_seed(value)
    hits = sum(mechanism.first([value], rng=rng) == 0 for _ in range(6000))
    assert abs(hits / 6000 - probability) < 3.5 * (probability * (1 - probability) / 6000) ** 0.5


def outcomes(mechanism, values: tuple[int, ...], *, value_rate: float | None = None) -> dict:
    """The probability of every answer of `above` on a few integers, by summing over the threshold's noise."""
    first = float(mechanism._threshold_law.rate.exact)
    second = float(mechanism._value_law.rate.exact) if value_rate is None else value_rate
    found: dict = dict.fromkeys(itertools.product([False, True], repeat=len(values)), 0.0)
    for z in range(-80, 81):
        above = [tail(second, int(mechanism.threshold) + z - value) for value in values]
        for answer in found:
            p = geometric(first, z)
            for is_above, chance in zip(answer, above, strict=True):
                p *= chance if is_above else 1 - chance
            found[answer] += p
    stopped: dict = {}
    for answer, p in found.items():
        positives = tuple(i for i, is_above in enumerate(answer) if is_above)[: mechanism.positives]
        stopped[positives] = stopped.get(positives, 0) + p
    return stopped


def tail(rate: float, least: int) -> float:
    """P(Z >= least) of discrete Laplace noise."""
    a = math.exp(-rate)
    return a**least / (1 + a) if least > 0 else 1 - a ** (1 - least) / (1 + a)


@pytest.mark.parametrize("positives", [1, 2])
@pytest.mark.parametrize("monotone", [False, True])
def test_privacy__holds_for_every_neighbour(positives, monotone):
    """All moves of three values by one step; noise on values that ignores the number of positives is caught."""
    mechanism = fd.AboveThreshold(epsilon=1.2, threshold=0, positives=positives, monotone=monotone, granularity=1.0)
    moves = list(itertools.product((0, 1) if monotone else (-1, 0, 1), repeat=3))

    def worst(**more: float) -> float:
        found = 0.0
        for base in ((0, 0, 0), (-9, 2, 3)):
            p = outcomes(mechanism, base, **more)
            for move in moves:
                q = outcomes(mechanism, tuple(b + m for b, m in zip(base, move, strict=True)), **more)
                found = max(found, *(abs(math.log(p[k] / q[k])) for k in p))
        return found

    assert worst() <= mechanism.privacy.epsilon * (1 + 1e-9) <= 1.2 * (1 + 1e-9)
    assert worst(value_rate=4 * positives * float(mechanism._value_law.rate.exact)) > mechanism.privacy.epsilon


def test_share__has_the_least_variance():
    assert fd.AboveThreshold(epsilon=1.0, threshold=0).privacy.epsilon == pytest.approx(1.0, rel=1e-8)
    one = fd.AboveThreshold(epsilon=1.0, threshold=0, granularity=1.0)
    assert float(one._threshold_law.rate.exact) == pytest.approx(0.3864882096, rel=1e-8)
    two = fd.AboveThreshold(epsilon=1.0, threshold=0, granularity=1.0, monotone=True)
    assert float(two._threshold_law.rate.exact) == pytest.approx(0.5, rel=1e-8)


def test_above__stops_after_its_positives_in_every_container():
    mechanism = fd.AboveThreshold(epsilon=60.0, threshold=50, positives=3)
    values = np.zeros(200_000)
    values[[5, 70, 150_000, 190_000]] = 100
    for given in (values, values.astype(np.int32), pa.chunked_array([values[:50], values[50:]]), values.tolist()):
        assert mechanism.above(given, rng=fd.Rng.unsafe_seed(1)) == [5, 70, 150_000]
    assert mechanism.first(np.zeros(10)) is None
    assert mechanism.above([]) == []


@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ({"epsilon": 0}, "epsilon must be"), ({"threshold": float("inf")}, "threshold must be a finite number"),
        ({"positives": 0}, "positives must be"), ({"share": 1.5}, "share must be"), ({"monotone": "no"}, "monotone"),
        ({"sensitivity": 0}, "sensitivity must be"), ({"granularity": 0.3}, "granularity must be"),
    ],
)  # fmt: skip
def test_parameters__are_checked(parameters, rule):
    with pytest.raises(fd.ParameterError, match=rule):
        fd.AboveThreshold(**{"epsilon": 1.0, "threshold": 3, **parameters})


def test_values__are_checked():
    with pytest.raises(fd.DomainError, match="values must be finite"):
        fd.AboveThreshold(epsilon=1.0, threshold=3).first([1.0, float("nan")])
