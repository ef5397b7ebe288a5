"""k-ary randomized response in plain Python: exact shares of [0, 2**128), one record at a time."""

from __future__ import annotations

from tests.reference.cells import HALVES
from tests.reference.keystream import Private, plane_word

KEEP = -1
EIGHTHS = 5
LARGEST_NARROW = 126


def share(uniform: int, keep: int, k: int) -> int:
    """Whose share the number lies in: what is kept comes first, then k shares, each begun at its place rounded down."""
    if uniform < keep:
        return KEEP
    value = (uniform - keep) * k // (2**128 - keep)
    while value < k - 1 and keep + (2**128 - keep) * (value + 1) // k <= uniform:
        value += 1
    return value


def entry(key: tuple[int, ...], slot: int, keep: int, k: int, private: Private) -> tuple[int, bool]:
    """KEEP or the report at a slot; and whether the planes alone did not decide it."""
    bits, draw = 16, plane_word(key, HALVES, slot, 16)
    if k > LARGEST_NARROW:
        bits, draw = 24, draw << 8 | plane_word(key, EIGHTHS, slot, 8)
    first, last = draw << 128 - bits, ((draw + 1) << 128 - bits) - 1
    low, high = share(first, keep, k), share(last, keep, k)
    if low == high:
        return low, False
    return share(first | (private.next() >> bits) << 64 | private.next(), keep, k), True
