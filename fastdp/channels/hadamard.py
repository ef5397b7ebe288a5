"""The channel of Hadamard response."""

from __future__ import annotations

import math

import numpy as np

from fastdp.channels.base import Channel
from fastdp.channels.metrics import Pairs, Witness, divided, nearest_pair
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

    def _forward(self, p: np.ndarray) -> np.ndarray:
        rows = np.zeros(self._outputs)
        rows[1 : self._size + 1] = p
        total = rows.sum()
        apply_hadamard(rows)
        return (total + (self._p - self._rest) * rows) / self._outputs

    def _backward(self, w: np.ndarray) -> np.ndarray:
        rows = np.array(w, np.float64)
        total = rows.sum()
        apply_hadamard(rows)
        return (total + (self._p - self._rest) * rows[1 : self._size + 1]) / self._outputs

    def _select(self, inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        odd = np.bitwise_count((inputs[:, None] + 1) & outputs) & 1
        return np.where(odd, self._rest, self._p) * (2 / self._outputs)

    def _epsilon(self, pairs: Pairs) -> tuple[float, Witness]:
        """Any two rows differ in half of the outputs: the nearest inputs by the metric are the worst."""
        if self._size < 2:
            return 0.0, None
        x, other = nearest_pair(pairs) if isinstance(pairs, np.ndarray) else (0, 1)
        likelier, less = self.row(x), self.row(other)
        log_ratio = math.log(self._p / self._rest) if self._rest > 0 else math.inf
        distance = pairs[x, other] if isinstance(pairs, np.ndarray) else 1.0
        return divided(log_ratio, distance), (x, other, int((likelier - less).argmax()))
