"""Uniform codes, exactly."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.krr import fill_krr_large
from fastdp.noise.runner import working_memory
from fastdp.parallel import for_each_block
from fastdp.random.rng import Rng


def uniform_codes(rng: Rng, count: int, k: int) -> np.ndarray:
    """Independent uniform codes below k: k-ary randomized response that keeps nothing."""
    key, slot = rng.reserve(count)
    codes = np.zeros(count, np.int64)
    nothing = np.uint64(0)

    def work(start: int, stop: int) -> None:
        part = codes[start:stop]
        with working_memory() as memory:
            fill_krr_large(key, slot + np.uint64(start), nothing, nothing, np.uint64(k), part, memory.scratch, part)

    for_each_block(count, work)
    return codes
