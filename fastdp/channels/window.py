"""The channel of a sliding window."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from fastdp.channels.base import Channel, DenseChannel
from fastdp.channels.metrics import Pairs, Witness
from fastdp.channels.observed import Observed

LARGEST_WRITTEN, LARGEST_MANY = 1 << 18, 1 << 16
"""Entries of a channel up to which the product of one vector with the matrix, or of forty rows, is faster than sums of
windows: 4 us against 52 at 8 bins, 30 against 62 at 300; of forty rows 254 against 274 at 200."""


class WindowChannel(Channel):
    """A window of ``span`` bins around the input, drawn with density p, the rest of the line with density q.

    Inputs are ``size`` bins of width 1, values uniform within each. Outputs are bins of the same width and alignment
    that cover half a window more on both sides; the two outermost may be covered in part only. Products in O(size):
    an entry is q, plus a band that depends on the distance of the two bins and is flat but for a few of them. Small
    channels are written out.
    """

    def __init__(self, size: int, span: Fraction, p: float, q: float) -> None:
        half = span / 2
        self._size, self._p, self._q, self._half = size, p, q, float(half)
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

    def dense(self) -> np.ndarray:
        return self._write_out() if self._written is None else self._written.dense()

    def _write_out(self) -> np.ndarray:
        beside = np.zeros(self._size - 1)
        band = np.concatenate((beside, self._overlaps[:0:-1], self._overlaps, beside))
        shifted = sliding_window_view((self._p - self._q) * band, self.shape[1])[::-1]
        rows: np.ndarray = self._q * self._lengths + shifted
        return rows

    @property
    def kinks(self) -> np.ndarray:
        """The places of values between which the chances of every output change linearly, with both ends."""
        rest, bins = self._half % 1, np.arange(self._size)
        return np.unique(np.concatenate(([0.0, self._size], bins + rest, bins + 1 - rest)))

    def at(self, places: np.ndarray) -> np.ndarray:
        """The distribution of the output for values at exact places from 0 to the number of bins, a row for each."""
        starts, middle = np.arange(self.shape[1]) - self.margin, places[:, None]
        inside = np.minimum(starts + 1, middle + self._half) - np.maximum(starts, middle - self._half)
        rows: np.ndarray = self._q * self._lengths + (self._p - self._q) * np.maximum(inside, 0.0)
        return rows

    @functools.cached_property
    def _written(self) -> DenseChannel | None:
        """The whole matrix, where a product of one vector with it is faster."""
        return DenseChannel(self._write_out()) if math.prod(self.shape) <= LARGEST_WRITTEN else None

    @property
    def _written_many(self) -> DenseChannel | None:
        """The whole matrix, where products of many vectors with it are faster."""
        return self._written if math.prod(self.shape) <= LARGEST_MANY else None

    def prepare(self, counts: ArrayLike) -> Observed:
        written = self._written if np.ndim(counts) == 1 else self._written_many
        return super().prepare(counts) if written is None else written.prepare(counts)

    def _sums(self, values: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Sums of the flat part of the band: 2 * flat + 1 values from ``first`` on, those that exist."""
        if self._flat < 0:
            return np.zeros((*values.shape[:-1], first.size))
        size = values.shape[-1]
        sums = np.zeros((*values.shape[:-1], size + 1))
        np.cumsum(values, axis=-1, out=sums[..., 1:])
        return sums[..., np.clip(first + 2 * self._flat + 1, 0, size)] - sums[..., np.clip(first, 0, size)]

    def _forward(self, p: np.ndarray) -> np.ndarray:
        return self._forward_windows(p) if self._written is None else self._written.forward(p)

    def _backward(self, w: np.ndarray) -> np.ndarray:
        return self._backward_windows(w) if self._written is None else self._written.backward(w)

    def _forward_all(self, rows: np.ndarray) -> np.ndarray:
        return self._forward_windows(rows) if self._written_many is None else self._written_many.forward(rows)

    def _backward_all(self, rows: np.ndarray) -> np.ndarray:
        return self._backward_windows(rows) if self._written_many is None else self._written_many.backward(rows)

    def _forward_windows(self, p: np.ndarray) -> np.ndarray:
        band = self._sums(p, np.arange(self.shape[1]) - self.margin - self._flat)
        for k in range(self._flat + 1, self.margin + 1):
            for start in {self.margin - k, self.margin + k}:
                band[..., start : start + self._size] += self._overlaps[k] * p
        outputs: np.ndarray = self._q * p.sum(axis=-1, keepdims=True) * self._lengths + (self._p - self._q) * band
        return outputs

    def _backward_windows(self, w: np.ndarray) -> np.ndarray:
        band = self._sums(w, np.arange(self._size) + self.margin - self._flat)
        for k in range(self._flat + 1, self.margin + 1):
            for start in {self.margin - k, self.margin + k}:
                band += self._overlaps[k] * w[..., start : start + self._size]
        return self._q * (w @ self._lengths)[..., None] + (self._p - self._q) * band

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
