"""The slot discipline: which record reads which private stream, in one place for all kernels.

Privacy rests on no two records ever sharing random words. A lane that its first words leave undecided waits until
sixteen do; then each is decided from the private stream of its own slot, and of no other. A kernel contributes only how
one lane is decided; two decorators turn that into a loop over records:

    @private_lanes      decides the lanes that wait (:func:`enqueue`)
    @private_draws      draws every record of an output from its private stream alone
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastdp.kernels.jit import inlined, part
from fastdp.kernels.stream.keystream import GROUP_BLOCKS
from fastdp.kernels.stream.words import WAITING, open_consecutive, open_privates, select_private

FULL = GROUP_BLOCKS
"""Lanes that wait at most: the private streams of so many are opened at the price of one."""


@inlined
def enqueue(waiting, slot, place, scratch, *notes):
    """Let the record at out[place] wait for the private stream of ``slot``, with up to five int64 known of it."""
    scratch.work[WAITING + waiting] = slot
    scratch.pending[waiting, 0] = place
    for i in range(len(notes)):
        scratch.pending[waiting, 1 + i] = notes[i]


def private_lanes(decide: Callable[..., Any]) -> Any:
    """Make a function that decides the waiting lanes, from one that decides a single lane and writes it.

    ``decide(lane, key, work, blocks, *law)`` gets the lane's place and notes, and reads :func:`next_word` of its own
    private stream. The result, ``finish(waiting, least, key, scratch, *law)``, does so for all that wait once there
    are ``least``, and returns how many still wait. ``least`` is FULL after each lane that is added, and 1 at the end.
    """
    decide_lane = inlined(decide)

    @part
    def decide_all(waiting, key, scratch, *law):
        work, blocks = scratch.work, scratch.blocks
        open_privates(key, work, blocks)
        for i in range(waiting):
            select_private(work[WAITING + i], i, work)
            decide_lane(scratch.pending[i], key, work, blocks, *law)

    @inlined
    def finish(waiting, least, key, scratch, *law):
        if waiting < least:
            return waiting
        decide_all(waiting, key, scratch, *law)
        return 0

    return finish


def private_draws(draw: Callable[..., Any]) -> Any:
    """Make a function that fills ``out`` from private streams, from one that draws for a single record.

    ``draw(i, key, work, blocks, *law)`` is the outcome of out[i]; the result is ``fill(key, start, scratch, out,
    *law)``, which reads the private stream of slot start + i for it.
    """
    draw_one = inlined(draw)

    @inlined
    def fill(key, start, scratch, out, *law):
        work, blocks = scratch.work, scratch.blocks
        for base in range(0, out.size, GROUP_BLOCKS):
            open_consecutive(key, start + np.uint64(base), work, blocks)
            for i in range(base, min(base + GROUP_BLOCKS, out.size)):
                select_private(start + np.uint64(i), i - base, work)
                out[i] = draw_one(i, key, work, blocks, *law)

    return fill
