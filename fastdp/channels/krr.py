"""The channel of k-ary randomized response."""

from __future__ import annotations

import math

import numpy as np

from fastdp.channels.base import Channel
from fastdp.channels.metrics import Pairs, Witness, divided, nearest_pair


class KRRChannel(Channel):
    """p on the diagonal, q elsewhere; products in O(k).

    Parameters
    ----------
    size
        The number of values.
    p
        The probability of the true value.
    q
        The probability of a given other value.
    """

    def __init__(self, size: int, p: float, q: float) -> None:
        self._size, self._p, self._q = size, p, q

    @property
    def shape(self) -> tuple[int, int]:
        return self._size, self._size

    def row(self, x: int) -> np.ndarray:
        self._check(x)
        row = np.full(self._size, self._q)
        row[x] = self._p
        return row

    def _forward(self, p: np.ndarray) -> np.ndarray:
        outputs: np.ndarray = self._q * p.sum(axis=-1, keepdims=True) + (self._p - self._q) * p
        return outputs

    _backward = _forward_all = _backward_all = _forward

    def _select(self, inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        return np.where(inputs[:, None] == outputs, self._p, self._q)

    def _epsilon(self, pairs: Pairs) -> tuple[float, Witness]:
        """All inputs are equally far apart: the nearest by the metric are the worst."""
        if self._size < 2:
            return 0.0, None
        x, other = nearest_pair(pairs) if isinstance(pairs, np.ndarray) else (0, 1)
        log_ratio = math.log(self._p / self._q) if self._q > 0 else math.inf
        if log_ratio < 0:  # another value than the truth is the likelier report
            return divided(-log_ratio, pairs[x, other] if isinstance(pairs, np.ndarray) else 1.0), (x, other, other)
        return divided(log_ratio, pairs[x, other] if isinstance(pairs, np.ndarray) else 1.0), (x, other, x)
