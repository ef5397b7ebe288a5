"""Guarantees that are made of others: groups, conversions, compositions, trajectories, rounds of collection."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import fastdp as fd
from fastdp.privacy import compose
from tests.reference.metric import line
from tests.statements.exact import DIGITS, globe_loss, laplace_loss, planar_loss, rate_of, real, recompute, understates

EPSILONS = [1e-9, 0.01, 0.5, 1.0, 7.3, 300.0]


@pytest.mark.parametrize("size", [2, 3, 10, 1000])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", [0.0, 1e-300, 1e-12, 1e-3])
def test_group__is_the_definition_or_refused(epsilon, delta, size):
    """size * epsilon and delta * size * e**((size - 1) epsilon), to the last digit above; refused where that is 1."""
    with mpmath.workdps(DIGITS):
        exact = mpmath.mpf(delta) * size * mpmath.exp((size - 1) * mpmath.mpf(epsilon))
        stated = fd.Privacy(epsilon=epsilon, delta=delta, rho=0.3)
        if exact >= 1:
            with pytest.raises(fd.ParameterError, match="as_zcdp"):
                stated.group(size)
            with pytest.raises(fd.ParameterError, match="smaller delta"):
                replace(stated, rho=None).group(size)
            assert stated.as_zcdp().group(size).rho == pytest.approx(0.3 * size**2)
            return
        grouped = stated.group(size)
        assert exact <= mpmath.mpf(grouped.delta) <= exact * (1 + mpmath.mpf("1e-15")) + mpmath.mpf(2) ** -1074
        assert (
            Fraction(epsilon) * size <= Fraction(grouped.epsilon) <= Fraction(epsilon) * size * (1 + Fraction(1, 2**52))
        )
        assert Fraction(0.3) * size**2 <= Fraction(grouped.rho)


def test_group__never_says_just_below_1():
    with pytest.raises(fd.ParameterError, match="guarantees nothing"):
        fd.Privacy(epsilon=1.0, delta=0.4).group(2)
    with pytest.raises(fd.ParameterError, match="guarantees nothing"):
        fd.Privacy(epsilon=1.0, delta=0.4).for_replacement()


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_for_replacement__is_a_removal_and_an_addition(epsilon):
    stated = fd.Privacy(epsilon=epsilon, rho=0.7).for_replacement()
    assert Fraction(stated.epsilon) >= 2 * Fraction(epsilon)
    assert Fraction(stated.rho) >= 4 * Fraction(0.7)
    assert stated.neighbours == "replace"


@pytest.mark.parametrize("epsilon", [*EPSILONS, 1e-200])
def test_as_zcdp__is_half_the_square(epsilon):
    stated = fd.Privacy(epsilon=epsilon).as_zcdp()
    assert Fraction(stated.rho) >= Fraction(epsilon) ** 2 / 2
    assert Fraction(stated.rho) <= Fraction(epsilon) ** 2 / 2 * (1 + Fraction(1, 2**48)) + Fraction(1, 2**1060)
    kept = fd.Privacy(epsilon=1.0, delta=1e-6, rho=0.1).as_zcdp()
    assert (kept.epsilon, kept.delta, kept.rho) == (None, 0.0, 0.1)


@pytest.mark.parametrize("rho", [1e-12, 1e-6, 1e-3, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-6, 1e-12])
def test_epsilon_at__is_the_infimum_over_all_orders(rho, delta):
    """At least the least bound of any order alpha, to 60 digits, and close to it; 1e-6 less is caught.

    The draws' distance of 2**-100 from their law is taken off delta first: (1 + e**epsilon) times itself.
    """
    found = fd.Privacy(rho=rho).epsilon_at(delta)
    with mpmath.workdps(DIGITS):
        r = mpmath.mpf(rho)
        d = mpmath.mpf(delta) - mpmath.mpf(2) ** -100 * (1 + mpmath.exp(found))

        def bound(log_excess: mpmath.mpf) -> mpmath.mpf:
            excess = mpmath.exp(log_excess)
            return r * (1 + excess) - (mpmath.log(d) + mpmath.log1p(excess)) / excess - mpmath.log1p(1 / excess)

        low, high = mpmath.mpf(-20), mpmath.mpf(40)
        for _ in range(300):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, right) if bound(left) < bound(right) else (left, high)
        exact = max(mpmath.mpf(0), bound(low))
        assert mpmath.mpf(found) >= exact
        assert mpmath.mpf(found) <= exact * (1 + mpmath.mpf("1e-6")) + mpmath.mpf("1e-12")


def test_privacy__refuses_a_delta_that_belongs_to_nothing():
    """With rho alone a delta would be ignored by conversions, which would then state too little."""
    with pytest.raises(fd.ParameterError, match="delta belongs to an epsilon"):
        fd.Privacy(rho=0.1, delta=1e-6)


def test_compose__is_the_exact_sum_rounded_up():
    parts = [fd.Privacy(epsilon=0.1 * k, delta=1e-7 * k) for k in range(1, 40)]
    total = compose(parts)
    for name in ("epsilon", "delta"):
        exact = sum(Fraction(getattr(part, name)) for part in parts)
        assert exact <= Fraction(getattr(total, name)) <= exact * (1 + Fraction(1, 2**52))
    mixed = compose([fd.Privacy(rho=0.1), fd.Privacy(epsilon=0.7)])
    assert Fraction(mixed.rho) >= Fraction(0.1) + Fraction(0.7) ** 2 / 2


def test_compose__refuses_deltas_that_reach_1():
    noisy = {"mechanism": "gaussian", "epsilon": 1.0, "delta": 0.4, "bounds": [0, 1]}
    assert fd.Plan(columns={"a": noisy, "b": noisy}).privacy.record.delta < 0.8 + 1e-12
    with pytest.raises(fd.ParameterError, match="add up to 1"):
        fd.Plan(columns={"a": noisy, "b": noisy, "c": noisy})


@pytest.mark.parametrize("distance", [1e-9, 0.01, 0.3, 1.0, 7.7, 1000.0])
@pytest.mark.parametrize(
    "mechanism",
    [
        fd.PlanarLaplace(epsilon=0.7, unit="km"),
        fd.PlanarLaplace(epsilon=3.0, unit="mi", granularity=0.125, origin=(10.0, 20.0)),
        fd.GlobeLaplace(epsilon=0.7, unit="km"),
    ],
    ids=["plane", "origin", "globe"],
)
def test_epsilon_at__of_points_is_what_the_distance_costs(mechanism, distance):
    with mpmath.workdps(DIGITS):
        exact = (planar_loss if isinstance(mechanism, fd.PlanarLaplace) else globe_loss)(mechanism, Fraction(distance))
        assert exact <= mpmath.mpf(mechanism.epsilon_at(distance))
        assert mechanism.epsilon_at(distance) * (1 - 1e-9) < exact


def paths() -> tuple[np.ndarray, ...]:
    """Forty points of three people, some of which return."""
    source = np.random.default_rng(5)
    return np.arange(40) % 3, np.arange(40), source.integers(0, 6, 40) * 1.0, source.integers(0, 4, 40) * 1.0


def test_memoized_trajectory__bills_each_cell_once():
    """Each person pays for their different cells; the dearest person's bill is what is stated."""
    noise = fd.PlanarLaplace(epsilon=2.0, unit="km", granularity=0.25)
    persons, times, x, y = paths()
    reports = fd.MemoizedTrajectory(mechanism=noise).randomize(persons, times, x, y, rng=fd.Rng.unsafe_seed(1))
    with mpmath.workdps(DIGITS):
        price = planar_loss(noise, Fraction(1))
        bills = [len({*zip(x[persons == p], y[persons == p], strict=True)}) * price for p in range(3)]
        assert all(
            mpmath.mpf(spent) >= bill > spent * (1 - 1e-9) for spent, bill in zip(reports.spent, bills, strict=True)
        )
        assert mpmath.mpf(reports.privacy.epsilon) >= max(bills) > reports.privacy.epsilon * (1 - 1e-9)


def test_predictive_trajectory__bills_tests_and_new_reports():
    """A test costs its rate times a unit and sqrt(2) + 1 steps, a new report what the noise costs."""
    noise = fd.PlanarLaplace(epsilon=2.0, unit="km")
    mechanism = fd.PredictiveTrajectory(mechanism=noise, threshold=3.0, test_epsilon=0.5)
    persons, times, x, y = paths()
    reports = mechanism.randomize(persons, times, x, y, rng=fd.Rng.unsafe_seed(1))
    with mpmath.workdps(DIGITS):
        test = real(rate_of(mechanism._noise)) * (1 / mpmath.mpf(noise.granularity) + mpmath.sqrt(2) + 1)
        report = planar_loss(noise, Fraction(1))
        bills = [
            int(reports.is_tested[persons == p].sum()) * test + int(reports.is_new[persons == p].sum()) * report
            for p in range(3)
        ]
        assert all(
            mpmath.mpf(spent) >= bill > spent * (1 - 1e-9) for spent, bill in zip(reports.spent, bills, strict=True)
        )
        assert mpmath.mpf(reports.privacy.epsilon) >= max(bills) > reports.privacy.epsilon * (1 - 1e-9)
        rows = reports.is_tested * test + reports.is_new * report
        assert all(mpmath.mpf(cost) >= bill for cost, bill in zip(reports.costs, rows, strict=True))
        stated = mechanism.privacy_of(40).epsilon
        assert mpmath.mpf(stated) >= 39 * test + 40 * report > stated * (1 - 1e-9)
    assert math.isclose(stated, float(39 * test + 40 * report))


@pytest.mark.parametrize("people", ["fresh", "same"])
def test_privic__states_the_dearest_round_or_all_of_them(people):
    start = fd.BlahutArimoto(prior=[1, 1, 1], distance=line(3), beta=1.0)
    cells, rng = np.repeat([0, 1, 2], [600, 300, 100]), fd.Rng.unsafe_seed(7)
    result = fd.privic(start, lambda one: one.randomize(cells, rng=rng), rounds=3, people=people)
    costs = [recompute(one.mechanism, one.mechanism.privacy).epsilon for one in result.rounds]
    with mpmath.workdps(DIGITS):
        exact = sum(costs) if people == "same" else max(costs)
        assert mpmath.mpf(result.privacy.epsilon) >= exact > result.privacy.epsilon * (1 - 1e-9)
    for one in result.rounds:
        assert not understates(one.mechanism.privacy, recompute(one.mechanism, one.mechanism.privacy))


@pytest.mark.parametrize("kind", [fd.Laplace, fd.Geometric])
@pytest.mark.parametrize("boundary", ["clamp", "fold", "resample"])
def test_resampling__is_recomputed_as_the_channel_has_it(kind, boundary):
    """The closed form that statements are compared with is that of every pair of a small channel."""
    if kind is fd.Laplace:
        mechanism = kind(epsilon=2.0, sensitivity=1.0, bounds=(0, 5), granularity=0.5, boundary=boundary)
        width = 10
    else:
        mechanism, width = kind(epsilon=2.0, sensitivity=3, bounds=(0, 10), boundary=boundary), 10
    if boundary != "resample":
        return
    with mpmath.workdps(DIGITS):
        rate = real(rate_of(mechanism))
        weights = [[mpmath.exp(-rate * abs(x - y)) for y in range(width + 1)] for x in range(width + 1)]
        logs = [[mpmath.log(w / mpmath.fsum(row)) for w in row] for row in weights]
        for steps in (1, 2, 3, 7):
            brute = max(
                abs(a - b)
                for x in range(width + 1)
                for y in range(width + 1)
                if 0 < abs(x - y) <= steps
                for a, b in zip(logs[x], logs[y], strict=True)
            )
            assert abs(brute - laplace_loss(mechanism, steps)) < mpmath.mpf(10) ** -40
