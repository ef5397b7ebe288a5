"""SplitMix64: a public bijection of 64-bit words, every bit depending on all. [Steele, Lea, Flood 2014]"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastdp.kernels.jit import inlined

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_U = np.uint64


def finalize(word: Any) -> Any:
    """The finalizer, of a word or of an array of words."""
    word = (word ^ (word >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> _U(27))) * _U(0x94D049BB133111EB)
    return word ^ (word >> _U(31))


mix = inlined(finalize)
"""The finalizer in kernels."""


def splitmix(words: Any) -> np.ndarray:
    """The generator's next output at each state, an array of words."""
    return np.asarray(finalize((words + GOLDEN).astype(np.uint64)))
