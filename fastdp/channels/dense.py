"""A channel given by its matrix."""

from __future__ import annotations

import numpy as np

from fastdp.channels.base import Channel
from fastdp.errors import ParameterError

ROW_TOLERANCE = 1e-9
LARGEST_DENSE = 20_000
"""Inputs of a channel that a mechanism writes out in full; 3 GB."""


class DenseChannel(Channel):
    """A matrix of probabilities, inputs by outputs; it is checked and not copied if it is float64 already."""

    def __init__(self, matrix: np.ndarray, storage: str = "float64") -> None:  # noqa: ARG002
        matrix = np.asarray(matrix, np.float64)
        if matrix.ndim != 2 or not matrix.size:
            raise ParameterError("Channel: the matrix must have two dimensions and at least one entry")
        if not np.isfinite(matrix).all() or (matrix < 0).any():
            raise ParameterError("Channel: the matrix must hold finite probabilities >= 0")
        if np.abs(matrix.sum(axis=1) - 1).max() > ROW_TOLERANCE:
            raise ParameterError(f"Channel: each row must sum to 1 within {ROW_TOLERANCE:g}; divide it by its sum")
        self._matrix = matrix

    @property
    def shape(self) -> tuple[int, int]:
        return self._matrix.shape[0], self._matrix.shape[1]

    def row(self, x: int) -> np.ndarray:
        self._check(x)
        return self._matrix[x].copy()

    def dense(self) -> np.ndarray:
        return self._matrix.copy()

    def _forward(self, p: np.ndarray) -> np.ndarray:
        return p @ self._matrix

    def _backward(self, w: np.ndarray) -> np.ndarray:
        return self._matrix @ w

    def _forward_all(self, rows: np.ndarray) -> np.ndarray:
        return rows @ self._matrix

    def _backward_all(self, rows: np.ndarray) -> np.ndarray:
        return rows @ self._matrix.T

    def _select(self, inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        return self._matrix[np.ix_(inputs, outputs)]
