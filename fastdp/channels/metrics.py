"""The privacy of a channel under a metric: which pairs of inputs count, and the largest log-ratio of their rows."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.kernels.products.ratios import find_worst_pair

NEVER = -1e6
"""Stands for the log of 0: below the log of any number, and finite, so that two of them differ by 0."""

Metric: TypeAlias = "str | int | np.ndarray | Callable[[int, int], float] | None"
"""None: all pairs. An integer k: pairs of inputs at most k numbers apart. ``"line"``: the distance of the numbers.
A matrix, or a function of two inputs: distances."""
Pairs: TypeAlias = "int | np.ndarray | None"
"""A metric as channels read it: all pairs, pairs so many numbers apart, or a matrix of distances."""
Witness: TypeAlias = tuple[int, int, int] | None
"""Two inputs and an output that is most telling between them; None where there are no two inputs."""


def read_metric(metric: Metric | ArrayLike, size: int) -> Pairs:
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
    distances = validation.floats("epsilon", "a metric", metric)
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


def logs_of(matrix: np.ndarray) -> np.ndarray:
    """Logarithms, with NEVER for those of 0."""
    logs: np.ndarray = np.log(matrix, out=np.full(matrix.shape, NEVER), where=matrix > 0)
    return logs


def finite_or_inf(worst: float) -> float:
    """A difference of logs: infinite if one of them stood for 0."""
    return math.inf if worst > -NEVER / 2 else worst


def worst_of_matrix(matrix: np.ndarray, pairs: Pairs) -> tuple[float, Witness]:
    """The largest log-ratio of a column between two rows, and where it is."""
    if len(matrix) < 2:
        return 0.0, None
    logs = logs_of(matrix)
    if pairs is None:
        most, least = logs.argmax(axis=0), logs.argmin(axis=0)
        columns = np.arange(matrix.shape[1])
        highest = logs[most, columns]
        spread = np.where(highest > NEVER, highest - logs[least, columns], -1.0)  # no output that never happens
        y = int(spread.argmax())
        x, other = int(most[y]), int(least[y])
        return finite_or_inf(float(spread[y])), (x, other if x != other else (x + 1) % len(matrix), y)
    if isinstance(pairs, np.ndarray):
        return _worst_by_distance(logs, pairs)
    worst, where = -1.0, (0, 1, 0)
    for gap in range(1, min(pairs, len(matrix) - 1) + 1):
        spread = logs[gap:] - logs[:-gap]
        x, y = divmod(int(np.abs(spread).argmax()), matrix.shape[1])
        if abs(spread[x, y]) > worst:
            worst = abs(float(spread[x, y]))
            where = (x + gap, x, y) if spread[x, y] > 0 else (x, x + gap, y)
    return finite_or_inf(worst), where


def _worst_by_distance(logs: np.ndarray, distances: np.ndarray) -> tuple[float, Witness]:
    where = np.zeros(2, np.int64)
    worst = find_worst_pair(logs, distances, -NEVER / 2, where)
    x, other = where.tolist()
    return worst, (x, other, int((logs[x] - logs[other]).argmax()))
