"""How the matrix of a dense channel is stored, and read for gradients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fastdp.channels.observed import Observed
from fastdp.kernels.products.dense import BLOCK, iterate_dense, step_dense, step_narrow

if TYPE_CHECKING:
    from fastdp.channels.base import Channel

HALF_UNIT = 2.0**-95
"""A 16-bit entry stands for this part of a probability: the largest of a column has the largest exponent."""


def exponents_of(largest: np.ndarray) -> np.ndarray:
    """Exponents of the powers of two that bring numbers between 1/2 and 1, or as near as float64 has such powers."""
    exponents: np.ndarray = np.minimum(-np.frexp(largest)[1], 1000)
    return exponents


class ObservedDense(Observed):
    """The matrix is read once, and only the outputs that were observed."""

    def __init__(self, channel: Channel, counts: ArrayLike, stored: np.ndarray, exponents: np.ndarray) -> None:
        super().__init__(channel, counts)
        listed = np.flatnonzero(self.counts)
        padding = -listed.size % BLOCK
        self._listed = np.concatenate((listed, np.zeros(padding, np.int64)))
        self._padded = self._listed.size
        padded = np.concatenate((self.counts[listed], np.zeros(padding)))
        self._stored = stored
        self._offset = math.log(2) * float(self.counts @ exponents)
        """What the powers of two add to the log-likelihood."""
        self._wide = stored.dtype == np.float64
        if self._wide:
            self._weighed = padded
            return
        # in 16 bits, factors that keep all of single precision's numbers away from the ends of its range
        raised, unit, self._weight_unit, lowered = (
            (2.0**64, 2.0**-64 / HALF_UNIT, 2.0**20, 2.0**-20 / HALF_UNIT)
            if stored.dtype == np.uint16
            else (1.0, 1.0, 1.0, 1.0)
        )
        self._weighed, self._factor = padded / (self.total or 1.0), lowered * self.total
        self._raised, self._unit = np.float64(raised), unit

    def gradient(self, p: ArrayLike) -> tuple[np.ndarray, float]:
        p = np.ascontiguousarray(p, np.float64)
        if p.shape != self._size:  # as in _vector: a call more would be 3 % of a step at 100 x 100
            p = self._vector(p)
        out, d = np.empty(self._size), np.empty(self._padded)
        if self._wide:
            return out, step_dense(self._stored, self._listed, self._weighed, p, d, out) - self._offset
        narrow = (p * self._raised).astype(np.float32)
        part = np.empty(self._size, np.float32)
        mean = step_narrow(
            self._stored, self._listed, self._weighed, narrow, self._unit, self._weight_unit, self._factor, d, part, out
        )
        return out, mean * self.total - self._offset

    def iterate(self, p: ArrayLike, steps: int) -> np.ndarray:
        if not self._wide:
            return super().iterate(p, steps)
        point, d, g = self._vector(p).copy(), np.empty(self._padded), np.empty(self._size)
        iterate_dense(self._stored, self._listed, self._weighed, steps, d, g, point)
        return point
