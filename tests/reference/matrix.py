"""Reports through a matrix in plain Python: 128 bits among the intervals of a row's shares."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from tests.reference.cells import HALVES, PRIVATE
from tests.reference.keystream import Private, plane_word


def draw(key: tuple[int, ...], slot: int, shares: Sequence[int]) -> int:
    """The outcome of a slot: 16 bits of the plane and 112 of the private stream; shares sum to 2**128."""
    private = Private(key, slot, PRIVATE)
    first = plane_word(key, HALVES, slot, 16) << 48 | private.next() >> 16
    return bisect_right(list(accumulate(shares))[:-1], first << 64 | private.next())
