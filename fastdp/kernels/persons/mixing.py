"""Keyed bijections of 64-bit words: equal images mean equal words, so that nothing can collide."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined

_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_UNDO_FIRST, _UNDO_SECOND = np.uint64(pow(int(_FIRST), -1, 1 << 64)), np.uint64(pow(int(_SECOND), -1, 1 << 64))
_HIGH, _MIDDLE, _TWICE = np.uint64(32), np.uint64(29), np.uint64(58)


@inlined
def mix(word, key):
    """A bijection of ``word`` chosen by ``key``: two odd multiplications and two shifted xors.

    Pre:  both are uint64.
    """
    word = (word ^ key) * _FIRST
    word ^= word >> _HIGH
    word *= _SECOND
    return word ^ (word >> _MIDDLE)


@inlined
def unmix(image, key):
    """The word whose image this is."""
    image ^= (image >> _MIDDLE) ^ (image >> _TWICE)
    image *= _UNDO_SECOND
    image ^= image >> _HIGH
    return (image * _UNDO_FIRST) ^ key
