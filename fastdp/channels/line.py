"""Channels on a line of integers."""

from __future__ import annotations

import math

import numpy as np

from fastdp.channels.base import Channel


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

    def epsilon(self, distance: int | None = None) -> float:
        """The rate times the distance: exact also where far entries of the matrix underflow."""
        return self._rate * min(distance or self._size, self._size - 1)
