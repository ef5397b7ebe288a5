"""Uniform codes, exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fastdp.engine.runner import working_memory
from fastdp.kernels.local.krr import fill_krr_large
from fastdp.random.rng import Rng
from fastdp.threads import for_each_block

MOST_KEPT = 8 << 20
"""Bytes of codes that are kept for more than one reading."""


@dataclass(frozen=True, slots=True)
class UniformCodes:
    """Independent uniform codes below k, drawn when they are read, the same each time.

    They are k-ary randomized response that keeps nothing.
    """

    key: np.ndarray
    slot: np.uint64
    k: int

    @classmethod
    def draw(cls, rng: Rng, count: int, k: int) -> UniformCodes:
        """``count`` codes, from slots that nobody else gets."""
        return cls(*rng.reserve(count), k)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Codes start:stop."""
        codes, nothing = np.zeros(stop - start, np.int64), np.uint64(0)
        with working_memory() as memory:
            first = self.slot + np.uint64(start)
            fill_krr_large(self.key, first, nothing, nothing, np.uint64(self.k), codes, memory.scratch, codes)
        return codes


@dataclass(frozen=True, slots=True)
class KeptCodes:
    """Uniform codes that were drawn once."""

    codes: np.ndarray

    def read(self, start: int, stop: int) -> np.ndarray:
        """Codes start:stop."""
        return self.codes[start:stop]


def keep_codes(source: UniformCodes, count: int) -> UniformCodes | KeptCodes:
    """Codes that are read again and again: kept if a byte holds each and all take little memory, else drawn anew."""
    if source.k > 256 or count > MOST_KEPT:
        return source
    codes = np.empty(count, np.uint8)

    def work(start: int, stop: int) -> None:
        codes[start:stop] = source.read(start, stop)

    for_each_block(count, work)
    return KeptCodes(codes)


def uniform_codes(rng: Rng, count: int, k: int) -> np.ndarray:
    """``count`` independent uniform codes below k."""
    source, codes = UniformCodes.draw(rng, count, k), np.empty(count, np.int64)

    def work(start: int, stop: int) -> None:
        codes[start:stop] = source.read(start, stop)

    for_each_block(count, work)
    return codes
