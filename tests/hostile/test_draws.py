"""110 chi-square tests and more: draws of every kind of mechanism against their exact law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from tests.contracts.metrics import METRICS
from tests.contracts.protocols import PROTOCOLS
from tests.hostile.counts import LEAST, TRIED
from tests.reference.laws import gaussian_pmf, laplace_pmf, staircase_pmf
from tests.reference.protocols import written
from tests.reference.statistics import chisquare_p

pytestmark = pytest.mark.slow

SIZE = 400_000
ALPHA = 1e-3 / 200
"""Of each test: all of them together are rejected by chance once in a thousand runs at most, and seeds are fixed."""
Draw = Callable[[int], tuple[np.ndarray, np.ndarray, int]]


def of_protocol(protocol: Any, epsilon: float, x: int) -> Draw:
    """Whole reports as they are written, and their law."""

    def draw(seed: int) -> tuple[np.ndarray, np.ndarray, int]:
        mechanism = protocol.make(epsilon, protocol.small)
        values = pa.array(protocol.same_value(SIZE, x))
        reports = protocol.randomize(mechanism, values, rng=fd.Rng.unsafe_seed(seed), first=seed * SIZE)
        return written(reports), protocol.law(mechanism, x)[0], 0

    return draw


def of_channel(mechanism: Any, x: int, low: int = 0) -> Draw:
    """Reports of one value against the row of the channel."""

    def draw(seed: int) -> tuple[np.ndarray, np.ndarray, int]:
        reports = mechanism.randomize(np.full(SIZE, x + low), rng=fd.Rng.unsafe_seed(seed))
        return reports - low, mechanism.channel().row(x), 0

    return draw


def of_noise(mechanism: Any, law: np.ndarray, step: float = 1.0) -> Draw:
    """Noise on zeros, in steps, against a law that is symmetric around 0."""

    def draw(seed: int) -> tuple[np.ndarray, np.ndarray, int]:
        zeros = np.zeros(SIZE, np.int64 if isinstance(mechanism, fd.Geometric | fd.DiscreteGaussian) else np.float64)
        return np.rint(mechanism.randomize(zeros, rng=fd.Rng.unsafe_seed(seed)) / step), law, -(law.size // 2)

    return draw


def _noises() -> dict[str, Draw]:
    found: dict[str, Draw] = {}
    for epsilon in (0.05, 0.3, 1.0, 2.5, 6.0):
        reach = int(30 / epsilon) + 3
        geometric = fd.Geometric(epsilon=epsilon, sensitivity=1)
        found[f"geometric {epsilon}"] = of_noise(geometric, laplace_pmf(epsilon, reach))
        laplace = fd.Laplace(epsilon=epsilon, sensitivity=7.0, granularity=0.5)
        found[f"laplace {epsilon}"] = of_noise(laplace, laplace_pmf(epsilon / 15, 15 * reach), 0.5)
        sigma = 1 / epsilon + 0.5
        gaussian = fd.DiscreteGaussian(scale=sigma, sensitivity=1)
        found[f"discrete gaussian {sigma:.3g}"] = of_noise(gaussian, gaussian_pmf(sigma, int(12 * sigma) + 2))
        floats = fd.Gaussian(scale=sigma, sensitivity=1.0, granularity=0.25)
        found[f"gaussian {sigma:.3g}"] = of_noise(floats, gaussian_pmf(4 * sigma, int(48 * sigma) + 2), 0.25)
        stairs = fd.Staircase(epsilon=epsilon, sensitivity=3.0, granularity=0.5, gamma=0.3)
        law = staircase_pmf(epsilon, stairs._law.steps, stairs._law.tread, 7 * reach)
        found[f"staircase {epsilon}"] = of_noise(stairs, law, 0.5)
    return found


def _channels() -> dict[str, Draw]:
    found: dict[str, Draw] = {}
    for boundary in ("clamp", "fold", "resample"):
        for epsilon in (0.2, 1.0, 4.0):
            mechanism = fd.Geometric(epsilon=epsilon, sensitivity=2, bounds=(-3, 9), boundary=boundary)
            for x in (0, 5):
                found[f"geometric {boundary} {epsilon} of {x}"] = of_channel(mechanism, x, -3)
    for metric in METRICS:
        for factor in (1.0, 1.7, 2.9):
            mechanism = metric.make(max(metric.least, 1.2) * factor)
            for x in (0, 6):
                found[f"{metric.name} {factor} of {x}"] = of_channel(mechanism, x)
    return found


def _protocols() -> dict[str, Draw]:
    return {
        f"{protocol.name} {epsilon} of {x}": of_protocol(protocol, epsilon, x)
        for protocol in PROTOCOLS
        if protocol.law is not None
        for epsilon in (0.4, 1.0, 3.0)
        for x in (0, protocol.small - 1)
    }


DRAWS = _noises() | _channels() | _protocols()


@pytest.mark.parametrize("name", DRAWS)
def test_draws__follow_their_exact_law(name):
    """Rare outcomes pooled; the same draws are told apart from a law whose likelier half is less likely by 1/20."""
    draws, law, lowest = DRAWS[name](1 + list(DRAWS).index(name))
    TRIED["chi-square tests"] += 1
    assert law.sum() == pytest.approx(1, abs=1e-6)
    assert chisquare_p(draws, law, lowest) > ALPHA
    assert chisquare_p(draws, tilt(law), lowest) < ALPHA


def tilt(law: np.ndarray) -> np.ndarray:
    """The law with 1/20 of the mass of the likeliest outcomes, which have half of all, given to the others."""
    order = np.argsort(-law, kind="stable")
    count = int(np.searchsorted(np.cumsum(law[order]), 0.5)) + 1
    likely = np.zeros(law.size, bool)
    likely[order[:count]] = True
    mass = law[likely].sum()
    return law * np.where(likely, 0.95, (1 - 0.95 * mass) / (1 - mass))


def test_draws__are_as_many_as_promised():
    assert len(DRAWS) >= LEAST["chi-square tests"]
