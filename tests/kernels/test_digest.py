"""NH sums and first appearances against plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.digest import BLOCK_WORDS, KEY_WORDS, SHIFT_WORDS, SHIFTS, fill_nh, fill_ranks

HALF = BLOCK_WORDS // 2


def plain_nh(words: list[int], key: list[int]) -> list[int]:
    """The definition, in integers of any size."""
    sums = []
    for b in range(len(words) // BLOCK_WORDS):
        block = words[b * BLOCK_WORDS : (b + 1) * BLOCK_WORDS]
        for t in range(SHIFTS):
            shifted = key[SHIFT_WORDS * t :]
            pairs = [(word + shifted[i]) % 2**32 for i, word in enumerate(block)]
            sums.append(sum(pairs[i] * pairs[i + HALF] for i in range(HALF)) % 2**64)
    return sums


@pytest.mark.parametrize("blocks", [0, 1, 3])
def test_fill_nh__is_the_definition(blocks):
    source = np.random.default_rng(blocks)
    words = source.integers(0, 2**32, blocks * BLOCK_WORDS, np.uint32)
    key = source.integers(0, 2**32, KEY_WORDS, np.uint32)
    out = np.zeros(blocks * SHIFTS, np.uint64)
    fill_nh(words, key, out)
    assert out.tolist() == plain_nh(words.tolist(), key.tolist())


def test_fill_nh__tells_any_changed_word():
    """Each word of a block counts in each of its sums."""
    source = np.random.default_rng(7)
    words = source.integers(0, 2**32, BLOCK_WORDS, np.uint32)
    key = source.integers(0, 2**32, KEY_WORDS, np.uint32)
    before, after = np.zeros(SHIFTS, np.uint64), np.zeros(SHIFTS, np.uint64)
    fill_nh(words, key, before)
    for place in range(BLOCK_WORDS):
        changed = words.copy()
        changed[place] ^= 1
        fill_nh(changed, key, after)
        assert (after != before).all()


def test_fill_ranks__numbers_codes_by_first_appearance():
    codes = np.array([4, 2, -1, 4, 0, 2, -1], np.int32)
    ranks, order, out = np.full(5, -1, np.int32), np.zeros(5, np.int32), np.zeros(codes.size, np.int32)
    assert fill_ranks(codes, ranks, order, out) == 3
    assert out.tolist() == [0, 1, -1, 0, 2, 1, -1]
    assert order[:3].tolist() == [4, 2, 0]
