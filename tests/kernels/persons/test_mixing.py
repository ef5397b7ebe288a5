"""The keyed bijection: no two words have one image, and another key gives another bijection."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import kernel
from fastdp.kernels.persons.mixing import mix, unmix


@kernel
def fill_mixed(words, key, out):
    for i in range(words.size):
        out[i] = mix(words[i], key)


@kernel
def fill_unmixed(images, key, out):
    for i in range(images.size):
        out[i] = unmix(images[i], key)


def mixed(words, key):
    out = np.empty_like(words)
    fill_mixed(words, np.uint64(key), out)
    return out


def test_mix__can_be_undone():
    """Both multiplications are by odd numbers and both xors are of shifted words: the inverse gives the word back."""
    words = np.random.default_rng(1).integers(0, 2**64, 1000, np.uint64)
    for image, word in zip(mixed(words, 77).tolist(), words.tolist(), strict=False):
        value = image ^ (image >> 29) ^ (image >> 58)
        value = value * pow(0xD6E8FEB86659FD93, -1, 2**64) % 2**64
        value ^= value >> 32
        value = value * pow(0x9E3779B97F4A7C15, -1, 2**64) % 2**64
        assert value ^ 77 == word
    back = np.empty_like(words)
    fill_unmixed(mixed(words, 77), np.uint64(77), back)
    np.testing.assert_array_equal(back, words)


def test_mix__spreads_neighbours():
    """The top bits of consecutive numbers are as even as chance has it, for any key."""
    for key in (0, 1, 2**63 + 5):
        counts = np.bincount((mixed(np.arange(1 << 16, dtype=np.uint64), key) >> np.uint64(56)).astype(int))
        assert abs(((counts - 256.0) ** 2 / 256).sum() - 255) < 6 * np.sqrt(2 * 255)
    assert not np.array_equal(mixed(np.arange(9, dtype=np.uint64), 1), mixed(np.arange(9, dtype=np.uint64), 2))
