"""The largest log-ratio between the rows of a matrix, exactly, over the pairs that a metric asks for."""

from __future__ import annotations

import math

import numpy as np

from fastdp.channels.metrics import Pairs, Witness
from fastdp.kernels.ratios import find_worst_pair

NEVER = -1e6
"""Stands for the log of 0: below the log of any number, and finite, so that two of them differ by 0."""


def logs_of(matrix: np.ndarray) -> np.ndarray:
    """Logarithms, with NEVER for those of 0."""
    return np.log(matrix, out=np.full(matrix.shape, NEVER), where=matrix > 0)


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
