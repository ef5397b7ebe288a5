"""Independent acceptances of candidates, each with probability e**-(rate * gap): the flips of permute-and-flip."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.selection.scores import step_of
from fastdp.kernels.stream.keystream import GROUP_WORDS, fill_attempt
from fastdp.kernels.stream.words import TILE, WORDS, locate


@inlined
def _fill_words(key, tile, scratch):
    """The 32-bit words of the slots of one tile."""
    groups = TILE // GROUP_WORDS
    fill_attempt(key, WORDS, 0, tile * np.uint64(groups), groups, scratch.work[16:32], scratch.words)


@kernel
def count_accepted(key, start, scores, inverse, largest, shift, sure, possible, scratch, undecided):
    """How many candidates are surely accepted; the indices of those that 32 bits leave open go to ``undecided``.

    A candidate whose word is u and whose gap lies in bucket b is accepted if u < sure[b], and open if u is from
    sure[b] to possible[b]; the last bucket holds all gaps beyond.

    Pre:  scores are finite, and no gap is negative; undecided.size >= scores.size.
    Post: the first number returned counts the accepted ones, the second the open ones.
    Bits: the 32-bit word of each candidate's slot, and no other.
    """
    last = np.int64(sure.size - 1)
    accepted, open_ones, done = 0, 0, 0
    while done < scores.size:
        _, tile, lane, count = locate(start, done, scores.size)
        _fill_words(key, tile, scratch)
        for offset in range(count):
            word = np.uint64(scratch.words[lane + offset])
            gap = largest - step_of(scores[done + offset], inverse)
            bucket = min(gap >> shift, last)
            is_sure = word < sure[bucket]
            accepted += is_sure
            undecided[open_ones] = done + offset
            open_ones += (not is_sure) & (word <= possible[bucket])
        done += count
    return accepted, open_ones


@kernel
def find_accepted(key, start, scores, inverse, largest, shift, sure, settled, scratch, rank):
    """The index of the accepted candidate that has ``rank`` others before it; ``settled`` are accepted open ones.

    Pre:  as above; settled is ascending; more than ``rank`` candidates are accepted.
    """
    last = np.int64(sure.size - 1)
    done, number = 0, 0
    while done < scores.size:
        _, tile, lane, count = locate(start, done, scores.size)
        _fill_words(key, tile, scratch)
        for offset in range(count):
            word = np.uint64(scratch.words[lane + offset])
            bucket = min((largest - step_of(scores[done + offset], inverse)) >> shift, last)
            accepted = word < sure[bucket]
            if number < settled.size and settled[number] == done + offset:
                accepted = True
                number += 1
            if accepted:
                if rank == 0:
                    return done + offset
                rank -= 1
        done += count
    return -1


@kernel
def read_word(key, slot, scratch):
    """The 32-bit word of one slot, as the passes above read it."""
    _fill_words(key, slot // np.uint64(TILE), scratch)
    return scratch.words[np.int64(slot % np.uint64(TILE))]
