"""The channel of a sliding window."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fastdp.channels.base import Channel
from fastdp.channels.metrics import Pairs, Witness


class WindowChannel(Channel):
    """A window of ``span`` bins around the input, drawn with density p, the rest of the line with density q.

    Inputs are ``size`` bins of width 1, values uniform within each. Outputs are bins of the same width and alignment
    that cover half a window more on both sides; the two outermost may be covered in part only. Products in O(size):
    an entry is q, plus a band that depends on the distance of the two bins and is flat but for a few of them.
    """

    def __init__(self, size: int, span: Fraction, p: float, q: float) -> None:
        half = span / 2
        self._size, self._p, self._q = size, p, q
        self.margin = math.ceil(half)
        """Output bins below the first input bin, and above the last."""
        self._flat = math.floor(half) - 1  # up to this distance the window covers the whole output bin; -1 for none
        self._overlaps = np.array([float(_ramp(half - k) - _ramp(-half - k)) for k in range(self.margin + 1)])
        self._lengths = np.ones(size + 2 * self.margin)
        self._lengths[[0, -1]] = float(half - self.margin + 1)

    @property
    def shape(self) -> tuple[int, int]:
        return self._size, self._size + 2 * self.margin

    def row(self, x: int) -> np.ndarray:
        self._check(x)
        row = self._q * self._lengths
        row[x : x + 2 * self.margin + 1] += (self._p - self._q) * self._overlaps[
            np.abs(np.arange(-self.margin, self.margin + 1))
        ]
        return row

    def _sums(self, values: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Sums of the flat part of the band: 2 * flat + 1 values from ``first`` on, those that exist."""
        if self._flat < 0:
            return np.zeros(first.size)
        sums = np.concatenate(([0.0], np.cumsum(values)))
        return sums[np.clip(first + 2 * self._flat + 1, 0, values.size)] - sums[np.clip(first, 0, values.size)]

    def _forward(self, p: np.ndarray) -> np.ndarray:
        band = self._sums(p, np.arange(self.shape[1]) - self.margin - self._flat)
        for k in range(self._flat + 1, self.margin + 1):
            for start in {self.margin - k, self.margin + k}:
                band[start : start + self._size] += self._overlaps[k] * p
        return self._q * p.sum() * self._lengths + (self._p - self._q) * band

    def _backward(self, w: np.ndarray) -> np.ndarray:
        band = self._sums(w, np.arange(self._size) + self.margin - self._flat)
        for k in range(self._flat + 1, self.margin + 1):
            for start in {self.margin - k, self.margin + k}:
                band += self._overlaps[k] * w[start : start + self._size]
        return self._q * (self._lengths @ w) + (self._p - self._q) * band

    def _epsilon(self, pairs: Pairs) -> tuple[float, Witness]:
        """That of the bins: a little below the window's own, since bins mix its inside and outside."""
        if self._size < 2 or isinstance(pairs, np.ndarray) or (pairs is not None and pairs < self._size - 1):
            return super()._epsilon(pairs)
        outputs = np.arange(self.shape[1]) - self.margin
        near = np.clip(outputs, 0, self._size - 1)
        far = np.where(outputs < self._size / 2, self._size - 1, 0)
        overlaps = np.append(self._overlaps, 0.0)
        most, least = (
            self._q * self._lengths + (self._p - self._q) * overlaps[np.minimum(k, self.margin + 1)]
            for k in (np.abs(outputs - near), np.abs(outputs - far))
        )
        ratios = most / least
        y = int(ratios.argmax())
        return float(np.log(ratios[y])), (int(near[y]), int(far[y]), y)


def _ramp(place: Fraction) -> Fraction:
    """The part of a bin below a threshold uniform on a bin ``place`` further up: 0 up to -1, 1 from 1 on."""
    if abs(place) >= 1:
        return Fraction(place > 0)
    return (1 + place) ** 2 / 2 if place < 0 else 1 - (1 - place) ** 2 / 2
