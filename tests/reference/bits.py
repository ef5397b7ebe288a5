"""Coins by the word in plain Python: every lane's uniform number is put together and compared as a whole."""

from __future__ import annotations

from itertools import count

from tests.reference.keystream import block, plane_word

BIT_PLANES, BYTE_PLANES, FROM_PLANES, DIGITS = 32, 48, 9, 128


def pairs(words: tuple[int, ...]) -> list[int]:
    """A block as eight words of 64 bits."""
    return [words[2 * i] | words[2 * i + 1] << 32 for i in range(8)]


def digit_words(key, planes: int, word: int):
    """Words whose bits are the next binary digits of sixty-four uniform numbers, the highest digit first."""
    for plane in range(FROM_PLANES):
        yield plane_word(key, planes + plane, 2 * word, 32) | plane_word(key, planes + plane, 2 * word + 1, 32) << 32
    for attempt in count():
        yield from pairs(block(key, word, planes + FROM_PLANES, attempt))


def uniform(key, planes: int, word: int, lane: int) -> int:
    """All 128 digits of one lane."""
    source, number = digit_words(key, planes, word), 0
    for _ in range(DIGITS):
        number = number << 1 | next(source) >> lane & 1
    return number


def below(source, threshold: int, lanes: int = 64) -> int:
    """Which lanes' numbers lie below the threshold, reading digits as long as any lane could go either way."""
    numbers, read = [0] * lanes, 0
    while read < DIGITS and any(number == threshold >> (DIGITS - read) for number in numbers):
        digits = next(source)
        numbers = [number << 1 | digits >> lane & 1 for lane, number in enumerate(numbers)]
        read += 1
    return sum((number < threshold >> (DIGITS - read)) << lane for lane, number in enumerate(numbers))


def coin_word(key, planes: int, word: int, threshold: int) -> int:
    """Sixty-four coins."""
    return below(digit_words(key, planes, word), threshold)


def bit_at(key, slot: int, threshold: int) -> int:
    """The coin of a bit slot."""
    return coin_word(key, BIT_PLANES, slot // 64, threshold) >> slot % 64 & 1


def byte_at(key, slot: int, threshold: int) -> int:
    """The eight coins of a byte slot."""
    return coin_word(key, BYTE_PLANES, slot // 8, threshold) >> 8 * (slot % 8) & 0xFF


def unary(key, slot: int, value: int, k: int, p: int, q: int) -> bytes:
    """A report whose first byte slot is ``slot``."""
    width = (k + 7) // 8
    bits = int.from_bytes(bytes(byte_at(key, slot + i, q) for i in range(width)), "little")
    bits = (bits & ~(1 << value)) | bit_at(key, slot, p) << value
    return (bits & (1 << k) - 1).to_bytes(width, "little")
