"""Acceptances: one word per slot decides, whatever the batches."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from fastdp.kernels.selection.acceptances import count_accepted, find_accepted, read_word
from fastdp.kernels.stream.words import make_scratch

SURE = np.array([1 << 32, 3 << 30, 1 << 30, 0], np.uint64)
POSSIBLE = np.array([1 << 32, 3 << 30, 1 << 31, 0], np.uint64)
NONE = np.empty(0, np.int64)


@pytest.mark.parametrize("start", [0, 5, 1020])
def test_acceptances__are_those_of_each_slot(start):
    """Counts, open candidates and ranks follow from the words of the slots, one at a time."""
    key = fd.Rng.unsafe_seed(3).reserve(1).key
    scores, scratch = np.arange(3000) % 4, make_scratch()
    slot, undecided = np.uint64(start), np.empty(3000, np.int64)
    accepted, count = count_accepted(key, slot, scores, 1.0, np.int64(3), 0, SURE, POSSIBLE, scratch, undecided)

    words = np.array([read_word(key, np.uint64(start + i), scratch) for i in range(3000)], np.uint64)
    sure = words < SURE[3 - scores]
    is_open = ~sure & (words <= POSSIBLE[3 - scores])
    assert accepted == sure.sum()
    np.testing.assert_array_equal(undecided[:count], np.flatnonzero(is_open))

    settled = np.flatnonzero(is_open)[::2]
    all_accepted = np.union1d(np.flatnonzero(sure), settled)
    for rank in (0, 1, 700, all_accepted.size - 1):
        arguments = (key, slot, scores, 1.0, np.int64(3), 0, SURE, settled, scratch, rank)
        assert find_accepted(*arguments) == all_accepted[rank]
    assert find_accepted(key, slot, scores, 1.0, np.int64(3), 0, SURE, NONE, scratch, sure.sum()) == -1
