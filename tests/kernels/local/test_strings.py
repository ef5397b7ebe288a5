"""Hashes of prefixes and their counting, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.local.strings import (
    BAD_VALUE,
    count_candidates,
    fill_folds,
    fill_levels,
    fill_string_hashes,
    pack_texts,
)

MASK = (1 << 64) - 1
LEVEL, SLOPE, OFFSET = 0x632BE59BD9B4E019, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB
TEXTS = ["", "a", "ab", "abcdefgh", "abcdefghi", "æøå", "a longer string than two words"]


def mix(word):
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & MASK
    return word ^ (word >> 31)


def fold(words, bits):
    found = bits
    for w, word in enumerate(words):
        left = bits - 64 * w
        if left <= 0:
            break
        cut = word >> max(0, 64 - left) << max(0, 64 - left)
        found = (mix(found ^ cut) + w + 1) & MASK
    return mix(found) >> 16


def number(seed, folded):
    return (mix(seed ^ SLOPE) * folded + mix(seed ^ OFFSET)) & MASK


def level(seed, ends):
    word = mix(seed ^ LEVEL) >> 32
    return next((place for place, end in enumerate(ends) if word < end), len(ends) - 1)


def pack(width):
    data = "".join(TEXTS).encode()
    offsets = np.cumsum([0, *(len(text.encode()) for text in TEXTS)])
    words = np.empty((len(TEXTS), width), np.uint64)
    pack_texts(offsets, np.frombuffer(data, np.uint8), words)
    return words


@pytest.mark.parametrize("width", [1, 2, 5])
def test_pack_texts__is_big_endian_and_padded(width):
    for text, row in zip(TEXTS, pack(width), strict=True):
        assert b"".join(int(w).to_bytes(8, "big") for w in row) == text.encode()[: 8 * width].ljust(8 * width, b"\0")


@pytest.mark.parametrize("bits", [4, 8, 63, 64, 65, 128])
def test_fill_folds__mixes_the_prefix_alone(bits):
    words, out = pack(2), np.empty(len(TEXTS), np.uint64)
    fill_folds(words, bits, out)
    assert out.tolist() == [fold([int(w) for w in row], bits) for row in words]
    assert (out[3] == out[4]) == (bits <= 65)  # they differ in the ninth byte, whose first bit is 0


@pytest.mark.parametrize("g", [2, 3, 56, 4096])
def test_counts__are_of_the_hashes_that_reports_have(g):
    """A report supports a candidate if its value is the candidate's hash by its seed, at the edges of buckets too."""
    source = np.random.default_rng(g)
    seeds = source.integers(0, 1 << 63, 203).astype(np.uint64)
    ends, bits = np.array([1 << 30, 1 << 31, 1 << 32], np.uint64), np.array([8, 24, 64])
    words = pack(1)[source.integers(0, len(TEXTS), 203)]
    levels, hashes = np.empty(203, np.uint8), np.empty(203, np.uint16)
    fill_levels(seeds, ends, levels)
    fill_string_hashes(words, seeds, ends, bits, g, hashes)
    assert levels.tolist() == [level(int(seed), ends.tolist()) for seed in seeds]
    for i in range(203):
        folded = fold([int(words[i, 0])], int(bits[levels[i]]))
        assert hashes[i] == (number(int(seeds[i]), folded) >> 48) * g >> 16
    edges = [-(-(y << 16) // g) for y in range(g)] + [1 << 16]
    starts = np.array(edges[:-1], np.uint64) << np.uint64(48)
    widths = np.diff(edges).astype(np.uint64) << np.uint64(48)
    folded = np.array([fold([int(row[0])], 24) for row in pack(1)], np.uint64)
    counts = np.zeros(folded.size, np.int64)
    assert not count_candidates(seeds, hashes, starts, widths, folded, counts)
    expected = [sum((number(int(s), int(f)) >> 48) * g >> 16 == h for s, h in zip(seeds, hashes, strict=True))
                for f in folded]  # fmt: skip
    assert counts.tolist() == expected
    hashes[7] = g
    assert count_candidates(seeds, hashes, starts, widths, folded, counts) == BAD_VALUE
