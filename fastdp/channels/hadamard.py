"""The channel of Hadamard response."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastdp.channels.base import Channel
from fastdp.channels.metrics import Pairs, Witness, divided, nearest_pair
from fastdp.channels.observed import Observed
from fastdp.kernels.products.walsh import apply_walsh, step_walsh


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
        apply_walsh(signs)
        return np.where(signs > 0, self._p, self._rest) * (2 / self._outputs)

    def _forward(self, p: np.ndarray) -> np.ndarray:
        rows = np.zeros(self._outputs)
        rows[1 : self._size + 1] = p
        total = rows.sum()
        apply_walsh(rows)
        outputs: np.ndarray = (total + (self._p - self._rest) * rows) / self._outputs
        return outputs

    def _backward(self, w: np.ndarray) -> np.ndarray:
        rows = np.array(w, np.float64)
        total = rows.sum()
        apply_walsh(rows)
        expected: np.ndarray = (total + (self._p - self._rest) * rows[1 : self._size + 1]) / self._outputs
        return expected

    def prepare(self, counts: ArrayLike) -> Observed:
        if np.ndim(counts) > 1:
            return super().prepare(counts)
        return _ObservedHadamard(self, counts, self._p - self._rest)

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


class _ObservedHadamard(Observed):
    """Both transforms in one pass, in units of 1 / K, which cancel from the derivative."""

    def __init__(self, channel: HadamardChannel, counts: ArrayLike, spread: float) -> None:
        super().__init__(channel, counts)
        self._weighed, self._spread = self.counts.copy(), spread
        self._offset = self.total * math.log(channel.shape[1])

    def gradient(self, p: Any) -> tuple[np.ndarray, float]:
        out, d = np.empty(self._size), np.empty(self._weighed.size)
        return out, step_walsh(self._weighed, self._vector(p), self._spread, d, out) - self._offset
