"""Both generators of the keystream, for tests that hold for either; AES is skipped where kernels do not have it."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.stream.aes import is_available
from fastdp.random.generator import AES, CHACHA, key_words

needs_aes = pytest.mark.skipif(not is_available(), reason="kernels are compiled for a CPU without vector AES")
each_generator = pytest.mark.parametrize("generator", [CHACHA, pytest.param(AES, marks=needs_aes)])


def key_for(generator: str, key: np.ndarray) -> np.ndarray:
    """Eight words as a key of the generator."""
    return key_words(generator, key.tobytes())
