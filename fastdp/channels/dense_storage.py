"""How the matrix of a dense channel is stored, and read for gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from fastdp import validation
from fastdp.channels.observed import Observed
from fastdp.errors import ParameterError
from fastdp.kernels.memory import empty_aligned
from fastdp.kernels.products.dense import BLOCK, HALF_BITS, iterate_dense, step_dense, step_narrow

if TYPE_CHECKING:
    from fastdp.channels.base import Channel

Storage = Literal["float64", "float32", "float16"]
ROW_TOLERANCE = 1e-9
STRIP = 256
"""Outputs that are read or written together."""
HALF_UNIT = 2.0**-95
"""A 16-bit entry stands for this part of a probability: the largest of a column has the largest exponent."""


def exponents_of(largest: np.ndarray) -> np.ndarray:
    """Exponents of the powers of two that bring numbers between 1/2 and 1, or as near as float64 has such powers."""
    exponents: np.ndarray = np.minimum(-np.frexp(largest)[1], 1000)
    return exponents


def read_probabilities(given: ArrayLike) -> np.ndarray:
    """A matrix of probabilities whose rows sum to 1."""
    matrix = validation.floats("Channel", "the matrix", given)
    if matrix.ndim != 2 or not matrix.size:
        raise ParameterError("Channel: the matrix must have two dimensions and at least one entry")
    if not matrix.min() >= 0:  # also where it is nan
        raise ParameterError("Channel: the matrix must hold finite probabilities >= 0")
    if not np.abs(matrix.sum(axis=1) - 1).max() <= ROW_TOLERANCE:
        raise ParameterError(f"Channel: each row must sum to 1 within {ROW_TOLERANCE:g}; divide it by its sum")
    return matrix


class DenseMatrix:
    """A matrix that is stored by outputs, each multiplied by the power of two that brings its largest entry near 1.

    So nothing is rounded in 64 bits, outputs of any small probability keep all their digits in fewer bits, and
    quotients by d do not overflow. In 32 bits an entry is off by at most 6e-8 of itself, and 0 if it is below 1e-45 of
    the output's largest. In 16 bits, 5 of exponent and 11 of fraction, it is off by at most 2.5e-4 of itself, and 0 if
    it is below 2**-30 of the output's largest.
    """

    def __init__(self, matrix: np.ndarray, storage: str) -> None:
        self._is_half, self._is_double = storage == "float16", storage == "float64"
        self.exponents = exponents_of(matrix.max(axis=0))
        self._scales = np.ldexp(1.0, -self.exponents)
        kind = {"float64": np.float64, "float32": np.float32, "float16": np.uint16}[storage]
        self.stored = empty_aligned(matrix.shape[::-1], kind)
        for strip in self._strips():
            self.stored[strip] = self._encode((matrix[:, strip] / self._scales[strip]).T)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of inputs and outputs."""
        return self.stored.shape[1], self.stored.shape[0]

    def _strips(self) -> Iterator[slice]:
        """All outputs, a strip at a time."""
        size = self.shape[1]
        for start in range(0, size, STRIP):
            yield slice(start, min(start + STRIP, size))

    def _encode(self, scaled: np.ndarray) -> np.ndarray:
        if not self._is_half:
            return scaled
        bits = (scaled * HALF_UNIT).astype(np.float32).view(np.uint32)
        rounded = np.minimum((bits + (1 << HALF_BITS - 1)) >> HALF_BITS, (1 << 16) - 1)
        return np.where(rounded < 1 << 11, 0, rounded)

    def _decode(self, entries: np.ndarray) -> np.ndarray:
        if not self._is_half:
            return entries.astype(np.float64, copy=False)
        return (entries.astype(np.uint32) << HALF_BITS).view(np.float32) * (1 / HALF_UNIT)

    def row(self, x: int) -> np.ndarray:
        """The row of an input."""
        row: np.ndarray = self._decode(np.ascontiguousarray(self.stored[:, x])) * self._scales
        return row

    def dense(self) -> np.ndarray:
        """The whole matrix, inputs by outputs."""
        out = np.empty(self.shape)
        for strip in self._strips():
            out[:, strip] = self._decode(self.stored[strip]).T * self._scales[strip]
        return out

    def select(self, inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """The part with these inputs and outputs."""
        part = self._decode(self.stored[np.ix_(outputs, inputs)])
        return np.ascontiguousarray(part.T * self._scales[outputs])

    def forward(self, p: np.ndarray) -> np.ndarray:
        """The product of a row, or of several, with the matrix."""
        if self._is_double:
            scaled = p @ self.stored.T
        else:
            scaled = np.concatenate([p @ self._decode(self.stored[strip]).T for strip in self._strips()], axis=-1)
        outputs: np.ndarray = scaled * self._scales
        return outputs

    def backward(self, w: np.ndarray) -> np.ndarray:
        """The product of the matrix with a column, or with several, given as rows."""
        scaled = w * self._scales
        if self._is_double:
            expected: np.ndarray = scaled @ self.stored
            return expected
        return sum(
            (scaled[..., strip] @ self._decode(self.stored[strip]) for strip in self._strips()), start=np.zeros(())
        )


class ObservedDense(Observed):
    """The matrix is read once, and only the outputs that were observed."""

    def __init__(self, channel: Channel, counts: ArrayLike, matrix: DenseMatrix) -> None:
        super().__init__(channel, counts)
        listed = np.flatnonzero(self.counts)
        padding = -listed.size % BLOCK
        self._listed = np.concatenate((listed, np.zeros(padding, np.int64)))
        self._padded = self._listed.size
        padded = np.concatenate((self.counts[listed], np.zeros(padding)))
        self._stored = stored = matrix.stored
        self._offset = math.log(2) * float(self.counts @ matrix.exponents)
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
