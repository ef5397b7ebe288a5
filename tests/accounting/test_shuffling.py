"""Shuffled reports against sums over all histograms and values by mpmath."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import fastdp as fd
from fastdp.accounting import positive_part, shuffling

BLANKETS = [
    (1.0, 100, 0.3, 0.0004410952360034958),
    (1.0, 100, 0.5, 1.702383849451647e-6),
    (2.0, 200, 0.7, 0.0001086615415099375),
    (4.0, 300, 2.0, 0.004251736987065997),
]
CLONES = [
    (1.0, 100, 0.5, 3.455968805408772e-5),
    (2.0, 200, 0.7, 0.001673086170173075),
    (4.0, 300, 2.0, 0.05433172389338012),
]


@pytest.mark.parametrize(("report", "n", "epsilon", "exact"), BLANKETS)
def test_binary__is_inside_its_bracket(report, n, epsilon, exact):
    found = shuffling.ShuffledCurve(report, 2, n).delta(epsilon=epsilon)
    assert found.lower <= exact <= found.upper
    assert found.upper - found.lower < 1e-3 * exact


@pytest.mark.parametrize(("report", "n", "epsilon", "exact"), CLONES)
def test_clones__are_inside_their_bracket(report, n, epsilon, exact):
    found = fd.shuffled(fd.Privacy(epsilon=report, neighbours="replace"), n=n).delta(epsilon=epsilon)
    assert found.lower <= exact <= found.upper


def blanket_by_enumeration(k, n, report, epsilon):
    """E[(P - e^epsilon Q)+] over all histograms of the blanket's reports and the victim's."""
    w = math.exp(report)
    p, q = w / (w + k - 1), 1 / (w + k - 1)
    gamma, total = k * q, 0.0
    for m in range(n):
        chance = math.comb(n - 1, m) * gamma**m * (1 - gamma) ** (n - 1 - m)
        for counts in itertools.product(range(m + 2), repeat=k):
            if sum(counts) != m + 1:
                continue
            arrangements = math.factorial(m + 1) / math.prod(map(math.factorial, counts)) / k**m
            laws = [[p if i == victim else q for i in range(k)] for victim in (0, 1)]
            first, second = (sum(c * law[i] for i, c in enumerate(counts)) / (m + 1) for law in laws)
            total += chance * arrangements * max(0.0, first - math.exp(epsilon) * second)
    return total


@pytest.mark.parametrize(("k", "n"), [(3, 7), (4, 6), (5, 5)])
@pytest.mark.parametrize("epsilon", [0.1, 0.6])
def test_krr__is_the_sum_over_all_histograms(k, n, epsilon):
    exact = blanket_by_enumeration(k, n, 1.0, epsilon)
    found = shuffling.ShuffledCurve(1.0, k, n).delta(epsilon=epsilon)
    assert found.lower <= exact * (1 + 1e-12)
    assert exact * (1 - 1e-12) <= found.upper <= exact * (1 + 1e-3)


def test_bracket__is_found_out_with_a_smaller_constant(monkeypatch):
    monkeypatch.setattr(positive_part, "SMOOTHING_CONSTANT", 0.0)
    low = [shuffling.ShuffledCurve(report, 2, n).delta(epsilon=epsilon).lower for report, n, epsilon, _ in BLANKETS]
    assert any(found > exact for found, (*_, exact) in zip(low, BLANKETS, strict=True))


TABLE = [(2, 1.0, 10**4, 1e-6, 0.0432060), (100, 3.0, 10**6, 1e-8, 0.0102097), (1000, 5.0, 10**7, 1e-9, 0.00887856)]


@pytest.mark.parametrize(("k", "report", "n", "delta", "about"), TABLE)
def test_epsilon__is_far_below_the_closed_form(k, report, n, delta, about):
    found = fd.shuffled(fd.KRR(epsilon=report, domain=k), n=n).epsilon(delta=delta)
    grown = math.exp(report)
    known = math.log1p((grown - 1) / (grown + 1) * (8 * math.sqrt(grown * math.log(4 / delta) / n) + 8 * grown / n))
    assert found.upper == pytest.approx(about, rel=1e-5)
    assert found.upper - found.lower < 1e-5 * found.upper
    assert found.upper < known / 4.9


def test_compositions__lie_above_their_parts():
    crowd = fd.shuffled(fd.KRR(epsilon=1.0, domain=2), n=10_000)
    once = fd.compose([crowd])
    assert crowd.epsilon(delta=1e-6).upper <= once.epsilon(delta=1e-6).upper <= crowd.epsilon(delta=1e-6).upper * 1.01
    many = fd.compose([(crowd, 10)]).epsilon(delta=1e-6).upper
    assert once.epsilon(delta=1e-6).upper < many < 10 * once.epsilon(delta=1e-6).upper
    assert crowd.epsilon(delta=0) == (crowd.report, crowd.report)


def test_unshuffled_and_kept__are_refused():
    smokes = {"mechanism": "krr", "epsilon": 1.0, "domain": ["no", "yes"]}
    with pytest.raises(fd.ParameterError, match="'city' is released as it is"):
        fd.shuffled(fd.Plan(columns={"city": "keep", "smokes": smokes}), n=100)
    with pytest.raises(fd.ParameterError, match="nulls of column"):
        fd.shuffled(fd.Plan(columns={"smokes": smokes | {"nulls": "public"}}), n=100)
    age = {"mechanism": "geometric", "epsilon": 0.5, "bounds": [0, 120], "unit": 5}
    with pytest.raises(fd.ParameterError, match="by distance"):
        fd.shuffled(fd.Plan(columns={"age": age}), n=100)
    with pytest.raises(fd.ParameterError, match="for_replacement"):
        fd.shuffled(fd.Laplace(epsilon=1.0, sensitivity=1.0), n=100)
    with pytest.raises(fd.ParameterError, match="give n"):
        fd.shuffled(fd.KRR(epsilon=1.0, domain=2))


def test_receipts__say_whether_the_order_was_drawn():
    plan = fd.Plan(columns={"smokes": {"mechanism": "krr", "epsilon": 1.0, "domain": ["no", "yes"]}})
    from fastdp.random.job import JobKey
    from fastdp.tables.sanitizing.receipt import Receipt

    key = JobKey.derived(fd.Rng.unsafe_seed(1))
    with pytest.raises(fd.ParameterError, match="shuffle=True"):
        fd.shuffled(Receipt.of(plan, 1000, key))
    drawn = fd.shuffled(Receipt.of(plan, 1000, key, shuffled=True))
    assert drawn.n == 1000
    assert drawn.epsilon(delta=1e-6).upper < 1.0


def test_positive_part__of_one_bit_is_exact():
    """A single number of two values: its positive part is one product."""
    atoms = positive_part.Atoms(np.array([2.0, -1.0]), np.array([0.25, 0.75]), np.array([2.0, 1.0]))
    low, high = positive_part.positive_part(atoms, 1, 1e-5)
    assert low <= 0.5 <= high
