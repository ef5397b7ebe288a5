"""Answers that are a fixed function of a secret key, a person and a value: asked again, they are the same.

The randomness of (person, value) is a keystream of its own: blocks whose counter is the person and whose attempt is the
value, on planes that nothing else reads. The key is not that of an Rng, and always one of ChaCha20: the answers are
the same on every machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastdp.kernels.jit import inlined, kernel, part
from fastdp.kernels.memory import zeros_aligned
from fastdp.kernels.stream.keystream import GROUP_BLOCKS, GROUP_WORDS, fill_group
from fastdp.kernels.stream.words import multiply_high

ANSWERS = np.uint32(1 << 16)
"""The first plane of permanent k-RR answers; the next ones go on where a block is used up."""
TRUTHS = np.uint32(1 << 17)
"""The plane of the true value's coin."""
SAMPLES = np.uint32(1 << 18)
"""The first plane of the buckets that a person answers for."""
SETS = np.uint32(1 << 24)
"""The first plane of sets of bits: the number of a 64-bit word of the set, plus 2**20 per 8 digits compared."""
OUT_OF_DOMAIN = 1
_DIGITS = 128
_BLOCK_WORDS = 8
_U = np.uint64
_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


class PermanentScratch(NamedTuple):
    """One thread's working memory."""

    counters: np.ndarray  # uint64[16]: persons
    tags: np.ndarray  # uint32[16]: values
    blocks: np.ndarray  # uint32[256]
    chosen: np.ndarray  # int64[16]: how far a sample has come
    level: np.ndarray  # uint64[16]: lanes still level with the threshold
    below: np.ndarray  # uint64[16]: outcomes


def make_permanent_scratch() -> PermanentScratch:
    """Fresh working memory for one thread."""
    return PermanentScratch(
        counters=zeros_aligned(GROUP_BLOCKS, np.uint64),
        tags=zeros_aligned(GROUP_BLOCKS, np.uint32),
        blocks=zeros_aligned(GROUP_WORDS, np.uint32),
        chosen=zeros_aligned(GROUP_BLOCKS, np.int64),
        level=zeros_aligned(GROUP_BLOCKS, np.uint64),
        below=zeros_aligned(GROUP_BLOCKS, np.uint64),
    )


@inlined
def _word(blocks, lane, word):
    """64 bits of one block of a group."""
    place = 2 * word * GROUP_BLOCKS + lane
    return _U(blocks[place]) | (_U(blocks[place + GROUP_BLOCKS]) << _U(32))


@inlined
def _load(first, persons, codes, scratch):
    """Put up to sixteen records from ``first`` on in place; how many there are."""
    count = min(GROUP_BLOCKS, codes.size - first)
    for lane in range(count):
        scratch.counters[lane] = persons[first + lane]
        scratch.tags[lane] = np.uint32(codes[first + lane])
    return count


@kernel
def fill_permanent_krr(key, persons, codes, keep_high, keep_low, k, scratch, out):
    """Write each person's permanent answer: the code with probability keep / 2**128, else uniform below k.

    Pre:  persons is uint64; 1 <= k < 2**32.
    Post: out[i] is a function of the key, persons[i] and codes[i]; OUT_OF_DOMAIN if any code is not in [0, k).
    """
    size = _U(k)
    uneven = (_U(0) - size) % size
    bad = np.uint8(0)
    for first in range(0, codes.size, GROUP_BLOCKS):
        count = _load(first, persons, codes, scratch)
        fill_group(key, scratch.counters, ANSWERS, scratch.tags, scratch.blocks, 0)
        unfinished = False
        for lane in range(count):
            code = codes[first + lane]
            bad |= np.uint8(_U(np.int64(code)) >= size)
            upper, lower = _word(scratch.blocks, lane, 0), _word(scratch.blocks, lane, 1)
            scratch.level[lane] = _U(0)
            if upper < keep_high or (upper == keep_high and lower < keep_low):
                out[first + lane] = code
                continue
            word = _word(scratch.blocks, lane, 2)
            out[first + lane] = np.int64(multiply_high(word, size))
            if word * size < uneven:
                scratch.level[lane] = _U(1)
                unfinished = True
        attempt = 1
        while unfinished:  # a draw that would be uneven, one in 2**64 / k
            fill_group(key, scratch.counters, ANSWERS + np.uint32(attempt), scratch.tags, scratch.blocks, 0)
            unfinished = False
            for lane in range(count):
                if scratch.level[lane] != _U(0):
                    word = _word(scratch.blocks, lane, 0)
                    out[first + lane] = np.int64(multiply_high(word, size))
                    scratch.level[lane] = _U(word * size < uneven)
                    unfinished |= word * size < uneven
            attempt += 1
    return bad


@part
def _fill_set_words(count, key, word, high, low, width, scratch, out):
    """Write one 64-bit word of the sets of up to sixteen records, every bit a coin of (high, low)."""
    for lane in range(count):
        scratch.level[lane] = _ONES
        scratch.below[lane] = _U(0)
    undecided = True
    attempt = 0
    while undecided and attempt * _BLOCK_WORDS < _DIGITS:
        plane = SETS + np.uint32(word) + (np.uint32(attempt) << np.uint32(20))
        fill_group(key, scratch.counters, plane, scratch.tags, scratch.blocks, 0)
        undecided = False
        for lane in range(count):
            level, below = scratch.level[lane], scratch.below[lane]
            for i in range(_BLOCK_WORDS):
                position = attempt * _BLOCK_WORDS + i
                digits, place = (high, 63 - position) if position < 64 else (low, 127 - position)
                ones = _U(0) - ((digits >> _U(place)) & _U(1))
                uniform = _word(scratch.blocks, lane, i)
                below |= level & ~uniform & ones
                level &= ~(uniform ^ ones)
            scratch.level[lane], scratch.below[lane] = level, below
            undecided |= level != _U(0)
        attempt += 1
    first = 8 * word
    for lane in range(count):
        for byte in range(first, min(first + 8, width)):
            out[lane * width + byte] = np.uint8(scratch.below[lane] >> _U(8 * (byte - first)))


@kernel
def fill_permanent_sets(key, persons, codes, by_value, q_high, q_low, p_high, p_low, k, scratch, out):
    """Write each person's permanent set of k bits: the code's is a coin of p, all others are coins of q.

    Pre:  out holds (k + 7) // 8 bytes per code.
    Post: a set is a function of the key, persons[i] and codes[i]; bits beyond k are 0. Without ``by_value`` the coin of
          a bit depends on the value only through being its own or not. OUT_OF_DOMAIN if any code is not in [0, k).
    """
    width = (k + 7) // 8
    unused = np.uint8(0xFF >> (8 * width - k))
    bad = np.uint8(0)
    for first in range(0, codes.size, GROUP_BLOCKS):
        count = _load(first, persons, codes, scratch)
        fill_group(key, scratch.counters, TRUTHS, scratch.tags, scratch.blocks, 0)
        truths = _U(0)
        for lane in range(count):
            upper, lower = _word(scratch.blocks, lane, 0), _word(scratch.blocks, lane, 1)
            truths |= _U(upper < p_high or (upper == p_high and lower < p_low)) << _U(lane)
            if not by_value:
                scratch.tags[lane] = np.uint32(0)
        for word in range((width + 7) // 8):
            _fill_set_words(count, key, word, q_high, q_low, width, scratch, out[first * width :])
        for lane in range(count):
            code = _U(np.int64(codes[first + lane]))
            if code >= _U(k):
                bad = np.uint8(OUT_OF_DOMAIN)
                continue
            base = (first + lane) * width
            out[base + width - 1] &= unused
            place, shift = base + np.int64(code >> _U(3)), code & _U(7)
            bit = (truths >> _U(lane)) & _U(1)
            out[place] = np.uint8((_U(out[place]) & ~(_U(1) << shift)) | (bit << shift))
    return bad


@kernel
def fill_samples(key, persons, k, size, scratch, out):
    """Write each person's ``size`` of k buckets as a packed set, uniform over all such sets (Floyd's algorithm).

    Post: a set is a function of the key and persons[i]; bits beyond k are 0.
    """
    width = (k + 7) // 8
    for i in range(out.size):
        out[i] = np.uint8(0)
    for first in range(0, persons.size, GROUP_BLOCKS):
        count = min(GROUP_BLOCKS, persons.size - first)
        for lane in range(count):
            scratch.counters[lane] = persons[first + lane]
            scratch.chosen[lane] = k - size
        block = 0
        undone = True
        while undone:
            fill_group(key, scratch.counters, SAMPLES + np.uint32(block), np.uint32(0), scratch.blocks, 0)
            undone = False
            for lane in range(count):
                sample = out[(first + lane) * width : (first + lane + 1) * width]
                scratch.chosen[lane] = _draw_sample(scratch.blocks, lane, scratch.chosen[lane], k, sample)
                undone |= scratch.chosen[lane] < k
            block += 1


@inlined
def _draw_sample(blocks, lane, last, k, sample):
    """Go on with Floyd's loop from element ``last``, as far as the block's eight words reach; where it then stands."""
    word = 0
    while word < _BLOCK_WORDS and last < k:
        bound = _U(last + 1)
        uniform = _word(blocks, lane, word)
        word += 1
        if uniform * bound < bound and uniform * bound < (_U(0) - bound) % bound:
            continue  # uneven: draw again
        chosen = np.int64(multiply_high(uniform, bound))
        if (sample[chosen >> 3] >> np.uint8(chosen & 7)) & np.uint8(1):
            chosen = last
        sample[chosen >> 3] |= np.uint8(1 << (chosen & 7))
        last += 1
    return last
