"""The private stream of one slot as a run of blocks: for the few draws that need integers of many bits."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import kernel
from fastdp.kernels.stream.keystream import GROUP_BLOCKS, fill_group
from fastdp.kernels.stream.words import PRIVATE


@kernel
def fill_private(key, slot, first_block, counters, attempts, out):
    """Write sixteen consecutive blocks of the private stream of ``slot``.

    Pre:  counters is scratch of uint64[16], attempts of uint32[16]; out is uint32[256].
    Post: out[16 * w + b] is word w of block first_block + b.
    """
    for lane in range(GROUP_BLOCKS):
        counters[lane] = slot
        attempts[lane] = np.uint32(first_block + lane)
    fill_group(key, counters, PRIVATE, attempts, out, 0)
