"""Private streams and the integers drawn from them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from fastdp.kernels.jit import kernel
from fastdp.kernels.stream import words
from tests.reference.keystream import Private

KEY = np.arange(40, 48, dtype=np.uint32)


@kernel
def _read(key, slot, work, blocks, out):
    words.open_consecutive(key, slot - np.uint64(3), work, blocks)
    words.select_private(slot, 3, work)
    for i in range(out.size):
        out[i] = words.next_word(key, work, blocks)


@kernel
def _draw(key, count, work, blocks, out):
    words.open_consecutive(key, np.uint64(0), work, blocks)
    words.select_private(np.uint64(0), 0, work)
    for i in range(out.size):
        out[i] = words.draw_below(count, key, work, blocks)


@kernel
def _high(a, b, out):
    for i in range(out.size):
        out[i] = words.multiply_high(a[i], b[i])


@pytest.mark.parametrize("slot", [3, 1000, 2**40 + 17])
def test_next_word__reads_the_slots_own_blocks(slot):
    """Far past one block, the stream is what the plain-Python one gives."""
    scratch = words.make_scratch()
    out = np.zeros(40, np.uint64)
    _read(KEY, np.uint64(slot), scratch.work, scratch.blocks, out)
    private = Private(tuple(int(k) for k in KEY), slot, int(words.PRIVATE))
    assert [int(w) for w in out] == [private.next() for _ in range(40)]


@pytest.mark.parametrize(("count", "parts"), [(1, 1), (2, 2), (3, 3), (10, 10), (1000, 8), (3 * 2**61, 3)])
def test_draw_below__is_uniform(count, parts):
    """Also where a plain remainder would be visibly uneven."""
    scratch = words.make_scratch()
    out = np.zeros(200_000, np.uint64)
    _draw(KEY, np.uint64(count), scratch.work, scratch.blocks, out)
    assert int(out.max()) < count
    seen = np.bincount((out // np.uint64(count // parts)).astype(np.int64), minlength=parts)
    assert parts == 1 or chisquare(seen).pvalue > 1e-3


def test_multiply_high__is_the_upper_half():
    a = np.array([0, 1, 2**64 - 1, 2**63, 12345678901234567890], np.uint64)
    b = np.array([5, 2**64 - 1, 2**64 - 1, 4, 9876543210987654321], np.uint64)
    out = np.zeros(5, np.uint64)
    _high(a, b, out)
    assert [int(v) for v in out] == [int(x) * int(y) >> 64 for x, y in zip(a, b, strict=True)]
