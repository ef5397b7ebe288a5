"""Integers from the private stream of a slot."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

import fastdp as fd
from fastdp.kernels.stream.private import fill_private
from fastdp.random.integers import Integers
from fastdp.random.rng import Slots


def blocks_one_by_one(slots: Slots, count: int) -> bytes:
    """The first blocks of a private stream, each read on its own."""
    found = []
    for block in range(count):
        out = np.empty(256, np.uint32)
        fill_private(slots.key, slots.start, block, np.empty(16, np.uint64), np.empty(16, np.uint32), out)
        found.append(out.reshape(16, 16)[:, 0].tobytes())
    return b"".join(found)


def test_bits__are_the_blocks_in_order():
    slots = fd.Rng.unsafe_seed(8).reserve(1)
    integers = Integers(slots)
    stream = int.from_bytes(blocks_one_by_one(slots, 20), "little")
    position = 0
    for count in (1, 64, 3, 320, 0, 4000, 5000):
        assert integers.bits(count) == (stream >> position) & ((1 << count) - 1)
        position += count


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 1000])
def test_below__is_uniform(bound):
    integers = Integers(fd.Rng.unsafe_seed(bound).reserve(1))
    seen = np.bincount([integers.below(bound) for _ in range(20_000)], minlength=bound)
    assert seen.size == bound
    if bound > 1:
        assert chisquare(seen).pvalue > 1e-3


def test_slots__have_streams_of_their_own():
    rng = fd.Rng.unsafe_seed(1)
    one, other = Integers(rng.reserve(1)), Integers(rng.reserve(1))
    assert one.bits(256) != other.bits(256)
