"""Passes over the scores of candidates, in whole steps of a grid: the largest, counts of gaps, the candidate of a rank.

A *step* is a score rounded down to a multiple of the grid, clamped to 2**61 steps: both keep scores that differ by s
steps at most that far apart. A *gap* is the number of steps below the largest score, and gaps are counted in buckets
of 2**shift steps, the last of which holds all that lie beyond.

Candidates that were chosen before are passed over: ``skipped`` holds their indices in ascending order.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import kernel, overload, types

LARGEST_STEP = 1 << 61
_OPTIONS = {"nogil": True, "error_model": "numpy", "boundscheck": False, "_nrt": False}
_FARTHEST = np.int64(LARGEST_STEP)
_LARGEST_FLOAT = np.finfo(np.float64).max


def step_of(score, inverse):
    """The step of a score; ``inverse`` is 1 / grid, and integers are steps as they are."""
    raise NotImplementedError


@overload(step_of, jit_options=_OPTIONS, inline="always")
def _step_of(score, inverse):
    if isinstance(score, types.Float):

        def of_float(score, inverse):
            scaled = np.floor(np.float64(score) * inverse)
            return np.int64(min(max(scaled, -np.float64(LARGEST_STEP)), np.float64(LARGEST_STEP)))

        return of_float

    def of_integer(score, inverse):
        return min(max(np.int64(score), -_FARTHEST), _FARTHEST)

    return of_integer


@kernel
def find_largest(scores, inverse, skipped):
    """The largest step of the candidates that are not skipped, -2**62 if there is none; and whether all are finite.

    Pre:  integers lie below 2**63.
    """
    best = np.int64(-2) * _FARTHEST
    finite = True
    first = 0
    for number in range(skipped.size + 1):
        stop = skipped[number] if number < skipped.size else scores.size
        if first < stop:
            largest = scores[first]
            for index in range(first, stop):
                score = scores[index]
                largest = score if score > largest else largest
                finite &= abs(np.float64(score)) <= _LARGEST_FLOAT
            best = max(best, step_of(largest, inverse))
        first = stop + 1
    return best, finite


@kernel
def count_gaps(scores, inverse, largest, shift, skipped, tables, counts):
    """Add the number of candidates in each bucket of gaps to ``counts``.

    Pre:  tables is int64[4, counts.size] and zero; so it is afterwards. Four of them take turns, so that equal
          neighbours do not wait for one another.
    """
    last = np.int64(counts.size - 1)
    even = scores.size // 4 * 4
    for index in range(0, even, 4):
        for turn in range(4):
            gap = max(largest - step_of(scores[index + turn], inverse), np.int64(0))
            tables[turn, min(gap >> shift, last)] += 1
    for index in range(even, scores.size):
        gap = max(largest - step_of(scores[index], inverse), np.int64(0))
        tables[0, min(gap >> shift, last)] += 1
    for number in range(skipped.size):
        gap = max(largest - step_of(scores[skipped[number]], inverse), np.int64(0))
        tables[0, min(gap >> shift, last)] -= 1
    for bucket in range(counts.size):
        for turn in range(4):
            counts[bucket] += tables[turn, bucket]
            tables[turn, bucket] = 0


@kernel
def find_rank(scores, inverse, largest, shift, skipped, last, bucket, rank):
    """The index and gap of the candidate with ``rank`` others of its bucket before it; index -1 if there is none."""
    first = 0
    for number in range(skipped.size + 1):
        stop = skipped[number] if number < skipped.size else scores.size
        for index in range(first, stop):
            gap = largest - step_of(scores[index], inverse)
            if min(gap >> shift, last) == bucket:
                if rank == 0:
                    return index, gap
                rank -= 1
        first = stop + 1
    return -1, np.int64(0)
