"""What every channel can do."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from fastdp.errors import ParameterError


class Channel(ABC):
    """Probabilities of each output given each input, rows summing to 1.

    Inputs and outputs are numbered from 0; what the numbers stand for is the mechanism's to say.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The numbers of inputs and outputs."""

    @abstractmethod
    def row(self, x: int) -> np.ndarray:
        """The distribution of the output for input ``x``."""

    def _check(self, x: int) -> None:
        if not 0 <= x < self.shape[0]:
            raise ParameterError(f"Channel: x must be an input from 0 to {self.shape[0] - 1}, got {x!r}")

    def dense(self) -> np.ndarray:
        """The whole matrix, inputs by outputs."""
        return np.stack([self.row(x) for x in range(self.shape[0])])

    def forward(self, p: np.ndarray) -> np.ndarray:
        """The distribution of outputs when inputs follow ``p``."""
        return np.asarray(p, np.float64) @ self.dense()

    def backward(self, w: np.ndarray) -> np.ndarray:
        """For each input, the expectation of ``w`` over its outputs."""
        return self.dense() @ np.asarray(w, np.float64)

    def epsilon(self, distance: int | None = None) -> float:
        """The largest log-ratio of one output's probabilities between two inputs, up to ``distance`` apart if given.

        Infinite where an output is possible for one of them only.
        """
        dense = self.dense()
        worst = 0.0
        for gap in range(1, min(distance or dense.shape[0], dense.shape[0] - 1) + 1):
            one, other = dense[gap:], dense[:-gap]
            either = (one > 0) | (other > 0)
            if ((one > 0) != (other > 0)).any():
                return math.inf
            worst = max(worst, float(np.abs(np.log(one[either]) - np.log(other[either])).max(initial=0.0)))
        return worst
