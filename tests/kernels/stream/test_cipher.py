"""The cipher is told by its key."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.stream import aes, chacha, keystream
from tests.generators import needs_aes
from tests.kernels.stream.test_chacha import blocks_of


@keystream.kernel
def _fill_once(key, counters, plane, attempt, out):
    keystream.fill_group(key, counters, plane, attempt, out, 0)


def fill(key: bytes, counters: list[int], plane: int, attempt: int | list[int]) -> np.ndarray:
    """Sixteen blocks with any counters; ``attempt`` may be one for each."""
    out = np.zeros(256, np.uint32)
    attempts = np.uint32(attempt) if isinstance(attempt, int) else np.array(attempt, np.uint32)
    _fill_once(aes.expand_key(key), np.array(counters, np.uint64), np.uint32(plane), attempts, out)
    return blocks_of(out)


@needs_aes
def test_fill_group__tells_ciphers_by_the_length_of_their_keys():
    """The same 256 bits give unrelated blocks."""
    key, counters = bytes(range(32)), np.arange(16, dtype=np.uint64)
    out = np.zeros(256, np.uint32)
    _fill_once(np.frombuffer(key, np.uint32).copy(), counters, np.uint32(1), np.uint32(0), out)
    assert chacha.ROUNDS == 20
    assert not np.any(blocks_of(out) == fill(key, list(range(16)), 1, 0))
