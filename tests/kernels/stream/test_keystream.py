"""Planes of the keystream."""

from __future__ import annotations

import struct

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from fastdp.kernels.stream import keystream


def blocks_of(out: np.ndarray) -> np.ndarray:
    """Groups in lane order as one row of sixteen words per block."""
    return out.reshape(-1, 16, 16).transpose(0, 2, 1).reshape(-1, 16)


def test_fill_plane__agrees_with_cryptography():
    """Thousands of blocks of a plane equal the cipher's own keystream, across the 32-bit carry of the counter."""
    key = np.random.default_rng(3).integers(0, 2**32, 8, dtype=np.uint32)
    first_group = (1 << 28) - 8  # block counter 2**32 - 128
    out = np.zeros(256 * 64, np.uint32)
    keystream.fill_plane(key, np.uint32(7), np.uint64(first_group), np.zeros(16, np.uint64), out)
    nonce = struct.pack("<QII", first_group * 16, 7, 0)
    cipher = Cipher(algorithms.ChaCha20(key.tobytes(), nonce), mode=None).encryptor()
    ours = blocks_of(out).astype("<u4").tobytes()
    carry = 128 * 64  # the cipher's 32-bit counter may wrap there; the second part starts anew
    assert ours[:carry] == cipher.update(bytes(carry))
    nonce = struct.pack("<QII", 1 << 32, 7, 0)
    cipher = Cipher(algorithms.ChaCha20(key.tobytes(), nonce), mode=None).encryptor()
    assert ours[carry:] == cipher.update(bytes(len(ours) - carry))
