"""The keystream in plain Python: words by plane and slot, and private streams, of the cipher that a key is for."""

from __future__ import annotations

from tests.reference.stream import aes, chacha


def block(key: tuple[int, ...], counter: int, plane: int, attempt: int) -> tuple[int, ...]:
    """The sixteen words of one block: eight words are a key of ChaCha20, sixty an expanded one of AES-256."""
    cipher = {8: chacha, 60: aes}[len(key)]
    return cipher.block(key, counter, plane, attempt)


def plane_word(key: tuple[int, ...], plane: int, slot: int, bits: int, attempt: int = 0) -> int:
    """The word of a slot in a plane of 16-bit or 32-bit words: groups of 16 blocks, in lane order, little-endian."""
    per_word = 32 // bits
    word32, part = divmod(slot, per_word)
    group, place = divmod(word32, 256)
    row, lane = divmod(place, 16)
    word = block(key, group * 16 + lane, plane, attempt)[row]
    return (word >> (bits * part)) & ((1 << bits) - 1)


class Private:
    """The private stream of a slot, 64 bits at a time."""

    def __init__(self, key: tuple[int, ...], slot: int, plane: int) -> None:
        self._key, self._slot, self._plane = key, slot, plane
        self._words: list[int] = []
        self._attempt = 0

    def next(self) -> int:
        if not self._words:
            words = block(self._key, self._slot, self._plane, self._attempt)
            self._words = [words[2 * i] | words[2 * i + 1] << 32 for i in range(8)]
            self._attempt += 1
        return self._words.pop(0)
