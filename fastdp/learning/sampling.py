"""Poisson samples: every record by itself, by exact coins from slots."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fastdp import validation
from fastdp.engine.runner import working_memory
from fastdp.errors import ParameterError
from fastdp.kernels.local.randomized_response import flip_bytes
from fastdp.laws.coins import BITS, halves
from fastdp.random.rng import Rng, resolve
from fastdp.threads import for_each_block


def poisson_sample(count: int, rate: float, *, rng: Rng | None = None) -> np.ndarray:
    """Indices of a Poisson sample of ``count`` records: each is in it with probability ``rate``, independently.

    The probability is the largest multiple of 2**-128 that is not above ``rate``, exactly; `fd.sampled` states what a
    release on such a sample costs. The sample must stay secret, and so must its size.

    Parameters
    ----------
    count
        The number of records.
    rate
        The sampling rate, above 0 and at most 1.
    rng
        The stream of randomness; None is the process's own.

    >>> import fastdp as fd
    >>> poisson_sample(10, 0.3, rng=fd.Rng.unsafe_seed(1)).tolist()
    [8]
    """
    owner = "poisson_sample"
    count = validation.positive_integer(owner, "count", count)
    rate = validation.as_float(rate)
    if not 0 < rate <= 1:
        raise ParameterError(f"{owner}: rate must be a number with 0 < rate <= 1, got {rate!r}")
    threshold = int(Fraction(rate) * (1 << BITS))
    if threshold == 1 << BITS:
        return np.arange(count)
    if not threshold:
        raise ParameterError(f"{owner}: rate must be at least 2**-128, the resolution of the coins, got {rate!r}")
    high, low = halves(threshold)
    key, start = resolve(owner, rng).reserve(count)
    coins, nothing = np.empty(count, np.uint8), np.zeros(count, np.uint8)

    def work(first: int, stop: int) -> None:
        with working_memory() as memory:
            flip_bytes(key, start + np.uint64(first), high, low, nothing[first:stop], memory.bits, coins[first:stop])

    for_each_block(count, work)
    return np.flatnonzero(coins)
