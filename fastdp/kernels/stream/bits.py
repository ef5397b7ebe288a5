"""Coin flips by the word: 64 lanes at a time, decided by the binary digits of their probability.

A lane's uniform number is read digit by digit, one plane of keystream per digit, and compared with the digits of the
threshold; every plane halves the lanes that are still level with it. After PLANES of them one word in nine has such
lanes, and goes on with a private stream of its own until all 128 digits have been compared. The outcome is exact: a
lane is 1 with probability threshold / 2**128.

A *bit slot* s is lane s % 64 of word s // 64 of the BIT planes; a *byte slot* s is byte s % 8 of word s // 8 of the
BYTE planes. Both numberings have planes of their own, so that a slot that was reserved once is never read twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastdp.kernels.jit import inlined, part
from fastdp.kernels.memory import zeros_aligned
from fastdp.kernels.stream.keystream import GROUP_BLOCKS, GROUP_WORDS, fill_group

BIT_PLANES = np.uint32(32)
"""The first of the planes for bit slots; the one after the last of them holds the words' private streams."""
BYTE_PLANES = np.uint32(48)
"""The same for byte slots."""
PLANES = 9
"""Digits compared for every lane. Fewer cost less keystream but leave more words to finish one by one: 0.37 ns per lane
with 8, 0.29 with 9, 0.30 with 10. Dealing the bits of one more word out to the lanes that are level after 5 planes
(the x86 instruction pdep) reached 0.27, too little for its complexity."""
TILE_WORDS = GROUP_WORDS // 2
"""Words that are decided together: one group of keystream per plane."""
_DIGITS = 128

_U = np.uint64
_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


class BitScratch(NamedTuple):
    """One thread's working memory for coin flips; two names for one buffer where it is read at two widths."""

    raw: np.ndarray  # uint32[256]: one plane of a tile
    words: np.ndarray  # the same, as uint64
    level: np.ndarray  # uint64[128]: lanes that are still level with the threshold
    tile: np.ndarray  # uint64[128]: the outcomes
    tile_bytes: np.ndarray  # the same, as uint8
    truth: np.ndarray  # uint64[128]: outcomes of a second kind
    pending: np.ndarray  # int64[16]: places of words to finish
    counters: np.ndarray  # uint64[16]
    blocks: np.ndarray  # uint32[256]


def make_bit_scratch() -> BitScratch:
    """Fresh working memory for one thread."""
    raw, tile = zeros_aligned(GROUP_WORDS, np.uint32), zeros_aligned(TILE_WORDS, np.uint64)
    return BitScratch(
        raw=raw,
        words=raw.view(np.uint64),
        level=zeros_aligned(TILE_WORDS, np.uint64),
        tile=tile,
        tile_bytes=tile.view(np.uint8),
        truth=zeros_aligned(TILE_WORDS, np.uint64),
        pending=zeros_aligned(GROUP_BLOCKS, np.int64),
        counters=zeros_aligned(GROUP_BLOCKS, np.uint64),
        blocks=zeros_aligned(GROUP_WORDS, np.uint32),
    )


@part
def _compare_digit(words, digit, level, out):
    """Settle the lanes whose next digit differs from the threshold's: below it they are 1."""
    if digit:
        for word in range(words.size):
            out[word] |= level[word] & ~words[word]
            level[word] &= words[word]
    else:
        for word in range(words.size):
            level[word] &= ~words[word]


@inlined
def _digit(position, high, low):
    """A binary digit of the threshold, the highest first."""
    word, place = (high, 63 - position) if position < 64 else (low, 127 - position)
    return (word >> _U(place)) & _U(1)


@part
def _finish_words(count, key, planes, first_word, high, low, pending, levels, counters, blocks, out):
    """Finish up to sixteen words with lanes that are level after PLANES digits; ``pending`` lists them."""
    for lane in range(GROUP_BLOCKS):
        counters[lane] = first_word + _U(pending[min(lane, count - 1)])
    attempt = 0
    undecided = True
    while undecided:
        fill_group(key, counters, planes + np.uint32(PLANES), np.uint32(attempt), blocks, 0)
        undecided = False
        for i in range(count):
            place = pending[i]
            level = levels[place]
            for word in range(8):
                position = PLANES + 8 * attempt + word
                if position >= _DIGITS:
                    level = _U(0)
                if level == _U(0):
                    break
                at = 2 * word * GROUP_BLOCKS + i
                uniform = _U(blocks[at]) | (_U(blocks[at + GROUP_BLOCKS]) << _U(32))
                if _digit(position, high, low):
                    out[place] |= level & ~uniform
                    level &= uniform
                else:
                    level &= ~uniform
            levels[place] = level
            undecided |= level != _U(0)
        attempt += 1


@part
def fill_bit_tile(key, planes, tile, high, low, scratch, out):
    """Write the 128 words of one tile; each bit is 1 with probability (high * 2**64 + low) / 2**128.

    Pre:  0 < threshold < 2**128; out is uint64[128] and not scratch.words or scratch.level.
    Bits: words 128 * tile, ... of the PLANES planes from ``planes`` on, and the blocks of the plane after those whose
          counters are the words' numbers.
    """
    counters, blocks, level, pending = scratch.counters, scratch.blocks, scratch.level, scratch.pending
    for word in range(TILE_WORDS):
        out[word] = _U(0)
        level[word] = _ONES
    first_word = tile * _U(TILE_WORDS)
    rest_high, rest_low = high, low
    for plane in range(PLANES):
        for block in range(GROUP_BLOCKS):
            counters[block] = tile * _U(GROUP_BLOCKS) + _U(block)
        fill_group(key, counters, planes + np.uint32(plane), np.uint32(0), scratch.raw, 0)
        _compare_digit(scratch.words, (rest_high >> _U(63)) != _U(0), level, out)
        rest_high = (rest_high << _U(1)) | (rest_low >> _U(63))
        rest_low <<= _U(1)
        if rest_high == _U(0) and rest_low == _U(0):
            return  # all further digits are zero: a lane that is level is not below
    waiting = 0
    for word in range(TILE_WORDS):
        if level[word] != _U(0):
            pending[waiting] = word
            waiting += 1
            if waiting == GROUP_BLOCKS:
                _finish_words(waiting, key, planes, first_word, high, low, pending, level, counters, blocks, out)
                waiting = 0
    if waiting > 0:
        _finish_words(waiting, key, planes, first_word, high, low, pending, level, counters, blocks, out)
