"""ChaCha in plain Python, straight from RFC 8439, with the 64-bit counter of the original."""

from __future__ import annotations

from functools import lru_cache

MASK = 0xFFFFFFFF


def _rotate(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & MASK


def _quarter(s: list[int], a: int, b: int, c: int, d: int) -> None:
    s[a] = (s[a] + s[b]) & MASK
    s[d] = _rotate(s[d] ^ s[a], 16)
    s[c] = (s[c] + s[d]) & MASK
    s[b] = _rotate(s[b] ^ s[c], 12)
    s[a] = (s[a] + s[b]) & MASK
    s[d] = _rotate(s[d] ^ s[a], 8)
    s[c] = (s[c] + s[d]) & MASK
    s[b] = _rotate(s[b] ^ s[c], 7)


@lru_cache(maxsize=1 << 16)
def block(key: tuple[int, ...], counter: int, word14: int, word15: int, rounds: int = 20) -> tuple[int, ...]:
    """The sixteen words of one block."""
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *key, counter & MASK, counter >> 32, word14, word15]
    s = list(start)
    for _ in range(rounds // 2):
        _quarter(s, 0, 4, 8, 12)
        _quarter(s, 1, 5, 9, 13)
        _quarter(s, 2, 6, 10, 14)
        _quarter(s, 3, 7, 11, 15)
        _quarter(s, 0, 5, 10, 15)
        _quarter(s, 1, 6, 11, 12)
        _quarter(s, 2, 7, 8, 13)
        _quarter(s, 3, 4, 9, 14)
    return tuple((a + b) & MASK for a, b in zip(s, start, strict=True))
