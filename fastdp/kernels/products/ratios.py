"""The largest difference between the rows of a matrix of logarithms."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import kernel, largest


@largest
def _largest_gap(one, other):
    best = 0.0
    for y in range(one.size):
        gap = one[y] - other[y]
        best = gap if gap > best else best
    return best


@kernel
def find_worst_pair(logs, distances, certain, where):
    """The largest difference of two rows, from ``certain`` on infinite, per unit of their distance; ``where`` it is.

    Pre:  logs are finite; distances >= 0; where is int64[2]; there are at least two rows.
    Post: equal rows have 0, and so do rows at infinite distance; different rows at distance 0 have inf.
    """
    worst = -1.0
    for x in range(logs.shape[0]):
        for other in range(logs.shape[0]):
            distance = distances[x, other]
            if x == other or distance == np.inf:
                ratio = 0.0
            else:
                gap = _largest_gap(logs[x], logs[other])
                ratio = np.inf if gap >= certain else gap
                if gap > 0.0:
                    ratio = ratio / distance
            if x != other and ratio > worst:
                worst = ratio
                where[0], where[1] = x, other
    return worst
