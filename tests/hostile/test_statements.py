"""Many thousands of parameter sets: what is stated is never below the exact cost, nor above what was asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mpmath
import pytest

import fastdp as fd
from tests.contracts.protocols import NAMES
from tests.hostile.counts import LEAST, TRIED
from tests.statements.exact import DIGITS, Exact, recompute, understates
from tests.statements.test_promise import ALL, LESS, MORE, made

pytestmark = pytest.mark.slow

PARAMETER_SETS = "parameter sets in exact arithmetic"
MANY, FEW = 900, 60
COSTLY = {
    "Gaussian", "DiscreteGaussian", "SplitBudget", "SampleOne", "SampleAndFake", "SampleAndFake, attribute",
    "GridGeometric", "GridLaplace", "OptimalMechanism", "rappor", "rappor-narrow",
}  # fmt: skip
"""Those whose exact cost is a sum over thousands of outcomes, or that are solved for: tried less often."""


def count_of(name: str) -> int:
    return FEW if name in COSTLY else MANY


def exact_of(name: str, mechanism: Any) -> Exact:
    with mpmath.workdps(DIGITS):
        return Exact(NAMES[name].cost(mechanism)) if name in NAMES else recompute(mechanism, mechanism.privacy)


@pytest.mark.parametrize("name", ALL)
def test_stated__covers_the_exact_cost(name):
    """Of every parameter set; the first of them understated by 1e-6 of itself are caught, where no bound is stated."""
    caught = 0
    for number, (asked, mechanism) in enumerate(made(name, count_of(name))):
        if isinstance(mechanism, fd.GridGeometric | fd.GridLaplace) and mechanism.shape[0] * mechanism.shape[1] > 60:
            continue  # thousands of digits per cell and pair
        stated = mechanism.privacy
        exact = exact_of(name, mechanism)
        TRIED[PARAMETER_SETS] += 1
        assert not understates(stated, exact), asked
        for part, value in asked.items():
            assert name in MORE or getattr(stated, part) <= value, asked
            assert name in LESS | MORE or getattr(stated, part) >= value * (1 - 1e-6), asked
        if number < 5 and exact.epsilon is not None:
            caught += understates(replace(stated, epsilon=stated.epsilon * (1 - 1e-6)), exact)
    assert caught or name in {"Gaussian", "DiscreteGaussian", "GridLaplace", "GridGeometric"}


def test_parameter_sets__are_as_many_as_promised():
    assert sum(map(count_of, ALL)) >= LEAST[PARAMETER_SETS]
