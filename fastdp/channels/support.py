"""The likelihood of reports that are sets of values: unary encodings, subset selection, local hashing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastdp import validation
from fastdp.channels.base import Channel
from fastdp.channels.metrics import Pairs, Witness
from fastdp.channels.observed import Observed
from fastdp.errors import InputCorruptError, ParameterError
from fastdp.kernels.products.support import BLOCK, STRIDE, apply_backward, apply_forward, fill_hashed_sets, step_support


class SupportChannel(Channel):
    """From values to the reports that were received: e**epsilon for values in a report's set, 1 for others.

    These are the probabilities of each report in a unit of its own, which cancels from estimates, so that rows do not
    sum to 1, and the log-likelihood lacks a constant. Reports stand for themselves; the counts say how often each came.
    ``sets`` has a row of packed bits per report, value v at bit v % 8 of byte v // 8, as the mechanisms write them.
    Products take a table lookup per eight values and report. How many reports hold each value is not enough for a
    maximum likelihood; the reports are.

    Parameters
    ----------
    sets
        The set of each report, as rows of packed bits.
    size
        The number of values.
    epsilon
        The log of the ratio between values in a set and others.

    >>> channel = SupportChannel(np.array([[0b011], [0b100]], np.uint8), 3, math.log(3))
    >>> channel.dense().round(6).tolist()
    [[3.0, 1.0], [3.0, 1.0], [1.0, 3.0]]
    """

    def __init__(self, sets: ArrayLike, size: int, epsilon: float) -> None:
        self._size = validation.positive_integer("SupportChannel", "size", size)
        self._log_ratio = validation.positive("SupportChannel", "epsilon", epsilon)
        self._excess = math.expm1(self._log_ratio)
        sets = np.asarray(sets)
        if sets.dtype != np.uint8 or sets.ndim != 2 or sets.shape[1] != (size + 7) // 8 or not len(sets):
            raise ParameterError(
                f"SupportChannel: sets must be uint8 with {(size + 7) // 8} bytes per report, and at least one report"
            )
        if size % 8 and (sets[:, -1] >> (size % 8)).any():
            raise InputCorruptError("SupportChannel: reports have bits set beyond the domain")
        self._sets = np.zeros((sets.shape[1] + -sets.shape[1] % STRIDE, len(sets)), np.uint8)
        self._sets[: sets.shape[1]] = sets.T

    @classmethod
    def from_hashes(cls, seeds: ArrayLike, hashes: ArrayLike, g: int, size: int, epsilon: float) -> SupportChannel:
        """From reports of local hashing with a seed each: the set of values that the seed hashes to the report.

        Parameters
        ----------
        seeds
            The seed of each report.
        hashes
            The hash of each report.
        g
            The number of hash values.
        size
            The number of values.
        epsilon
            The privacy of one report.
        """
        seeds = np.ascontiguousarray(seeds, np.uint64)
        hashes = np.asarray(hashes)
        if seeds.ndim != 1 or seeds.shape != hashes.shape:
            raise ParameterError("SupportChannel: there must be one seed and one hash per report")
        if hashes.size and not (hashes.min() >= 0 and hashes.max() < g):
            raise InputCorruptError(f"SupportChannel: hashes must be from 0 to {g - 1}")
        sets = np.zeros(((size + 7) // 8, seeds.size), np.uint8)
        fill_hashed_sets(seeds, hashes.astype(np.uint16), np.uint32(g), size, sets)
        return cls(sets.T, size, epsilon)

    @property
    def shape(self) -> tuple[int, int]:
        return self._size, self._sets.shape[1]

    def row(self, x: int) -> np.ndarray:
        self._check(x)
        likelihoods: np.ndarray = 1 + self._excess * ((self._sets[x // 8] >> (x % 8)) & 1)
        return likelihoods

    def _select(self, inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        bits = (self._sets[inputs // 8][:, outputs] >> (inputs % 8).astype(np.uint8)[:, None]) & 1
        likelihoods: np.ndarray = 1 + self._excess * bits
        return likelihoods

    def _tables(self) -> np.ndarray:
        return np.empty((len(self._sets), 256))

    def _forward(self, p: np.ndarray) -> np.ndarray:
        out = np.empty(self.shape[1])
        apply_forward(self._sets, p, self._excess, self._tables(), out)
        return out

    def _backward(self, w: np.ndarray) -> np.ndarray:
        out = np.empty(self._size)
        apply_backward(self._sets, w, self._excess, self._tables(), out)
        return out

    def _epsilon(self, pairs: Pairs) -> tuple[float, Witness]:
        """That of the mechanism if some report holds one value and not another."""
        if pairs is not None or self._size < 2:
            return super()._epsilon(pairs)
        for x in range(self._size - 1):
            differs = self.row(x) != self.row(x + 1)
            if differs.any():
                y = int(differs.argmax())
                return self._log_ratio, (x, x + 1, y) if self.row(x)[y] > 1 else (x + 1, x, y)
        return 0.0, (0, 1, 0)

    def prepare(self, counts: ArrayLike) -> Observed:
        if np.ndim(counts) > 1:
            return super().prepare(counts)
        return _ObservedSupport(self, counts, self._sets, self._excess)


class _ObservedSupport(Observed):
    """Reports without counts are left out, the others are read once."""

    def __init__(self, channel: SupportChannel, counts: Any, sets: np.ndarray, excess: float) -> None:
        super().__init__(channel, counts)
        listed = np.flatnonzero(self.counts)
        self._sets = sets if listed.size == self.counts.size else np.ascontiguousarray(sets[:, listed])
        self._weighed, self._excess = self.counts[listed], excess

    def gradient(self, p: Any) -> tuple[np.ndarray, float]:
        p = self._vector(p)
        out, (sums, places) = np.empty(self._size), np.empty((2, len(self._sets), 256))
        return out, step_support(self._sets, self._weighed, p, self._excess, sums, places, np.empty(BLOCK), out)
