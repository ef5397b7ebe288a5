"""The channel of local hashing in public cohorts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from fastdp.channels.base import Channel
from fastdp.channels.metrics import Pairs, Witness
from fastdp.kernels.local.hashing import fill_hashes
from fastdp.kernels.products.cohorts import STRIDE, add_by_hash, add_of_hash, cohorts_joined

LARGEST_TABLE = 1 << 26
"""Joint hashes that are kept between products: 128 MiB. Beyond, they are calculated anew, a block at a time."""


class HashingChannel(Channel):
    """From values to cohort * g + hash: p / C at the hash of each cohort, q / C elsewhere.

    Products take O(C k), and for small g a few times less, as several cohorts are done in one step.
    """

    def __init__(self, size: int, polynomials: np.ndarray, g: int, p: float, q: float) -> None:
        self._size, self._polynomials, self._g = size, polynomials, g
        self._p, self._q = p, q
        self._cohorts, self._joined = polynomials.shape[1], cohorts_joined(g)
        self._table: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self._size, self._cohorts * self._g

    @property
    def cohorts(self) -> int:
        """How many public hash functions there are."""
        return int(self._cohorts)

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

    def _joint(self, cohorts: range) -> np.ndarray:
        """Joint hashes of all values, one row for each few cohorts: their hashes are its digits, the first the last."""
        joint = np.empty((-(-len(cohorts) // self._joined), self._size), np.uint16)
        for i, first in enumerate(cohorts[:: self._joined]):
            hashes = self._hashes(0, self._size, slice(first, min(first + self._joined, cohorts.stop)))
            joint[i] = self._g ** np.arange(len(hashes)) @ hashes
        return joint

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """The joint hashes of all values, for as many cohorts at a time as memory allows."""
        step = max(1, LARGEST_TABLE // self._size) * self._joined
        if self._table is None and self._cohorts <= step:
            self._table = self._joint(range(self._cohorts))
        if self._table is not None:
            yield slice(None), self._table
            return
        for first in range(0, self._cohorts, step):
            cohorts = range(first, min(first + step, self._cohorts))
            yield slice(first, cohorts.stop), self._joint(cohorts)

    def _scratch(self) -> np.ndarray:
        return np.empty((STRIDE, self._g**self._joined))

    def _forward(self, p: np.ndarray) -> np.ndarray:
        out = np.zeros((self._cohorts, self._g))
        for cohorts, joint in self._blocks():
            add_by_hash(joint, self._joined, p, self._scratch(), out[cohorts])
        outputs: np.ndarray = ((self._p - self._q) * out.reshape(-1) + self._q * p.sum()) / self._cohorts
        return outputs

    def _backward(self, w: np.ndarray) -> np.ndarray:
        out = np.zeros(self._size)
        for cohorts, joint in self._blocks():
            add_of_hash(joint, self._joined, w.reshape(self._cohorts, self._g)[cohorts], self._scratch(), out)
        expected: np.ndarray = ((self._p - self._q) * out + self._q * w.sum()) / self._cohorts
        return expected

    def _select(self, inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        cohorts, hashes = np.divmod(outputs, self._g)
        part = np.empty((inputs.size, outputs.size))
        for i, x in enumerate(inputs):
            same = self._hashes(int(x), 1, slice(None))[cohorts, 0] == hashes
            part[i] = np.where(same, self._p, self._q) / self._cohorts
        return part

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
