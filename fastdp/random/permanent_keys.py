"""Secret keys of permanent answers, and what is derived from them."""

from __future__ import annotations

import hashlib
import secrets

import numpy as np

from fastdp.errors import ParameterError
from fastdp.random.rng import KEY_BYTES


def new_key() -> bytes:
    """A fresh secret key of 32 bytes from the operating system. Who has it can undo the permanent answers: guard it."""
    return secrets.token_bytes(KEY_BYTES)


def read_key(owner: str, key: bytes, question: str, purpose: object) -> tuple[np.ndarray, bytes]:
    """The kernels' key and the key that hashes names; other questions and other parameters give unrelated answers."""
    if not isinstance(question, str):
        raise ParameterError(f"{owner}: question must be a string, got {type(question).__name__}")
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        raise ParameterError(f"{owner}: key must be {KEY_BYTES} secret bytes, such as {owner}.new_key() makes")
    answers = hashlib.blake2b(
        repr((question, purpose)).encode(), digest_size=KEY_BYTES, key=key, person=b"fastdp answers"
    ).digest()
    names = hashlib.blake2b(b"", digest_size=KEY_BYTES, key=key, person=b"fastdp persons").digest()
    return np.frombuffer(answers, np.uint32).copy(), names
