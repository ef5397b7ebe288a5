"""Universal hashing of columns: NH sums of blocks of words, and codes numbered in the order of their first appearance.

[Black, Halevi, Krawczyk, Krovetz, Rogaway 1999, UMAC]
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import kernel

BLOCK_WORDS = 1024
"""32-bit words that become one block's sums."""
SHIFTS = 4
"""Sums of a block, each under the key shifted by four words: two blocks that differ agree in all with 2**-128."""
SHIFT_WORDS = 4
KEY_WORDS = BLOCK_WORDS + SHIFT_WORDS * (SHIFTS - 1)


@kernel
def fill_nh(words, key, out):
    """Write SHIFTS sums of 64 bits per block of BLOCK_WORDS words.

    Pre:  words.size is a multiple of BLOCK_WORDS; key.size == KEY_WORDS; out.size == SHIFTS * blocks.
    Post: out[SHIFTS * b + t] = sum of (w[i] + k[i]) * (w[i + h] + k[i + h]) modulo 2**64 over the first half of block
          b, where the sums of words wrap at 2**32, h = BLOCK_WORDS / 2 and k is the key from word 4 t on.
    """
    half = BLOCK_WORDS // 2
    for b in range(words.size // BLOCK_WORDS):
        w = words[b * BLOCK_WORDS : (b + 1) * BLOCK_WORDS]
        for t in range(SHIFTS):
            k = key[SHIFT_WORDS * t : SHIFT_WORDS * t + BLOCK_WORDS]
            total = np.uint64(0)
            for i in range(half):
                total += np.uint64(np.uint32(w[i] + k[i])) * np.uint64(np.uint32(w[i + half] + k[i + half]))
            out[b * SHIFTS + t] = total


@kernel
def fill_ranks(codes, ranks, order, out):
    """Number codes in the order of their first appearance; returns how many there are.

    Pre:  0 <= codes[i] < ranks.size, or codes[i] < 0 for none; ranks is -1 throughout; order.size == ranks.size.
    Post: out[i] is the rank of codes[i], -1 for none; order[r] is the code of rank r.
    """
    seen = 0
    for i in range(codes.size):
        code = codes[i]
        if code < 0:
            out[i] = -1
            continue
        rank = ranks[code]
        if rank < 0:
            rank = seen
            ranks[code] = rank
            order[rank] = code
            seen += 1
        out[i] = rank
    return seen
