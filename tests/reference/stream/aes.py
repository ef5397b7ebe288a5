"""Blocks of AES-256 in counter mode, through another library's cipher."""

from __future__ import annotations

import struct
from functools import lru_cache

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


@lru_cache
def _cipher(key: tuple[int, ...]):
    """An expanded key begins with the key itself."""
    return Cipher(algorithms.AES(struct.pack("<8I", *key[:8])), modes.ECB()).encryptor()


@lru_cache(maxsize=1 << 16)
def block(key: tuple[int, ...], counter: int, plane: int, attempt: int) -> tuple[int, ...]:
    """The sixteen words of one block: four of the cipher's."""
    inputs = b"".join(struct.pack("<QII", counter, attempt, 4 * plane + quarter) for quarter in range(4))
    return struct.unpack("<16I", _cipher(key).update(inputs))
