"""Every mechanism between numbered values of a metric, listed once; the contract of metric mechanisms runs over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import fastdp as fd
from tests.reference.metric import plane

SHAPE = (3, 4)
SIZE = 12
PRIOR = np.arange(SIZE) + 1.0


@dataclass(frozen=True)
class Metric:
    """How a mechanism on a grid of 3 x 4 cells is made from an epsilon per side of a cell."""

    name: str
    make: Callable[[Any], Any]
    tight: bool = True
    """Costs at least 1 - 1e-6 of what was asked."""
    least: float = 0.1
    """The smallest epsilon of the tests at which it exists."""


def _remapped(epsilon: Any) -> Any:
    return fd.GridGeometric(epsilon=epsilon, shape=SHAPE).remap(PRIOR, "squared")


METRICS = [
    Metric("exponential", lambda e: fd.ExponentialMetric(epsilon=e, distance=plane(*SHAPE)), tight=False),
    Metric("tight-constraints", lambda e: fd.TightConstraints(epsilon=e, distance=plane(*SHAPE)), least=1.2),
    Metric(
        "blahut-arimoto",
        lambda e: fd.BlahutArimoto(
            prior=PRIOR, distance=plane(*SHAPE), beta=e / 2 if isinstance(e, float) else e, max_iterations=4
        ),
        tight=False,
    ),
    Metric(
        "optimal",
        lambda e: fd.OptimalMechanism(epsilon=e, prior=PRIOR, distance=plane(*SHAPE), dilation=1.2),
        tight=False,
    ),
    Metric("grid-geometric", lambda e: fd.GridGeometric(epsilon=e, shape=SHAPE)),
    Metric("grid-laplace", lambda e: fd.GridLaplace(epsilon=e, shape=SHAPE)),
    Metric("remapped", _remapped),
]


def values_of(size: int, dtype: Any = np.int64) -> np.ndarray:
    """Some values, the same every time."""
    return (np.arange(size) * 5 % SIZE).astype(dtype)
