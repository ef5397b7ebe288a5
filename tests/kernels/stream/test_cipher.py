"""The length of the key selects the cipher."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.stream import chacha
from tests.generators import needs_aes
from tests.kernels.stream.test_aes import fill, fill_once
from tests.kernels.stream.test_chacha import blocks_of


@needs_aes
def test_fill_group__tells_ciphers_by_the_length_of_their_keys():
    """The same 256 bits give unrelated blocks."""
    key, counters = bytes(range(32)), np.arange(16, dtype=np.uint64)
    out = np.zeros(256, np.uint32)
    fill_once(np.frombuffer(key, np.uint32).copy(), counters, np.uint32(1), np.uint32(0), out)
    assert chacha.ROUNDS == 20
    assert not np.any(blocks_of(out) == fill(key, list(range(16)), 1, 0))
