"""Permanent answers in plain Python: functions of the key, the person and the value."""

from __future__ import annotations

import hashlib
from itertools import count

from tests.reference.bits import below, pairs
from tests.reference.keystream import block

ANSWERS, TRUTHS, SAMPLES, SETS = 1 << 16, 1 << 17, 1 << 18, 1 << 24


def answers_key(key: bytes, purpose: object) -> tuple[int, ...]:
    digest = hashlib.blake2b(repr(("", purpose)).encode(), digest_size=32, key=key, person=b"fastdp answers").digest()
    return tuple(int.from_bytes(digest[4 * i : 4 * i + 4], "little") for i in range(8))


def number_of(key: bytes, name: str) -> int:
    """The number of a person who is named by a text."""
    names = hashlib.blake2b(b"", digest_size=32, key=key, person=b"fastdp persons").digest()
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8, key=names).digest(), "little")


def krr(key, person: int, code: int, keep: int, k: int) -> int:
    words = pairs(block(key, person, ANSWERS, code))
    if words[0] << 64 | words[1] < keep:
        return code
    draws = iter([words[2]])
    for attempt in count(1):
        for word in draws:
            if word * k % 2**64 >= 2**64 % k:
                return word * k >> 64
        draws = iter(pairs(block(key, person, ANSWERS + attempt, code))[:1])
    raise AssertionError


def _digits(key, person: int, tag: int, word: int):
    for attempt in count():
        yield from pairs(block(key, person, SETS + word + (attempt << 20), tag))


def sets(key, person: int, code: int, k: int, p: int, q: int, *, by_value: bool) -> int:
    bits = 0
    for word in range((k + 63) // 64):
        bits |= below(_digits(key, person, code if by_value else 0, word), q) << 64 * word
    upper, lower, *_ = pairs(block(key, person, TRUTHS, code))
    truth = int((upper << 64 | lower) < p)
    return ((bits & ~(1 << code)) | truth << code) & (1 << k) - 1


def sample(key, person: int, k: int, size: int) -> set[int]:
    """Floyd's algorithm."""
    chosen: set[int] = set()
    words = (word for number in count() for word in pairs(block(key, person, SAMPLES + number, 0)))
    for last in range(k - size, k):
        bound = last + 1
        word = next(words)
        while word * bound % 2**64 < 2**64 % bound:
            word = next(words)
        place = word * bound >> 64
        chosen.add(last if place in chosen else place)
    return chosen
