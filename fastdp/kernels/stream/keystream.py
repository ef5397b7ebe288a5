"""The keystream: groups of sixteen blocks, addressed by counter, plane and attempt, of the cipher that a key is for.

A *group* is 16 blocks (1,024 bytes) kept in lane order: word 0 of the sixteen blocks, then word 1, and so on. The order
is part of the format, so that draws are the same on every CPU, whatever its vector width.

A key is an array of uint32 whose length names its cipher: 8 words are a key of ChaCha20, 60 an expanded key of AES-256.
The choice is made at run time, once per group, so that no kernel is compiled twice. Kernels for a CPU without vector
AES hold ChaCha20 alone and must not be given another key.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastdp.kernels.jit import intrinsic, ir, part, types
from fastdp.kernels.stream import aes, chacha

GROUP_BLOCKS = chacha.GROUP_BLOCKS
GROUP_WORDS = 256


@intrinsic
def fill_group(_context: Any, key: Any, counters: Any, plane: Any, attempt: Any, out: Any, offset: Any) -> Any:
    """Write the group whose sixteen block counters are ``counters[:16]`` to ``out[offset : offset + 256]``.

    ``attempt`` is one number for all sixteen blocks, or an array of sixteen uint32; ``plane`` is below 2**30.
    """
    each = isinstance(attempt, types.Array)
    signature = types.void(key, counters, types.uint32, attempt if each else types.uint32, out, types.int64)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        def array(position: int) -> Any:
            return context.make_array(signature.args[position])(context, builder, arguments[position])

        target = builder.gep(array(4).data, [arguments[5]])
        attempts = array(3).data if each else arguments[3]
        block = [array(0).data, array(1).data, arguments[2], attempts, target]
        if aes.is_available():
            words = array(0).nitems
            with builder.if_else(builder.icmp_signed("==", words, words.type(aes.KEY_WORDS))) as (expanded, plain):
                with expanded:
                    builder.call(aes.group_function(builder.module, each=each), block)
                with plain:
                    builder.call(chacha.group_function(builder.module, each=each), block)
        else:
            builder.call(chacha.group_function(builder.module, each=each), block)
        return context.get_dummy_value()

    return signature, generate


@part
def fill_attempt(key, plane, attempt, first_group, groups, counters, out):
    """Write consecutive groups of one plane of the keystream, under a number of their own.

    Pre:  counters is scratch of 16.
    Post: out[: 256 * groups] holds groups first_group, first_group + 1, ...; no other counter is read.
    """
    for group in range(groups):
        first = (first_group + np.uint64(group)) * np.uint64(GROUP_BLOCKS)
        for block in range(GROUP_BLOCKS):
            counters[block] = first + np.uint64(block)
        fill_group(key, counters, np.uint32(plane), np.uint32(attempt), out, group * GROUP_WORDS)


@part
def fill_plane(key, plane, first_group, counters, out):
    """As ``fill_attempt`` for attempt 0 and all of ``out``, whose size is a multiple of 256."""
    fill_attempt(key, plane, np.uint32(0), first_group, out.size // GROUP_WORDS, counters, out)
