"""The channel of k-ary randomized response."""

from __future__ import annotations

import math

import numpy as np

from fastdp.channels.base import Channel


class KRRChannel(Channel):
    """p on the diagonal, q elsewhere; products in O(k)."""

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

    def forward(self, p: np.ndarray) -> np.ndarray:
        p = np.asarray(p, np.float64)
        return self._q * p.sum() + (self._p - self._q) * p

    def backward(self, w: np.ndarray) -> np.ndarray:
        w = np.asarray(w, np.float64)
        return self._q * w.sum() + (self._p - self._q) * w

    def epsilon(self, distance: int | None = None) -> float:  # noqa: ARG002  (all inputs are equally far apart)
        return math.log(self._p / self._q)
