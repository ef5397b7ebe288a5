"""What the tests of central kernels share: a key, a first slot, and draws of a kernel."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.stream import words

KEY = np.array([1, 2, 3, 4, 5, 6, 7, 8], np.uint32)
START = 2**33 + 5
COUNT = 300


def draws_of(kernel, *arguments) -> list[int]:
    """COUNT draws from slot START on."""
    out = np.zeros(COUNT, np.int64)
    kernel(KEY, np.uint64(START), *arguments, words.make_scratch(), out)
    return out.tolist()
