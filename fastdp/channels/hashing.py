"""The channel of local hashing in public cohorts."""

from __future__ import annotations

import math

import numpy as np

from fastdp.channels.base import Channel
from fastdp.channels.metrics import Pairs, Witness
from fastdp.kernels.hashing import fill_hashes


class HashingChannel(Channel):
    """From values to cohort * g + hash: p / C at the hash of each cohort, q / C elsewhere; products in O(C k)."""

    def __init__(self, size: int, polynomials: np.ndarray, g: int, p: float, q: float) -> None:
        self._size, self._polynomials, self._g = size, polynomials, g
        self._p, self._q = p, q
        self._cohorts = polynomials.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        return self._size, self._cohorts * self._g

    def _hashes(self, first: int, count: int, cohorts: slice) -> np.ndarray:
        """Hashes of values first, first + 1, ..., one row per cohort."""
        chosen = np.ascontiguousarray(self._polynomials[:, cohorts])
        hashes = np.empty((chosen.shape[1], count), np.uint16)
        fill_hashes(chosen, first, np.uint64(self._g), hashes)
        return hashes

    def row(self, x: int) -> np.ndarray:
        self._check(x)
        row = np.full((self._cohorts, self._g), self._q / self._cohorts)
        row[np.arange(self._cohorts), self._hashes(x, 1, slice(None))[:, 0]] = self._p / self._cohorts
        return row.reshape(-1)

    def _forward(self, p: np.ndarray) -> np.ndarray:
        out = np.empty((self._cohorts, self._g))
        for cohort in range(self._cohorts):
            hashes = self._hashes(0, self._size, slice(cohort, cohort + 1))[0]
            out[cohort] = np.bincount(hashes, p, self._g)
        return ((self._p - self._q) * out.reshape(-1) + self._q * p.sum()) / self._cohorts

    def _backward(self, w: np.ndarray) -> np.ndarray:
        w = w.reshape(self._cohorts, self._g)
        out = np.zeros(self._size)
        for cohort in range(self._cohorts):
            out += w[cohort, self._hashes(0, self._size, slice(cohort, cohort + 1))[0]]
        return ((self._p - self._q) * out + self._q * w.sum()) / self._cohorts

    def _epsilon(self, pairs: Pairs) -> tuple[float, Witness]:
        """The log-ratio of any two values that some cohort tells apart."""
        if pairs is not None or self._size < 2:
            return super()._epsilon(pairs)
        log_ratio = math.log(self._p / self._q) if self._q > 0 else math.inf
        for cohort in range(self._cohorts):
            hashes = self._hashes(0, self._size, slice(cohort, cohort + 1))[0]
            if (hashes != hashes[0]).any():
                other = int((hashes != hashes[0]).argmax())
                return log_ratio, (0, other, cohort * self._g + int(hashes[0]))
        return 0.0, (0, 1, 0)
