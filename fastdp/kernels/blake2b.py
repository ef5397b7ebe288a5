"""BLAKE2b under a key: digests of many short texts in one call, the same as hashlib's.

[Aumasson, Neves, Wilcox-O'Hearn, Winnerlein 2013; RFC 7693]
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel, part

ROUNDS = 12
BLOCK = 128
"""Bytes of a block; the key is a block of its own."""
IV = np.array([
    0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
    0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
], np.uint64)  # fmt: skip
SIGMA = np.array([
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
], np.uint8)  # fmt: skip
"""The order of a block's words in each round; the last two rounds take the first two orders again."""
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def _turn(x, bits):
    return (x >> np.uint64(bits)) | (x << np.uint64(64 - bits))


@inlined
def _mix(a, b, c, d, x, y):
    a = a + b + x
    d = _turn(d ^ a, 32)
    c += d
    b = _turn(b ^ c, 24)
    a = a + b + y
    d = _turn(d ^ a, 16)
    c += d
    b = _turn(b ^ c, 63)
    return a, b, c, d


@part
def _compress(state, words, length, last):
    """Take a block of 16 words into the state; ``length`` counts the bytes so far."""
    a, b, c, d = state[0], state[1], state[2], state[3]
    e, f, g, h = state[4], state[5], state[6], state[7]
    i, j, k, l = IV[0], IV[1], IV[2], IV[3]
    m, n, o, p = IV[4] ^ np.uint64(length), IV[5], IV[6] ^ (ONES if last else np.uint64(0)), IV[7]
    for turn in range(ROUNDS):
        s = SIGMA[turn % 10]
        a, e, i, m = _mix(a, e, i, m, words[s[0]], words[s[1]])
        b, f, j, n = _mix(b, f, j, n, words[s[2]], words[s[3]])
        c, g, k, o = _mix(c, g, k, o, words[s[4]], words[s[5]])
        d, h, l, p = _mix(d, h, l, p, words[s[6]], words[s[7]])
        a, f, k, p = _mix(a, f, k, p, words[s[8]], words[s[9]])
        b, g, l, m = _mix(b, g, l, m, words[s[10]], words[s[11]])
        c, h, i, n = _mix(c, h, i, n, words[s[12]], words[s[13]])
        d, e, j, o = _mix(d, e, j, o, words[s[14]], words[s[15]])
    state[0] ^= a ^ i
    state[1] ^= b ^ j
    state[2] ^= c ^ k
    state[3] ^= d ^ l
    state[4] ^= e ^ m
    state[5] ^= f ^ n
    state[6] ^= g ^ o
    state[7] ^= h ^ p


@inlined
def _copy(source, out):
    for w in range(8):
        out[w] = source[w]


@inlined
def _load(content, start, stop, words):
    """Bytes start:stop, at most a block, as little-endian words with zeros behind them."""
    for w in range(16):
        words[w] = np.uint64(0)
    for place in range(stop - start):
        words[place >> 3] |= np.uint64(content[start + place]) << np.uint64(8 * (place & 7))


def start_state(digest: int, key: bytes, person: bytes) -> np.ndarray:
    """The state of no bytes, of digests of so many bytes under a key and for a purpose."""
    words = np.zeros(8, np.uint64)
    words[0] = digest | len(key) << 8 | 1 << 16 | 1 << 24
    words[6:] = np.frombuffer(person.ljust(16, b"\0"), "<u8")
    return words ^ IV


@kernel
def fill_blake2b(first, key, content, ends, work, out):
    """Write the keyed digests of texts as hexadecimal digits.

    Pre:  first is the state of no bytes, 8 words; key has 128 bytes; text i is content[ends[i]:ends[i + 1]];
          work has 32 words; out has a row per text, of two digits for every byte of the digest, at most 64.
    Post: row i holds the digits of the digest of text i.
    """
    keyed, state, words = work[:8], work[8:16], work[16:32]
    _load(key, 0, BLOCK, words)
    _copy(first, keyed)
    _compress(keyed, words, BLOCK, False)
    for i in range(out.shape[0]):
        start, stop = ends[i], ends[i + 1]
        length = BLOCK
        if start == stop:  # the block of the key is the last one
            _load(key, 0, BLOCK, words)
            _copy(first, state)
            _compress(state, words, BLOCK, True)
        else:
            _copy(keyed, state)
            while stop - start > BLOCK:
                _load(content, start, start + BLOCK, words)
                length += BLOCK
                _compress(state, words, length, False)
                start += BLOCK
            _load(content, start, stop, words)
            _compress(state, words, length + stop - start, True)
        for place in range(out.shape[1]):
            byte = state[place >> 4] >> np.uint64(8 * ((place >> 1) & 7))
            digit = np.uint8((byte >> np.uint64(0 if place & 1 else 4)) & np.uint64(15))
            out[i, place] = digit + np.uint8(48) + (np.uint8(39) if digit > 9 else np.uint8(0))
