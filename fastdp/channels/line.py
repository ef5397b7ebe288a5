"""Channels on a line of integers."""

from __future__ import annotations

import math

import numpy as np

from fastdp.channels.base import Channel
from fastdp.channels.metrics import Pairs, Witness


class GeometricChannel(Channel):
    """The truncated geometric on n integers: noise of ratio a = e**-rate, sums clamped to the ends.

    Row x has a**|x-y| / (1 + a) in the two end columns and (1 - a) / (1 + a) * a**|x-y| between them.
    """

    def __init__(self, size: int, rate: float) -> None:
        self._size = size
        self._rate = rate

    @property
    def shape(self) -> tuple[int, int]:
        return self._size, self._size

    def row(self, x: int) -> np.ndarray:
        self._check(x)
        a = math.exp(-self._rate)
        row = np.exp(-self._rate * np.abs(np.arange(self._size) - x)) / (1 + a)
        row[1:-1] *= -math.expm1(-self._rate)
        return row

    def _select(self, inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        part = np.exp(-self._rate * np.abs(inputs[:, None] - outputs)) / (1 + math.exp(-self._rate))
        part[:, (outputs > 0) & (outputs < self._size - 1)] *= -math.expm1(-self._rate)
        return part

    def _epsilon(self, pairs: Pairs) -> tuple[float, Witness]:
        """The rate times the distance: exact also where far entries of the matrix underflow."""
        if self._size < 2:
            return 0.0, None
        if not isinstance(pairs, np.ndarray):
            gap = min(pairs or self._size, self._size - 1)
            return self._rate * gap, (0, gap, 0)
        places = np.arange(self._size)
        worst, where = -1.0, (0, 1, 0)
        for x in range(self._size):
            steps = self._rate * np.abs(places - x)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = np.where(places == x, -1.0, steps / pairs[x])
            other = int(ratios.argmax())
            if ratios[other] > worst:
                worst, where = float(ratios[other]), (x, other, x)
        return worst, where
