"""The cipher that makes the keystream: AES-256 in counter mode where the CPU has vector AES, else ChaCha20.

Both take a key of 256 bits and give the same guarantees: no attack on either is known that could be carried out. AES is
a permutation of 128-bit blocks, which tells q blocks of one key from random words with an advantage of at most
q**2 / 2**129: 2**-49 for the 2**40 blocks, 16 TiB, of a very large release. What a permanent answer is made of
(``fastdp.random.permanent_keys``) is ChaCha20 everywhere, for it must be the same on every machine.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from fastdp.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np

AES = "aes-256-ctr"
CHACHA = "chacha20"
VARIABLE = "FASTDP_GENERATOR"
"""The environment variable that names another generator for the process."""


@functools.cache
def process_generator() -> str:
    """The generator of streams that are keyed by the operating system; chosen once per process.

    AES where kernels are compiled for a CPU that has it, unless ``FASTDP_GENERATOR`` names another.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return read_generator(f"{VARIABLE}: the generator", named)
    return AES if _has_aes() else CHACHA


def read_generator(what: str, name: object) -> str:
    """The name of a generator that this process can run."""
    if not isinstance(name, str) or name not in {AES, CHACHA}:
        raise ParameterError(f"{what} must be {AES!r} or {CHACHA!r}, got {name!r}")
    if name == AES and not _has_aes():
        raise ParameterError(
            f"{what} {AES!r} needs a CPU with VAES and AVX-512, and kernels compiled for it; {CHACHA!r} runs on all"
        )
    return name


def key_words(generator: str, key: bytes) -> np.ndarray:
    """A key of 32 bytes as the words that kernels take; their number tells them the generator."""
    import numpy as np

    if generator == CHACHA:
        return np.frombuffer(key, np.uint32).copy()
    from fastdp.kernels.stream.aes import expand_key

    return expand_key(key)


def _has_aes() -> bool:
    from fastdp.kernels.stream.aes import is_available

    return is_available()
