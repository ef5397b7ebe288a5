"""The channel of Hadamard response."""

from __future__ import annotations

import math

import numpy as np

from fastdp.channels.base import Channel
from fastdp.kernels.hadamard import apply_hadamard


class HadamardChannel(Channel):
    """2p / K where row x + 1 of the Hadamard matrix is 1, 2r / K where it is -1, r = 1 - p; products in O(K log K)."""

    def __init__(self, size: int, outputs: int, p: float, rest: float) -> None:
        self._size, self._outputs = size, outputs
        self._p, self._rest = p, rest

    @property
    def shape(self) -> tuple[int, int]:
        return self._size, self._outputs

    def row(self, x: int) -> np.ndarray:
        self._check(x)
        signs = np.zeros(self._outputs)
        signs[x + 1] = 1
        apply_hadamard(signs)
        return np.where(signs > 0, self._p, self._rest) * (2 / self._outputs)

    def forward(self, p: np.ndarray) -> np.ndarray:
        rows = np.zeros(self._outputs)
        rows[1 : self._size + 1] = p
        total = rows.sum()
        apply_hadamard(rows)
        return (total + (self._p - self._rest) * rows) / self._outputs

    def backward(self, w: np.ndarray) -> np.ndarray:
        rows = np.array(w, np.float64)
        total = rows.sum()
        apply_hadamard(rows)
        return (total + (self._p - self._rest) * rows[1 : self._size + 1]) / self._outputs

    def epsilon(self, distance: int | None = None) -> float:  # noqa: ARG002  (all inputs are equally far apart)
        return math.log(self._p / self._rest)
