"""Brackets against closed forms of the literature: inside where they are exact, below where they are upper bounds."""

from __future__ import annotations

import math

import pytest

import fastdp as fd
from fastdp.losses import LaplaceLoss
from tests.accounting.test_oracles import release


def test_poisson_samples__of_a_pure_guarantee():
    """ln(1 + q (e^eps - 1)) at epsilon 1 and rate 0.01."""
    found = fd.compose([fd.sampled(fd.Privacy(epsilon=1.0), rate=0.01)]).epsilon(delta=0)
    exact = 0.01703686323617655
    assert found.lower <= exact * (1 + 1e-15)
    assert exact * (1 - 1e-15) <= found.upper <= exact * (1 + 1e-13)


@pytest.mark.parametrize(
    ("count", "low", "high"),
    [(10**3, 4.8470279, 4.8470344), (10**4, 4.8762537, 4.8762603), (10**6, 4.8856130, 4.8856197)],
)
def test_equal_laplace__agree_with_another_bracket(count, low, high):
    found = fd.compose([release(LaplaceLoss(epsilon=1 / math.sqrt(count)), count)]).epsilon(delta=1e-6)
    assert found.lower <= high
    assert low <= found.upper
    assert found.upper - found.lower < 2e-6 * found.upper


def test_rho__costs_less_than_its_simple_conversion():
    """rho + 2 sqrt(rho ln 1/delta) at rho 0.1 and delta 1e-6."""
    assert fd.compose([fd.Privacy(rho=0.1)]).epsilon(delta=1e-6).upper < 2.4507880004768


def test_pure_guarantees__cost_less_than_advanced_composition():
    """A hundred of epsilon 0.1 at delta 1e-6: the form with tanh."""
    found = fd.compose([(fd.Privacy(epsilon=0.1), 100)]).epsilon(delta=1e-6)
    assert found.upper < 5.756105519335732


@pytest.mark.parametrize(("report", "closed"), [(1.0, 0.02677516346759122), (3.0, 0.135034675270773)])
def test_shuffled__cost_less_than_the_closed_form(report, closed):
    """A million reports at delta 1e-8: any mechanism below the closed form for all, k-RR below a fifth of it."""
    whole = fd.shuffled(fd.Privacy(epsilon=report, neighbours="replace"), n=10**6).epsilon(delta=1e-8)
    krr = fd.shuffled(fd.KRR(epsilon=report, domain=10), n=10**6).epsilon(delta=1e-8)
    assert krr.upper < closed / 5
    assert krr.upper < whole.upper < closed


NUMBERS = [1, 2, 7, 30, 100, 1000, 4096, 4097, 10**5, 10**8, 10**12]


@pytest.mark.parametrize("n", NUMBERS)
@pytest.mark.parametrize(("k", "report"), [(2, 1.0), (100, 3.0), (None, 2.0)])
def test_shuffled__is_sharp_at_any_number(k, report, n):
    """Delta within 1e-5 of itself where it is about 1e-8, or near the report's own epsilon where it cannot be."""
    from fastdp.accounting.shuffling import ShuffledCurve

    curve = ShuffledCurve(report, k, n)
    found = curve.epsilon(delta=1e-8)
    assert found.upper - found.lower <= 1e-5 * found.upper
    delta = curve.delta(epsilon=min(found.upper, 0.9 * report))
    assert 0 < delta.upper - delta.lower <= 1e-5 * delta.upper


def test_shuffled__is_the_same_by_both_ways_of_powers(monkeypatch):
    """Numbers few enough for products and many enough for logarithms, each also the other way: brackets overlap."""
    from fastdp.accounting import positive_part
    from fastdp.accounting.shuffling import ShuffledCurve

    for n in (50, 3000, 6000):
        found = []
        for few in (10, 10**5):
            monkeypatch.setattr(positive_part, "FEW", few)
            found.append(ShuffledCurve(2.0, 20, n).delta(epsilon=20 / n**0.5 / 6))
        assert found[0].lower <= found[1].upper
        assert found[1].lower <= found[0].upper
        assert found[1].upper - found[1].lower < 1e-5 * found[1].upper
