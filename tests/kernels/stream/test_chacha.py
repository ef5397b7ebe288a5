"""The keystream is ChaCha20, block for block."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from fastdp.kernels.jit import kernel
from fastdp.kernels.stream import keystream
from tests.reference.stream import chacha as reference


def blocks_of(out: np.ndarray) -> np.ndarray:
    """Groups in lane order as one row of sixteen words per block."""
    return out.reshape(-1, 16, 16).transpose(0, 2, 1).reshape(-1, 16)


def fill(key: bytes, counters: list[int], word14: int, word15: int) -> np.ndarray:
    """Blocks with any counters, through the same function that the planes use."""
    out = np.zeros(256, np.uint32)
    padded = np.array((counters + [0] * 16)[:16], np.uint64)
    _fill_once(np.frombuffer(key, np.uint32).copy(), padded, np.uint32(word14), np.uint32(word15), out)
    return blocks_of(out)[: len(counters)]


@kernel
def _fill_once(key, counters, word14, word15, out):
    keystream.fill_group(key, counters, word14, word15, out, 0)


RFC_KEY = bytes(range(32))
ZERO = bytes(32)
VECTORS = [
    # RFC 8439, section 2.3.2 and appendix A.1: key, counter, nonce, first bytes of the keystream block.
    (RFC_KEY, 1, "000000090000004a00000000", "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c06803"),
    (ZERO, 0, "000000000000000000000000", "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1a"),
    (ZERO, 1, "000000000000000000000000", "9f07e7be5551387a98ba977c732d080dcb0f29a048e36569"),
    (ZERO[:-1] + b"\1", 1, "000000000000000000000000", "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160"),
    (b"\0\xff" + ZERO[2:], 2, "000000000000000000000000", "72d54dfbf12ec44b362692df94137f328fea8da73990265e"),
    (ZERO, 0, "000000000000000000000002", "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa496"),
]


@pytest.mark.parametrize(("key", "counter", "nonce", "start"), VECTORS)
def test_chacha__meets_rfc_8439(key, counter, nonce, start):
    """The published vectors; the RFC's first nonce word is our counter's upper half."""
    words = struct.unpack("<3I", bytes.fromhex(nonce))
    block = fill(key, [counter | words[0] << 32], words[1], words[2])[0]
    assert block.astype("<u4").tobytes().hex().startswith(start)


def test_fill_group__takes_any_counters():
    """Each lane has its own counter; the reference in plain Python agrees."""
    key = bytes(range(7, 39))
    counters = [0, 5, 2**32 - 1, 2**32, 2**63 + 11, 2**64 - 1]
    words = struct.unpack("<8I", key)
    for counter, block in zip(counters, fill(key, counters, 4, 9), strict=True):
        assert tuple(int(w) for w in block) == reference.block(words, counter, 4, 9)


def test_fill_group__differs_when_anything_differs():
    """A mutant that ignores counter, plane, attempt or key would repeat a block."""
    seen = {
        fill(key, [counter], plane, attempt)[0].tobytes()
        for key in (ZERO, RFC_KEY)
        for counter in (0, 1, 2**32)
        for plane in (0, 1)
        for attempt in (0, 1)
    }
    assert len(seen) == 2 * 3 * 2 * 2
