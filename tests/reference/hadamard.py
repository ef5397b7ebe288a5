"""Hadamard response in plain Python: the same bits, arbitrary-precision integers, no flags."""

from __future__ import annotations

import numpy as np

from tests.reference.cells import COINS, HALVES, PRIVATE, WORDS
from tests.reference.keystream import Private, plane_word


def coin(key, slot, threshold: int, private: Private) -> bool:
    """Heads if 128 bits, the first 16 of them from the plane of half words, lie below the threshold."""
    half = plane_word(key, HALVES, slot, 16)
    if half != threshold >> 112:
        return half < threshold >> 112
    first = half << 48 | private.next() >> 16
    if first != threshold >> 64:
        return first < threshold >> 64
    return private.next() < threshold & (1 << 64) - 1


def sylvester(size: int) -> np.ndarray:
    """The Hadamard matrix, built by its definition."""
    matrix = np.ones((1, 1), np.int64)
    while matrix.shape[0] < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def hadamard(key, slot, value: int, threshold: int, outputs: int) -> int:
    heads = coin(key, slot, threshold, Private(key, slot, PRIVATE))
    word = plane_word(key, COINS, slot, 16) if outputs <= 1 << 16 else plane_word(key, WORDS, slot, 32)
    index, row = word % outputs, value + 1
    if (index & row).bit_count() % 2 == (0 if heads else 1):
        return index
    return index ^ (row & -row)
