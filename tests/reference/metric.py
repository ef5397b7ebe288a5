"""Reports through a matrix in plain Python, the epsilon of integer shares, and distances on a line and a grid."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import mpmath
import numpy as np

from tests.reference.cells import HALVES, PRIVATE
from tests.reference.keystream import Private, plane_word


def line(size: int) -> np.ndarray:
    return np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)


def plane(rows: int, columns: int) -> np.ndarray:
    """Distances between the middles of cells of side 1, numbered row by row."""
    i, j = np.divmod(np.arange(rows * columns), columns)
    return np.hypot(i[:, None] - i, j[:, None] - j)


def exact_epsilon(shares: list[list[int]], distance: np.ndarray) -> mpmath.mpf:
    """The largest log-ratio of a column per unit of distance, with 60 digits; columns of zeros never happen."""
    with mpmath.workdps(60):
        columns = [y for y in range(len(shares[0])) if any(row[y] for row in shares)]
        logs = [[mpmath.log(row[y]) for y in columns] for row in shares]
        return max(
            abs(a - b) / mpmath.mpf(distance[x, other])
            for x, row in enumerate(logs)
            for other in range(x)
            for a, b in zip(row, logs[other], strict=True)
        )


def draw(key: tuple[int, ...], slot: int, shares: Sequence[int]) -> int:
    """The outcome of a slot: 16 bits of the plane and 112 of the private stream; shares sum to 2**128."""
    private = Private(key, slot, PRIVATE)
    first = plane_word(key, HALVES, slot, 16) << 48 | private.next() >> 16
    return bisect_right(list(accumulate(shares))[:-1], first << 64 | private.next())
