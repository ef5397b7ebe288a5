"""Channels on a line: noise that decays by the same factor with every step, sums clamped to the ends."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastdp.channels.base import Channel
from fastdp.channels.metrics import Pairs, Witness
from fastdp.channels.observed import Observed
from fastdp.kernels.products.line import apply_powers, apply_powers_many, step_line


class _LineChannel(Channel):
    """scales[y] a**|x-y|, and scales[y] keep[y] on the diagonal; a = e**-rate. Products in O(n) by two recursions."""

    def __init__(self, size: int, rate: float, scales: np.ndarray, keep: np.ndarray) -> None:
        self._size, self.rate = size, rate
        self._scales, self._keep = scales, keep

    @property
    def shape(self) -> tuple[int, int]:
        return self._size, self._size

    def row(self, x: int) -> np.ndarray:
        self._check(x)
        row: np.ndarray = self._select(np.array([x]), np.arange(self._size))[0]
        return row

    def dense(self) -> np.ndarray:
        return self._select(np.arange(self._size), np.arange(self._size))

    def _select(self, inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        steps = np.abs(inputs[:, None] - outputs)
        part = np.exp(-self.rate * steps) * self._scales[outputs]
        entries: np.ndarray = np.where(steps == 0, (self._scales * self._keep)[outputs], part)
        return entries

    def _forward(self, p: np.ndarray) -> np.ndarray:
        out = np.empty(self._size)
        apply_powers(math.exp(-self.rate), p, self._keep, out)
        outputs: np.ndarray = out * self._scales
        return outputs

    def _backward(self, w: np.ndarray) -> np.ndarray:
        out = np.empty(self._size)
        apply_powers(math.exp(-self.rate), w * self._scales, self._keep, out)
        return out

    def _forward_all(self, rows: np.ndarray) -> np.ndarray:
        outputs: np.ndarray = self._apply_all(rows) * self._scales
        return outputs

    def _backward_all(self, rows: np.ndarray) -> np.ndarray:
        return self._apply_all(rows * self._scales)

    def _apply_all(self, rows: np.ndarray) -> np.ndarray:
        out = np.empty((self._size, len(rows)))
        columns = np.ascontiguousarray(rows.T)
        apply_powers_many(math.exp(-self.rate), columns, self._keep, np.empty(len(rows)), out)
        return np.ascontiguousarray(out.T)

    def prepare(self, counts: Any) -> Observed:
        return _ObservedLine(self, counts, self._scales, self._keep) if np.ndim(counts) < 2 else super().prepare(counts)

    def _spread(self, x: np.ndarray, other: np.ndarray) -> np.ndarray:
        """The largest log-ratio of ``x`` over ``other``: the rate times their distance, by an output beyond x.

        Exact also where far entries underflow. Beyond an end there is none; its own output does, by the diagonal.
        """
        end = np.where(other > x, x == 0, x == self._size - 1)
        losses: np.ndarray = self.rate * np.abs(x - other) + np.where(end, math.log(self._keep[0]), 0.0)
        return losses

    def _output(self, x: int, other: int) -> int:
        """An output that attains the spread: the end on the side of the first."""
        return 0 if x < other else self._size - 1

    def _epsilon(self, pairs: Pairs) -> tuple[float, Witness]:
        if self._size < 2:
            return 0.0, None
        places = np.arange(self._size)
        if not isinstance(pairs, np.ndarray):
            gap = min(pairs or self._size, self._size - 1)
            first = int(gap < self._size - 1)  # neither an end, if that can be
            return float(self._spread(places[first], places[first + gap])), (first, first + gap, 0)
        worst, where = -1.0, (0, 1, 0)
        for x in range(self._size):
            spread = self._spread(places[x], places)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = np.where(places == x, -1.0, spread / pairs[x])
            other = int(ratios.argmax())
            if ratios[other] > worst:
                worst, where = float(ratios[other]), (x, other, self._output(x, other))
        return worst, where


class GeometricChannel(_LineChannel):
    """The truncated geometric on n integers: noise of ratio a = e**-rate, sums clamped to the ends.

    Row x has a**|x-y| / (1 + a) in the two end columns and (1 - a) / (1 + a) * a**|x-y| between them.

    Parameters
    ----------
    size
        The number of values.
    rate
        The inverse scale of the noise, which is epsilon for values 1 apart.
    """

    def __init__(self, size: int, rate: float) -> None:
        a = math.exp(-rate)
        scales = np.full(size, -math.expm1(-rate) / (1 + a))
        scales[[0, -1]] = 1 / (1 + a) if size > 1 else 1.0
        super().__init__(size, rate, scales, np.ones(size))


class LaplaceChannel(_LineChannel):
    """Laplace noise of scale 1 / rate on the middles of n intervals of width 1, sums clamped to the ends.

    An output is the interval that the sum falls in. With a = e**-rate, column y is sinh(rate / 2) a**|x-y|, at the two
    ends e**(rate / 2) / 2 * a**|x-y|; the diagonal is 1 - e**(-rate / 2), at the ends 1 - e**(-rate / 2) / 2.

    Parameters
    ----------
    size, rate
        As in `GeometricChannel`.
    """

    def __init__(self, size: int, rate: float) -> None:
        root = math.exp(-rate / 2)
        scales = np.full(size, -math.expm1(-rate) / (2 * root))
        keep = np.full(size, 2 * root / (1 + root))
        scales[[0, -1]] = 1 / (2 * root)
        keep[[0, -1]] = root * (2 - root)
        if size == 1:
            scales, keep = np.ones(1), np.ones(1)
        super().__init__(size, rate, scales, keep)


class _ObservedLine(Observed):
    """Each column's scale cancels from the derivative, and adds a constant to the log-likelihood."""

    def __init__(self, channel: _LineChannel, counts: Any, scales: np.ndarray, keep: np.ndarray) -> None:
        super().__init__(channel, counts)
        self._a, self._keep = math.exp(-channel.rate), keep
        self._weighed = self.counts.copy()  # kernels take writable arrays a microsecond sooner
        self._offset = float(self.counts @ np.log(scales))

    def gradient(self, p: Any) -> tuple[np.ndarray, float]:
        p = self._vector(p)
        out, d = np.empty(self._size), np.empty(self._size)
        return out, step_line(self._a, self._keep, self._weighed, p, d, out) + self._offset
