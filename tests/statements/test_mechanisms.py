"""``privacy`` of every mechanism is at least what its reports really cost; a little less would be caught."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import fastdp as fd
from tests.contracts.cases import CASES
from tests.contracts.metrics import METRICS
from tests.contracts.protocols import PROTOCOLS
from tests.reference.metric import plane
from tests.statements.exact import DIGITS, EXACT, Exact, recompute, understates

DOMAINS = {"a": 2, "b": 3}
SPARSE = {"a": 2, "b": 2, "c": 100}
_planar = fd.PlanarLaplace(epsilon=0.7, unit="km")
_corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
OTHERS: dict[str, Any] = {
    **{kind.__name__: kind(epsilon=1.3, bounds=(-1, 3)) for kind in (fd.Duchi, fd.Piecewise, fd.Hybrid, fd.SquareWave)},
    "Hybrid, small epsilon": fd.Hybrid(epsilon=0.1, bounds=(0, 1)),
    "FrequentStrings": fd.FrequentStrings(epsilon=0.8),
    "FrequentStrings, large epsilon": fd.FrequentStrings(epsilon=4.0, length=12),
    "FrequentStrings, two hashes": fd.FrequentStrings(epsilon=1e-2, g=2),
    "SplitBudget": fd.SplitBudget(epsilon=1.1, domains=DOMAINS),
    "SampleOne": fd.SampleOne(epsilon=1.1, domains=DOMAINS),
    "SampleAndFake": fd.SampleAndFake(epsilon=1.1, domains=DOMAINS),
    "SampleAndFake, one attribute": fd.SampleAndFake(epsilon=1.1, domains=DOMAINS, unit="attribute"),
    "SampleAndFake, one attribute, small epsilon": fd.SampleAndFake(epsilon=2e-6, domains=DOMAINS, unit="attribute"),
    "PlanarLaplace": _planar,
    "PlanarLaplace, coarse": fd.PlanarLaplace(epsilon=2.0, unit="mi", granularity=0.25, region=((0, 9), (0, 9))),
    "PlanarLaplace, globe": fd.PlanarLaplace(epsilon=0.01, unit="m", origin=(48.0, 2.0)),
    "GlobeLaplace": fd.GlobeLaplace(epsilon=0.7, unit="km"),
    "GlobeLaplace, feet": fd.GlobeLaplace(epsilon=0.01, unit="ft"),
    "RemappedPoints": _planar.remap([1.0, 2.0, 1.0], _corners),
    "ExponentialMetric, small": fd.ExponentialMetric(epsilon=1e-2, distance=plane(2, 3)),
    "GridGeometric, cells": fd.GridGeometric(epsilon=0.9, shape=(3, 3), cell=1.1, unit="km"),
}
"""Mechanisms with a guarantee that are on none of the contract lists."""

ELSEWHERE = {
    "Plan": "test_plans", "Privic": "test_totals", "TrajectoryReports": "test_totals",
    "MemoizedTrajectory": "test_totals", "PredictiveTrajectory": "test_totals",  # which their reports state
    "MatrixMechanism": "mechanisms/test_matrix", "Mechanism": "all of them",
    **dict.fromkeys(("ExponentialMechanism", "PermuteAndFlip", "NoisyMax"), "mechanisms/central/test_selection"),
    "AboveThreshold": "mechanisms/central/test_above_threshold",
    "KeySelection": "mechanisms/central/test_key_selection",
    **dict.fromkeys(("Answer", "Answers", "ReleasePlan"), "queries/test_unit and queries/test_plan"),
    **dict.fromkeys(("Synthesis", "SynthesisPlan"), "synthesis/test_synthesize"),
}  # fmt: skip
"""Public classes whose guarantee is made of others', or is recomputed elsewhere, and the tests that do so."""
LOOSE = {"grid-laplace"}
"""Mechanisms that state a bound which their integers stay below."""


def statements() -> list[Any]:
    """Every mechanism, by name, with its recomputation if a contract list has it."""
    found = [pytest.param(case.name, case.mechanism, None, id=case.name) for case in CASES]
    for protocol in PROTOCOLS:
        for epsilon in (0.2, 1.0, 4.0):
            mechanism = protocol.make(epsilon, protocol.domain(5))
            found.append(pytest.param(protocol.name, mechanism, protocol.cost, id=f"{protocol.name}-{epsilon}"))
    more = {metric.name: metric.make(metric.least * 1.5) for metric in METRICS} | OTHERS
    return found + [pytest.param(name, mechanism, None, id=name) for name, mechanism in more.items()]


def exact_of(mechanism: Any, cost: Any) -> Exact:
    if cost is None:
        return recompute(mechanism, mechanism.privacy)
    with mpmath.workdps(DIGITS):
        return Exact(cost(mechanism))


@pytest.mark.parametrize(("name", "mechanism", "cost"), statements())
def test_privacy__is_what_reports_cost(name, mechanism, cost):
    """Not below it, and so close above that a statement smaller by 1e-9 of itself is caught."""
    stated, exact = mechanism.privacy, exact_of(mechanism, cost)
    assert any(part is not None for part in exact)
    assert not understates(stated, exact)
    if name in LOOSE:
        return
    for part in ("epsilon", "rho"):
        if getattr(exact, part) is not None:
            mutant = replace(stated, **{part: getattr(stated, part) * (1 - 1e-9)})
            assert understates(mutant, exact), f"{part} understated by 1e-9 of itself goes unnoticed"
    if exact.delta is not None:
        assert understates(replace(stated, delta=stated.delta * 0.99), exact)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.2, 3.0])
@pytest.mark.parametrize("domains", [{"a": 2, "b": 2}, {"a": 2, "b": 7}, {"a": 3, "b": 2, "c": 4}])
@pytest.mark.parametrize("kind", [fd.SplitBudget, fd.SampleOne, fd.SampleAndFake, "attribute"])
def test_tables__state_what_whole_reports_cost(kind, domains, epsilon):
    """For small epsilons, too, where differences of floats would cancel; and never above what was asked."""
    more = {"unit": "attribute"} if kind == "attribute" else {}
    mechanism = (fd.SampleAndFake if more else kind)(epsilon=epsilon * len(domains), domains=domains, **more)
    exact = recompute(mechanism, mechanism.privacy)
    assert not understates(mechanism.privacy, exact)
    assert understates(replace(mechanism.privacy, epsilon=mechanism.privacy.epsilon * (1 - 1e-9)), exact)
    assert mechanism.privacy.epsilon <= epsilon * len(domains)


def test_tables__state_what_uneven_domains_cost():
    """The attribute of a small domain among large ones, where k p - k q of floats is off by 4e-11."""
    mechanism = fd.SampleAndFake(epsilon=2e-6, domains=SPARSE, unit="attribute")
    with mpmath.workdps(DIGITS):
        keeps = [(one._law.keep, one.domain.size) for one in mechanism.mechanisms.values()]
        others = sum(1 - keep for keep, _ in keeps)
        ratio = max(keep * k for keep, k in keeps) / others
        exact = Exact(mpmath.log1p(mpmath.mpf(ratio.numerator) / ratio.denominator))
    assert not understates(mechanism.privacy, exact)
    assert understates(replace(mechanism.privacy, epsilon=mechanism.privacy.epsilon * (1 - 1e-9)), exact)


def test_split_budget__states_what_its_parts_cost_not_what_was_asked():
    """A protocol that costs more than its share makes the whole cost more."""
    loose = fd.SplitBudget(
        epsilon=1.0,
        domains={"a": 4, "b": 4},
        protocol=lambda epsilon, domain: fd.KRR(epsilon=3 * epsilon, domain=domain),
    )
    assert loose.privacy.epsilon == pytest.approx(3.0)
    assert not understates(loose.privacy, recompute(loose, loose.privacy))


@pytest.mark.parametrize(
    "protocol", [one for one in PROTOCOLS if one.name.startswith("longitudinal")], ids=lambda one: one.name
)
def test_longitudinal__states_what_one_report_costs(protocol):
    """Both rounds of the randomization, from their integers."""
    mechanism = protocol.make(2.0, protocol.domain(5))
    rounds, stated = mechanism._rounds, mechanism.single_report
    with mpmath.workdps(DIGITS):
        if hasattr(rounds, "again"):
            keep = Fraction(rounds.permanent * rounds.again, 1 << 256)
            ratio = 1 + keep * rounds.size / (1 - keep)
        else:
            flip, p, q = (getattr(rounds, part).exact for part in ("flip", "truth", "noise"))
            p, q = p + flip - 2 * p * flip, q + flip - 2 * q * flip
            ratio = p * (1 - q) / (q * (1 - p))
        exact = Exact(mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator))
    assert not understates(stated, exact)
    assert understates(replace(stated, epsilon=stated.epsilon * (1 - 1e-9)), exact)


def test_every_mechanism__has_a_recomputation():
    """A new mechanism of the contract lists, or a new public class with a guarantee, needs one first."""
    listed = {type(case.mechanism) for case in CASES} | {type(metric.make(metric.least * 1.5)) for metric in METRICS}
    listed |= {*map(type, OTHERS.values())}
    assert listed <= set(EXACT)
    listed |= {type(protocol.make(1.0, protocol.domain(5))) for protocol in PROTOCOLS}
    public = {
        name for name in fd.__all__ if isinstance(getattr(fd, name), type) and hasattr(getattr(fd, name), "privacy")
    }
    assert {name for name in public if getattr(fd, name) not in listed} == set(ELSEWHERE)
