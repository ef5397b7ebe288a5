"""Keyed bijections of 64-bit words: equal images mean equal words, so that nothing can collide."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined

_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_HIGH, _MIDDLE = np.uint64(32), np.uint64(29)


@inlined
def mix(word, key):
    """A bijection of ``word`` chosen by ``key``: two odd multiplications and two shifted xors.

    Pre:  both are uint64.
    """
    word = (word ^ key) * _FIRST
    word ^= word >> _HIGH
    word *= _SECOND
    return word ^ (word >> _MIDDLE)
