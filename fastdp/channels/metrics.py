"""Which pairs of inputs a channel's privacy is measured over, and how far apart they are."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError

Metric: TypeAlias = "str | int | np.ndarray | Callable[[int, int], float] | None"
"""None: all pairs. An integer k: pairs of inputs at most k numbers apart. ``"line"``: the distance of the numbers.
A matrix, or a function of two inputs: distances."""
Pairs: TypeAlias = "int | np.ndarray | None"
"""A metric as channels read it: all pairs, pairs so many numbers apart, or a matrix of distances."""
Witness: TypeAlias = tuple[int, int, int] | None
"""Two inputs and an output that is most telling between them; None where there are no two inputs."""


def read_metric(metric: Any, size: int) -> Pairs:
    """A metric in its canonical type.

    On a line the log-ratios of neighbours add up, so the constant of all pairs is that of neighbours: pairs 1 apart.
    """
    if metric is None or (isinstance(metric, str) and metric == "line"):
        return None if metric is None else 1
    if isinstance(metric, numbers.Integral) and not isinstance(metric, bool):
        return validation.positive_integer("epsilon", "an integer metric", metric)
    if callable(metric):
        metric = [[metric(x, other) if x != other else 0.0 for other in range(size)] for x in range(size)]
    elif isinstance(metric, str | bytes | numbers.Real):
        raise ParameterError(
            f"epsilon: metric must be None, 'line', an integer, a matrix of distances or a function, got {metric!r}"
        )
    distances = np.asarray(metric, np.float64)
    if distances.shape != (size, size) or not (distances >= 0).all():
        raise ParameterError(f"epsilon: a metric must give {size} x {size} distances >= 0, none of them nan")
    return distances


def nearest_pair(distances: np.ndarray) -> tuple[int, int]:
    """The two different inputs with the least distance; there are at least two."""
    apart = distances.copy()
    np.fill_diagonal(apart, np.inf)
    x, other = divmod(int(apart.argmin()), len(apart))
    return (x, other) if x != other else (0, 1)


def divided(log_ratio: float, distance: float) -> float:
    """The privacy per unit of distance: infinite for what differs at distance 0, and 0 for what is infinitely far."""
    if log_ratio == 0 or distance == np.inf:
        return 0.0
    return log_ratio / distance if distance > 0 else np.inf
