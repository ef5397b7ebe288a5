"""Pairs of inputs, and every mechanism of the registry."""

from __future__ import annotations

import pytest

import fastdp as fd
from fastdp.audits.pairs import extremes
from fastdp.mechanisms.registry import rows

SLOW = {"ExponentialMechanism", "PermuteAndFlip", "NoisyMax", "AboveThreshold"}


@pytest.mark.parametrize("name", [row.name for row in rows() if row.name not in SLOW])
def test_registry__every_mechanism_keeps_its_word(name):
    (found,) = fd.audit.registry([name], draws=100_000, rng=fd.Rng.unsafe_seed(3))
    assert 0.2 < found.epsilon <= found.claimed
    if found.exact is not None:
        assert found.epsilon <= found.exact


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SLOW))
def test_registry__mechanisms_that_choose_keep_their_word(name):
    (found,) = fd.audit.registry([name], rng=fd.Rng.unsafe_seed(3))
    assert 0.2 < found.epsilon <= found.claimed


def test_registry__refuses_what_it_does_not_know():
    with pytest.raises(fd.ParameterError, match="did you mean 'Laplace'"):
        list(fd.audit.registry(["Laplase"]))


def test_search__finds_the_pair_that_gives_most_away():
    line = [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    mechanism = fd.ExponentialMetric(epsilon=2.0, distance=line)
    found = fd.audit.search(mechanism, draws=10**5, rng=fd.Rng.unsafe_seed(1))
    assert found.pair == ("0", "2")
    assert found.epsilon > fd.audit.search(mechanism, [(0, 1)], draws=10**5, rng=fd.Rng.unsafe_seed(1)).epsilon


def test_extremes__follow_from_parameters():
    assert extremes(fd.Laplace(epsilon=1.0, sensitivity=2.0)) == [(0.0, 2.0)]
    assert extremes(fd.Laplace(epsilon=1.0, sensitivity=1.0, bounds=(0, 3))) == [(0.0, 1.0), (2.0, 3.0)]
    assert extremes(fd.Duchi(epsilon=1.0, bounds=(-1, 1))) == [(-1.0, 1.0)]
    assert extremes(fd.KRR(epsilon=1.0, domain=["x", "y"])) == [("x", "y")]
    with pytest.raises(fd.ParameterError, match="give pairs"):
        extremes(fd.ExponentialMechanism(epsilon=1.0))
    for wrong in ("all", [], [(0, 1)] * 1001):
        with pytest.raises(fd.ParameterError):
            fd.audit.search(fd.Geometric(epsilon=1.0), wrong)
