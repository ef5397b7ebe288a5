"""docs/promises.md: what is stated is never above what was asked, and at least 1 - 1e-6 of it, but where it says so."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastdp as fd
from tests.contracts.cases import CASES
from tests.contracts.metrics import METRICS
from tests.contracts.protocols import PROTOCOLS
from tests.statements.exact import EXACT
from tests.statements.test_mechanisms import ELSEWHERE

PROMISES = Path(__file__).parents[2] / "docs" / "promises.md"
Source = random.Random
TABLE = {"a": 3, "b": 5, "c": 2}


def _epsilon(source: Source, low: float = 1e-3, high: float = 8.0) -> float:
    return math.exp(source.uniform(math.log(low), math.log(high)))


def _numbers(kind: Any, **more: Any) -> Callable[[Source], tuple[dict[str, float], Any]]:
    def make(source: Source) -> tuple[dict[str, float], Any]:
        epsilon, sensitivity = _epsilon(source, 0.01), 10 ** source.uniform(-3, 3)
        if kind is fd.Geometric:
            sensitivity = math.ceil(sensitivity)
        bounds = {"bounds": (0, math.ceil(sensitivity * source.uniform(2, 9)))} if more else {}
        return {"epsilon": epsilon}, kind(epsilon=epsilon, sensitivity=sensitivity, **bounds, **more)

    return make


def _gaussian(kind: Any) -> Callable[[Source], tuple[dict[str, float], Any]]:
    def make(source: Source) -> tuple[dict[str, float], Any]:
        asked: dict[str, float] = {"rho": _epsilon(source)}
        if source.random() < 0.5:
            asked = {"epsilon": _epsilon(source, 0.05), "delta": 10 ** source.uniform(-12, -2)}
        return asked, kind(**asked, sensitivity=source.randint(1, 100))

    return make


def _by_epsilon(make: Callable[[float], Any], low: float = 1e-3) -> Callable[[Source], tuple[dict[str, float], Any]]:
    def made(source: Source) -> tuple[dict[str, float], Any]:
        epsilon = _epsilon(source, low)
        return {"epsilon": epsilon}, make(epsilon)

    return made


def _grid(kind: Any) -> Callable[[Source], tuple[dict[str, float], Any]]:
    def make(source: Source) -> tuple[dict[str, float], Any]:
        cell, rate = math.exp(source.uniform(-5, 5)), _epsilon(source, 0.02)
        shape = source.randint(1, 40), source.randint(2, 40)
        return {"epsilon": rate / cell}, kind(epsilon=rate / cell, shape=shape, cell=cell)

    return make


def _metric(kind: Any) -> Callable[[Source], tuple[dict[str, float], Any]]:
    def make(source: Source) -> tuple[dict[str, float], Any]:
        points = np.array([[source.random(), source.random()] for _ in range(source.randint(2, 8))])
        points *= math.exp(source.uniform(-3, 3))
        distance = np.hypot(*(points[:, None] - points).transpose(2, 0, 1))
        epsilon = _epsilon(source, 0.01)
        more = {"prior": np.ones(len(points))} if kind in {fd.OptimalMechanism, fd.BlahutArimoto} else {}
        if kind is fd.BlahutArimoto:
            return {"epsilon": epsilon}, kind(beta=epsilon / 2, distance=distance, **more)
        return {"epsilon": epsilon}, kind(epsilon=epsilon, distance=distance, **more)

    return make


def _domains(kind: Any, **more: Any) -> Callable[[Source], tuple[dict[str, float], Any]]:
    return _by_epsilon(lambda epsilon: kind(epsilon=epsilon, domains=TABLE, **more))


def _bounded(kind: Any) -> Callable[[Source], tuple[dict[str, float], Any]]:
    return _by_epsilon(lambda epsilon: kind(epsilon=epsilon, bounds=(-2, 5)))


ALL: dict[str, Any] = {
    "Laplace": _numbers(fd.Laplace),
    "Laplace, fold": _numbers(fd.Laplace, boundary="fold"),
    "Laplace, resample": _numbers(fd.Laplace, boundary="resample"),
    "Geometric": _numbers(fd.Geometric),
    "Geometric, resample": _numbers(fd.Geometric, boundary="resample"),
    "Staircase": _numbers(fd.Staircase),
    "Gaussian": _gaussian(fd.Gaussian),
    "DiscreteGaussian": _gaussian(fd.DiscreteGaussian),
    "Duchi": _bounded(fd.Duchi),
    "Piecewise": _bounded(fd.Piecewise),
    "Hybrid": _bounded(fd.Hybrid),
    "SquareWave": _bounded(fd.SquareWave),
    "FrequentStrings": _by_epsilon(lambda epsilon: fd.FrequentStrings(epsilon=epsilon)),
    "SplitBudget": _domains(fd.SplitBudget),
    "SampleOne": _domains(fd.SampleOne),
    "SampleAndFake": _domains(fd.SampleAndFake),
    "SampleAndFake, attribute": _domains(fd.SampleAndFake, unit="attribute"),
    "GridGeometric": _grid(fd.GridGeometric),
    "GridLaplace": _grid(fd.GridLaplace),
    "PlanarLaplace": _by_epsilon(lambda epsilon: fd.PlanarLaplace(epsilon=epsilon, unit="km")),
    "GlobeLaplace": _by_epsilon(lambda epsilon: fd.GlobeLaplace(epsilon=epsilon, unit="km"), 0.1),
    "ExponentialMetric": _metric(fd.ExponentialMetric),
    "TightConstraints": _metric(fd.TightConstraints),
    "BlahutArimoto": _metric(fd.BlahutArimoto),
    "OptimalMechanism": _metric(fd.OptimalMechanism),
}
for _protocol in PROTOCOLS:
    if _protocol.by_epsilon:
        ALL[_protocol.name] = _by_epsilon(lambda epsilon, one=_protocol: one.make(epsilon, one.domain(6)), 0.01)
MORE = {"PlanarLaplace", "GlobeLaplace"}
LESS = {"ExponentialMetric", "TightConstraints", "BlahutArimoto", "OptimalMechanism", "thresholded-histogram"}
OF_ANOTHER = {fd.Remapped, fd.RemappedPoints}
"""Their guarantee is the one of the mechanism that they are made of."""


def made(name: str, count: int) -> Iterator[tuple[dict[str, float], Any]]:
    source = random.Random(f"promise {name}")
    tries = 0
    while count:
        tries += 1
        assert tries < 4000
        try:
            found = ALL[name](source)
        except fd.ParameterError:  # beyond the sampler's resolution, or no such mechanism at all
            continue
        count -= 1
        yield found


@pytest.mark.parametrize("name", ALL)
def test_stated__is_what_was_asked_or_barely_less(name):
    """Over random parameters, for every mechanism that the page names as no exception; and for those, theirs."""
    for asked, mechanism in made(name, 40):
        for part, value in asked.items():
            stated = getattr(mechanism.privacy, part)
            if name in MORE:
                granularity = mechanism.granularity
                assert value <= stated <= value * (1 + 2 * granularity) + 1e-9
            else:
                assert stated <= value
                assert name in LESS or stated >= value * (1 - 1e-6)


@pytest.mark.parametrize("name", sorted(LESS))
def test_exceptions__do_state_less(name):
    """Else the sentence would name them without need."""
    assert any(mechanism.privacy.epsilon < asked["epsilon"] * (1 - 1e-6) for asked, mechanism in made(name, 40))


def test_page__names_all_exceptions():
    text = " ".join(PROMISES.read_text().split())
    sentence = text[text.index("What is stated is never above what was asked") :][:700]
    named = {"thresholded-histogram": "ThresholdedHistogram"}
    assert all(f"`{named.get(name, name)}`" in sentence for name in MORE | LESS)
    planar = fd.PlanarLaplace(epsilon=0.7, unit="km")
    assert planar.privacy.epsilon / 0.7 == pytest.approx(1.0014, abs=5e-5)


def test_exponential_metric__is_refused_where_it_would_cost_more_than_asked():
    with pytest.raises(fd.ParameterError, match="resolution"):
        fd.ExponentialMetric(epsilon=1e-14, distance=[[0, 1], [1, 0]])


def test_every_mechanism__is_among_them():
    """By class: those of the contract lists, and every public class with a guarantee."""
    there = {type(mechanism) for name in ALL for _, mechanism in made(name, 1)} | OF_ANOTHER
    listed = {type(case.mechanism) for case in CASES} | {type(metric.make(metric.least * 1.5)) for metric in METRICS}
    listed |= {type(protocol.make(1.0, protocol.domain(5))) for protocol in PROTOCOLS}
    assert listed | set(EXACT) <= there
    public = {
        name for name in fd.__all__ if isinstance(getattr(fd, name), type) and hasattr(getattr(fd, name), "privacy")
    }
    assert {name for name in public if getattr(fd, name) not in there} == set(ELSEWHERE)
