"""Random words by record: planes for the common case, a private stream for the rare one.

Every record owns a *slot*, a 64-bit number that no other record of the same key ever gets. A plane is a keystream cut
into equal words, one per slot; a kernel reads the planes at its records' slots and nothing else. A record whose first
words do not decide its outcome goes on with the *private stream* of its slot: blocks of the PRIVATE plane whose counter
is the slot itself, so what a record gets depends on its key and slot alone: not on its neighbours, nor on how records
were cut into batches, tiles or threads.

Scratch that holds the private streams of a thread (``work`` is uint64[48], ``blocks`` is uint32[512]):
  work[0]       the slot whose private stream is read    work[1] where its next word stands in ``blocks``
  work[2]       words left in this block                 work[3] the attempt, the number of the next block
  work[16:32]   block counters of a group                work[32:48] slots that wait for their private streams
  blocks[0:256] private blocks of sixteen records        blocks[256:512] further blocks of one record
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastdp.kernels.jit import inlined, intrinsic, ir, part, types
from fastdp.kernels.memory import zeros_aligned
from fastdp.kernels.stream.keystream import GROUP_BLOCKS, GROUP_WORDS, fill_group, fill_plane

HALVES = np.uint32(1)
"""Plane of 16-bit words."""
COINS = np.uint32(2)
"""A second plane of 16-bit words."""
WORDS = np.uint32(3)
"""Plane of 32-bit words."""
PRIVATE = np.uint32(4)
"""Plane of private streams, one block per slot and attempt."""

EIGHTHS = np.uint32(5)
"""Plane of 8-bit words."""

TILE = 1024
"""Slots decided together: their words, cells and flags fit the first-level cache."""
WORK_SIZE = 48
BLOCKS_SIZE = 2 * GROUP_WORDS
BLOCK_WORDS = 8
WAITING = 32
"""Where in ``work`` the slots stand that wait for their private streams."""


class Scratch(NamedTuple):
    """One thread's working memory, about 26 KiB; two names for one buffer where kernels read it at two widths."""

    halves: np.ndarray  # uint16[TILE]
    halves_raw: np.ndarray  # the same, as uint32
    coins: np.ndarray  # uint16[TILE]
    coins_raw: np.ndarray  # the same, as uint32
    bytes: np.ndarray  # the first half of the same, as uint8[TILE]
    words: np.ndarray  # uint32[TILE]
    found: np.ndarray  # int16[TILE]
    digits: np.ndarray  # int16[TILE]
    flags: np.ndarray  # uint8[TILE]
    flag_words: np.ndarray  # the same, as uint64
    places: np.ndarray  # int64[TILE]: flagged lanes of a tile
    pending: np.ndarray  # int64[16, 6]: place of each waiting lane, and what its kernel noted of it
    work: np.ndarray  # uint64[WORK_SIZE]
    blocks: np.ndarray  # uint32[BLOCKS_SIZE]


def make_scratch() -> Scratch:
    """Fresh working memory for one thread."""
    halves_raw, coins_raw = zeros_aligned(TILE // 2, np.uint32), zeros_aligned(TILE // 2, np.uint32)
    flag_words = zeros_aligned(TILE // 8, np.uint64)
    return Scratch(
        halves=halves_raw.view(np.uint16),
        halves_raw=halves_raw,
        coins=coins_raw.view(np.uint16),
        coins_raw=coins_raw,
        bytes=coins_raw.view(np.uint8)[:TILE],
        words=zeros_aligned(TILE, np.uint32),
        found=zeros_aligned(TILE, np.int16),
        digits=zeros_aligned(TILE, np.int16),
        flags=flag_words.view(np.uint8),
        flag_words=flag_words,
        places=zeros_aligned(TILE, np.int64),
        pending=zeros_aligned((GROUP_BLOCKS, 6), np.int64),
        work=zeros_aligned(WORK_SIZE, np.uint64),
        blocks=zeros_aligned(BLOCKS_SIZE, np.uint32),
    )


@inlined
def locate(start, done, size, lanes=TILE):
    """The slot of out[done], its tile, its lane in there, and how many lanes the tile of ``lanes`` still serves."""
    slot = start + np.uint64(done)
    lane = np.int64(slot % np.uint64(lanes))
    return slot, slot // np.uint64(lanes), lane, min(lanes - lane, size - done)


@inlined
def fill_tile(key, plane, tile, scratch, raw):
    """Write the words of a tile's slots in a plane to ``raw``, uint32 of the size that all of them take."""
    fill_plane(key, plane, tile * np.uint64(raw.size // GROUP_WORDS), scratch.work[16:32], raw)


@inlined
def find_flagged(scratch, count):
    """Write the places of the flags raised among the first ``count`` to scratch.places; how many there are."""
    for place in range(count, min(TILE, count + 8)):
        scratch.flags[place] = 0
    found = 0
    for word in range((count + 7) // 8):
        flagged = scratch.flag_words[word]
        while flagged != np.uint64(0):
            scratch.places[found] = word * 8 + (count_trailing_zeros(flagged) >> 3)
            flagged &= flagged - np.uint64(1)
            found += 1
    return found


@intrinsic
def multiply_high(_context: Any, a: Any, b: Any) -> Any:
    """The upper 64 bits of the 128-bit product of two uint64."""
    signature = types.uint64(types.uint64, types.uint64)

    def generate(_target: Any, builder: ir.IRBuilder, _signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return signature, generate


@intrinsic
def count_trailing_zeros(_context: Any, word: Any) -> Any:
    """The position of the lowest set bit; 64 for zero."""
    signature = types.int64(types.uint64)

    def generate(_target: Any, builder: ir.IRBuilder, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return signature, generate


@part
def open_privates(key, work, blocks):
    """Fill ``blocks[:256]`` with the first private blocks of the sixteen slots in ``work[32:48]``."""
    counters = work[16:32]
    for lane in range(GROUP_BLOCKS):
        counters[lane] = work[WAITING + lane]
    fill_group(key, counters, PRIVATE, np.uint32(0), blocks, 0)


@part
def open_consecutive(key, first, work, blocks):
    """Fill ``blocks[:256]`` with the first private blocks of slots first, first + 1, ..., first + 15."""
    for lane in range(GROUP_BLOCKS):
        work[WAITING + lane] = first + np.uint64(lane)
    open_privates(key, work, blocks)


@inlined
def select_private(slot, lane, work):
    """Make lane ``lane`` of ``blocks[:256]`` the stream that :func:`next_word` reads."""
    work[0] = slot
    work[1] = np.uint64(lane)
    work[2] = np.uint64(BLOCK_WORDS)
    work[3] = np.uint64(1)


@part
def _open_further(key, work, blocks):
    """Write the record's next private block to ``blocks[256:]`` and read on there."""
    counters = work[16:32]
    for lane in range(GROUP_BLOCKS):
        counters[lane] = work[0]
    fill_group(key, counters, PRIVATE, np.uint32(work[3]), blocks, GROUP_WORDS)
    work[1] = np.uint64(GROUP_WORDS)
    work[2] = np.uint64(BLOCK_WORDS)
    work[3] += np.uint64(1)


@inlined
def next_word(key, work, blocks):
    """The next 64 uniform bits of the selected private stream; it never ends."""
    if work[2] == np.uint64(0):
        _open_further(key, work, blocks)
    place = np.int64(work[1])
    work[1] += np.uint64(2 * GROUP_BLOCKS)
    work[2] -= np.uint64(1)
    return np.uint64(blocks[place]) | (np.uint64(blocks[place + GROUP_BLOCKS]) << np.uint64(32))


@inlined
def draw_below(count, key, work, blocks):
    """A uniform integer in [0, count), exactly: multiply and shift, redrawn where it would be uneven (Lemire 2019)."""
    word = next_word(key, work, blocks)
    low = word * count
    if low < count:
        uneven = (np.uint64(0) - count) % count
        while low < uneven:
            word = next_word(key, work, blocks)
            low = word * count
    return multiply_high(word, count)
