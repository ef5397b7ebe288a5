"""The slot discipline: every lane is decided from the private stream of its own slot, and no two share a word."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.jit import kernel
from fastdp.kernels.stream.lanes import FULL, enqueue, private_draws, private_lanes
from fastdp.kernels.stream.words import PRIVATE, make_scratch, next_word
from tests.reference.keystream import Private

KEY = np.arange(40, 48, dtype=np.uint32)
DRAWS = 11
"""Words that each record reads: more than a block holds, so that streams go on while others wait."""


@private_draws
def _last_word(i, key, work, blocks, reads):
    word = np.uint64(0)
    for _ in range(reads[i]):
        word = next_word(key, work, blocks)
    return word


@kernel
def _fill(key, start, reads, scratch, out):
    _last_word(key, start, scratch, out, reads)


@private_lanes
def _write_last(lane, key, work, blocks, out):
    word = np.uint64(0)
    for _ in range(lane[1]):
        word = next_word(key, work, blocks)
    out[lane[0]] = word


@kernel
def _fill_flagged(key, start, flags, reads, scratch, out):
    waiting = 0
    for i in range(flags.size):
        if flags[i]:
            enqueue(waiting, start + np.uint64(i), i, scratch, reads[i])
            waiting = _write_last(waiting + 1, FULL, key, scratch, out)
    _write_last(waiting, 1, key, scratch, out)


def _expected(slot: int, reads: int) -> int:
    stream = Private(tuple(int(k) for k in KEY), slot, int(PRIVATE))
    return [stream.next() for _ in range(reads)][-1]


@pytest.mark.parametrize(("start", "size"), [(0, 1), (5, 16), (2**40 + 3, 37)])
def test_private_draws__read_each_records_own_stream(start, size):
    reads, out = 1 + np.arange(size) % DRAWS, np.zeros(size, np.uint64)
    _fill(KEY, np.uint64(start), reads, make_scratch(), out)
    assert [int(word) for word in out] == [_expected(start + i, int(reads[i])) for i in range(size)]


@pytest.mark.parametrize("flagged", [0, 1, 15, 16, 17, 40])
def test_private_lanes__decide_all_that_wait_and_no_other(flagged):
    """Whether they fill a group of sixteen or not, and whatever lies between them."""
    size, start = 100, 2**33 + 7
    flags = np.zeros(size, np.bool_)
    flags[np.random.default_rng(3).choice(size, flagged, replace=False)] = True
    reads, out = 1 + np.arange(size) % DRAWS, np.zeros(size, np.uint64)
    _fill_flagged(KEY, np.uint64(start), flags, reads, make_scratch(), out)
    for i in range(size):
        assert int(out[i]) == (_expected(start + i, int(reads[i])) if flags[i] else 0)
