"""The private stream of one slot, in blocks: the words that kernels read one at a time."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from fastdp.kernels.jit import kernel
from fastdp.kernels.stream.private import fill_private
from fastdp.kernels.stream.words import make_scratch, next_word, open_consecutive, select_private


@kernel
def read(key, slot, work, blocks, out):
    open_consecutive(key, slot, work, blocks)
    select_private(slot, 0, work)
    for i in range(out.size):
        out[i] = next_word(key, work, blocks)


@pytest.mark.parametrize("slot", [0, 1, 2**40 + 3])
def test_private_stream__is_the_one_of_kernels(slot):
    """The first 128 words, block after block; a stream of the next slot is another."""
    key, scratch, words = fd.Rng.unsafe_seed(9).reserve(1).key, make_scratch(), np.empty(128, np.uint64)
    read(key, np.uint64(slot), scratch.work, scratch.blocks, words)
    out = np.empty(256, np.uint32)
    for at, same in ((slot, True), (slot + 1, False)):
        fill_private(key, np.uint64(at), 0, np.empty(16, np.uint64), np.empty(16, np.uint32), out)
        assert np.array_equal(np.ascontiguousarray(out.reshape(16, 16).T).view(np.uint64).ravel(), words) is same
