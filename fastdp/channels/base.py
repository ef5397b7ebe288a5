"""What every channel can do."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np


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
        """The largest log-ratio of one output's probabilities between two inputs, up to ``distance`` apart if given."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.dense())
        logs = logs[:, (logs > -math.inf).any(axis=0)]
        worst = 0.0
        for gap in range(1, min(distance or logs.shape[0], logs.shape[0] - 1) + 1):
            worst = max(worst, float(np.abs(logs[gap:] - logs[:-gap]).max()))
        return worst
