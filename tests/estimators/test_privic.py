"""The PRIVIC loop: it arrives at the mechanism that the unknown prior asks for, and says what that cost."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from tests.reference.metric import line, plane

SIZE = 25


def start(beta: float) -> fd.BlahutArimoto:
    return fd.BlahutArimoto(prior=np.ones(SIZE), distance=plane(5, 5), beta=beta, max_iterations=20, unit="km")


def off(mechanism, known, prior) -> float:
    """The mean total variation between two mechanisms' reports of one value."""
    return float(prior @ np.abs(mechanism.channel().dense() - known.channel().dense()).sum(axis=1)) / 2


@pytest.mark.parametrize(("beta", "rounds"), [(0.7, 5), (1.0, 6), (1.5, 4)])
def test_loop__arrives_at_the_mechanism_of_the_known_prior(beta, rounds):
    """Within a few hundredths, closer with more people, and far closer than the mechanism it started from."""
    source = np.random.default_rng(4)
    prior = source.dirichlet(np.ones(SIZE))
    known = start(beta).for_prior(prior)
    misses = []
    for size in (20_000, 500_000):
        rng = fd.Rng.unsafe_seed(3)
        people = [source.choice(SIZE, size, p=prior) for _ in range(rounds)]

        def collect(mechanism, people=people, rng=rng):
            return mechanism.randomize(people.pop(), rng=rng)

        result = fd.privic(start(beta), collect, rounds=rounds, people="fresh")
        assert not people
        misses.append(off(result.mechanism, known, prior))
        assert result.rounds[-1].estimate is result.estimate
        assert result.rounds[0].mechanism.prior.tolist() == start(beta).prior.tolist()
        assert result.rounds[-1].moved < result.rounds[0].moved / 3
    assert misses[1] < 0.03
    assert misses[1] < misses[0] / 2
    assert off(start(beta), known, prior) > 0.3  # a loop that never rebuilds its mechanism


def test_pool__uses_all_reports_and_is_closer():
    """Pooled, the estimate is one from all reports; not pooled, from the last round's."""
    source = np.random.default_rng(6)
    prior = source.dirichlet(np.ones(SIZE))
    found = {}
    for pool in (True, False):
        rng, draws = fd.Rng.unsafe_seed(9), np.random.default_rng(7)

        def collect(mechanism, rng=rng, draws=draws):
            return mechanism.randomize(draws.choice(SIZE, 50_000, p=prior), rng=rng)

        found[pool] = fd.privic(start(1.0), collect, rounds=5, people="fresh", pool=pool).estimate
    assert (found[True].n, found[False].n) == (250_000, 50_000)
    misses = [np.abs(found[pool].distribution - prior).sum() for pool in (True, False)]
    assert misses[0] < misses[1]


@pytest.mark.parametrize("rounds", [1, 4])
def test_privacy__is_the_dearest_round_or_the_sum(rounds):
    """Fresh people pay for one report, the same people for all, rounded up; each round's mechanism states its own."""
    cells = np.arange(30_000) % 7
    results = {}
    for people in ("fresh", "same"):
        rng = fd.Rng.unsafe_seed(1)
        results[people] = fd.privic(
            start(0.6), lambda mechanism, rng=rng: mechanism.randomize(cells, rng=rng), rounds=rounds, people=people
        )
    costs = [Fraction(each.mechanism.privacy.epsilon) for each in results["fresh"].rounds]
    assert results["fresh"].privacy.epsilon == float(max(costs))
    assert Fraction(results["same"].privacy.epsilon) >= sum(costs)
    assert results["same"].privacy.epsilon == pytest.approx(float(sum(costs)), rel=1e-12)
    assert all(cost <= Fraction(2 * 0.6) for cost in costs)
    assert results["same"].privacy.unit == "1 km"
    assert "rounds" in repr(results["same"])


def test_collect__may_give_any_container():
    """Arrow chunks give what numpy gives."""
    cells, found = np.arange(5_000) % 9, []
    for wrap in (np.asarray, lambda reports: pa.chunked_array([reports[:10], reports[10:]])):
        rng = fd.Rng.unsafe_seed(2)
        found.append(
            fd.privic(
                start(1.0), lambda m, rng=rng, wrap=wrap: wrap(m.randomize(cells, rng=rng)), rounds=2, people="same"
            )
        )
    assert np.array_equal(found[0].estimate.distribution, found[1].estimate.distribution)


@pytest.mark.parametrize("given", [
    {"rounds": 0}, {"rounds": 1.0}, {"people": "all"}, {"people": None}, {"regularize": "much"}, {"collect": 3},
    {"pool": "yes"}, {"pool": None}, {"people": np.ones(2)},
    {"mechanism": fd.ExponentialMetric(epsilon=1.0, distance=line(SIZE))}, {"mechanism": None},
])  # fmt: skip
def test_bad_parameters__are_refused(given):
    def collect(mechanism):
        return mechanism.randomize(np.zeros(10, int))

    with pytest.raises(fd.ParameterError):
        fd.privic(**{"mechanism": start(1.0), "collect": collect, "rounds": 1, "people": "same"} | given)


def test_prior__of_huge_counts_is_a_distribution():
    """Counts whose sum is beyond float64."""
    mechanism = start(1.0).for_prior([1e308] * SIZE)
    assert mechanism.prior.tolist() == pytest.approx([1 / SIZE] * SIZE)


def test_blahut_arimoto__beyond_float64_is_refused():
    """A beta at which a value without prior would have no report at all."""
    with pytest.raises(fd.ParameterError, match="smaller beta"):
        fd.BlahutArimoto(prior=[1, 0, 0], distance=line(3), beta=1000.0)
    assert math.isfinite(fd.BlahutArimoto(prior=[1, 1, 1], distance=line(3), beta=1000.0).channel().dense().sum())
