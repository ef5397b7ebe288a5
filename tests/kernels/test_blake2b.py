"""Keyed digests of many texts against hashlib's."""

import hashlib

import numpy as np
import pytest

from fastdp.kernels.blake2b import BLOCK, fill_blake2b, start_state

LENGTHS = (0, 1, 7, 8, 9, 63, 127, 128, 129, 255, 256, 257, 1000, 0, 5)


@pytest.mark.parametrize(("digest", "key", "person"), [(12, 32, b"fastdp pseudonym"), (64, 64, b""), (1, 1, b"x")])
def test_fill_blake2b__is_hashlibs(digest, key, person):
    """For texts of none, one and several blocks, and texts after one another."""
    source = np.random.default_rng(digest)
    secret = source.bytes(key)
    texts = [source.bytes(length) for length in LENGTHS]
    content = np.frombuffer(b"".join(texts), np.uint8)
    ends = np.concatenate(([0], np.cumsum(LENGTHS)))
    out = np.zeros((len(texts), 2 * digest), np.uint8)
    padded = np.frombuffer(secret.ljust(BLOCK, b"\0"), np.uint8)
    fill_blake2b(start_state(digest, secret, person), padded, content, ends, np.zeros(32, np.uint64), out)
    expected = [hashlib.blake2b(text, digest_size=digest, key=secret, person=person).hexdigest() for text in texts]
    assert [row.tobytes().decode() for row in out] == expected
