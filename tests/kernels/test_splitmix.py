"""SplitMix64: the published outputs, the same in kernels as in numpy, and a bijection."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import kernel
from fastdp.kernels.splitmix import GOLDEN, finalize, mix, splitmix

PUBLISHED = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
"""The first outputs of the reference implementation from the seed 0."""


@kernel
def fill_mixed(words, out):
    for i in range(words.size):
        out[i] = mix(words[i])


def test_splitmix__gives_the_published_outputs():
    states = np.arange(4, dtype=np.uint64) * GOLDEN
    assert splitmix(states).tolist() == PUBLISHED


def test_mix__is_the_same_in_kernels_and_can_be_undone():
    words = np.random.default_rng(1).integers(0, 2**64, 1000, np.uint64)
    out = np.empty_like(words)
    fill_mixed(words, out)
    assert np.array_equal(out, finalize(words))
    for image, word in zip(out.tolist(), words.tolist(), strict=True):
        value = image ^ (image >> 31) ^ (image >> 62)
        value = value * pow(0x94D049BB133111EB, -1, 2**64) % 2**64
        value ^= (value >> 27) ^ (value >> 54)
        value = value * pow(0xBF58476D1CE4E5B9, -1, 2**64) % 2**64
        value ^= (value >> 30) ^ (value >> 60)
        assert value == word
