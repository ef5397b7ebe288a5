"""The keystream is AES-256 in counter mode, block for block, under a key of sixty words."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from fastdp.kernels.jit import kernel
from fastdp.kernels.stream import aes, keystream
from tests.generators import needs_aes
from tests.kernels.stream.test_chacha import blocks_of
from tests.reference.stream import aes as reference

APPENDIX_A = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"
APPENDIX_C = bytes(range(32))


@kernel
def fill_once(key, counters, plane, attempt, out):
    keystream.fill_group(key, counters, plane, attempt, out, 0)


def fill(key: bytes, counters: list[int], plane: int, attempt: int | list[int]) -> np.ndarray:
    """Sixteen blocks with any counters; ``attempt`` may be one for each."""
    out = np.zeros(256, np.uint32)
    attempts = np.uint32(attempt) if isinstance(attempt, int) else np.array(attempt, np.uint32)
    fill_once(aes.expand_key(key), np.array(counters, np.uint64), np.uint32(plane), attempts, out)
    return blocks_of(out)


def test_expand_key__meets_fips_197():
    """Appendix A.3: words of the schedule from its beginning, each kind of its steps, and its end."""
    schedule = aes.expand_key(bytes.fromhex(APPENDIX_A))
    assert schedule.dtype == np.uint32
    assert schedule.size == aes.KEY_WORDS
    text = schedule.tobytes().hex()
    assert text.startswith(APPENDIX_A + "9ba354118e6925afa51a8b5f2067fcde" + "a8b09c1a93d194cdbe49846eb75d5b9a")
    assert text.endswith("fe4890d1e6188d0b046df344706c631e")


def test_expand_key__has_the_substitution_of_fips_197():
    """A permutation of all bytes, at the places that the standard works out."""
    box = aes._substitution()
    assert sorted(box) == list(range(256))
    assert (box[0x00], box[0x01], box[0x53], box[0xFF]) == (0x63, 0x7C, 0xED, 0x16)


@needs_aes
def test_aes__meets_fips_197():
    """Appendix C.3: the plain text is the input of counter, attempt and plane."""
    counter, attempt, last = struct.unpack("<QII", bytes.fromhex("00112233445566778899aabbccddeeff"))
    plane, quarter = divmod(last, 4)
    words = fill(APPENDIX_C, [counter] * 16, plane, attempt)[0, 4 * quarter : 4 * quarter + 4]
    assert words.astype("<u4").tobytes().hex() == "8ea2b7ca516745bfeafc49904b496089"


@needs_aes
@pytest.mark.parametrize("each", [False, True])
def test_fill_group__agrees_with_cryptography(each):
    """Random keys, counters, planes and attempts, one attempt for all blocks or one for each."""
    source = np.random.default_rng(5)
    for _ in range(50):
        key, plane = source.bytes(32), int(source.integers(2**30))
        counters = [int(c) for c in source.integers(2**64, size=16, dtype=np.uint64)]
        attempts = [int(a) for a in source.integers(2**32, size=16 if each else 1)] * (1 if each else 16)
        cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
        inputs = [
            struct.pack("<QII", counter, attempt, 4 * plane + quarter)
            for counter, attempt in zip(counters, attempts, strict=True)
            for quarter in range(4)
        ]
        ours = fill(key, counters, plane, attempts if each else attempts[0])
        assert ours.astype("<u4").tobytes() == cipher.update(b"".join(inputs))


@needs_aes
def test_fill_plane__agrees_with_the_reference():
    """Groups of a plane, across the 32-bit carry of the counter."""
    key, first_group = bytes(range(7, 39)), (1 << 28) - 2
    schedule, out = aes.expand_key(key), np.zeros(256 * 4, np.uint32)
    keystream.fill_plane(schedule, np.uint32(7), np.uint64(first_group), np.zeros(16, np.uint64), out)
    words = tuple(int(word) for word in schedule)
    for number, block in enumerate(blocks_of(out)):
        assert tuple(int(word) for word in block) == reference.block(words, first_group * 16 + number, 7, 0)


@needs_aes
def test_fill_group__differs_when_anything_differs():
    """A mutant that ignores counter, plane, attempt or key would repeat an AES block."""
    seen = {
        quarter.tobytes()
        for key in (bytes(32), APPENDIX_C)
        for counters in (list(range(16)), list(range(1 << 32, (1 << 32) + 16)))
        for plane in (0, 1)
        for attempt in (0, 1)
        for quarter in fill(key, counters, plane, attempt).reshape(-1, 4)
    }
    assert len(seen) == 2 * 2 * 2 * 2 * 64
