"""Subset selection in plain Python: the same bits, sets as sets, one record at a time."""

from __future__ import annotations

import numpy as np

from tests.reference.cells import PRIVATE
from tests.reference.hadamard import coin
from tests.reference.keystream import Private, block

COIN_ATTEMPT = 1 << 31


def pieces(key, slot: int, attempt: int, bits: int):
    """The private stream from a block on, ``bits`` at a time."""
    while True:
        for word in block(key, slot, PRIVATE, attempt):
            for shift in range(0, 32, bits):
                yield word >> shift & (1 << bits) - 1
        attempt += 1


def floyd(key, slot: int, bounds: range, attempt: int, bits: int, *, skip_first: bool) -> set[int] | None:
    """A uniform set by Floyd's algorithm; None where a piece of the stream is uneven."""
    source, chosen, is_even = pieces(key, slot, attempt, bits), set(), True
    for step, bound in enumerate(bounds):
        product = next(source) * bound
        is_even &= product % 2**bits >= 2**bits % bound
        place = product >> bits
        if step or not skip_first:
            chosen.add(bound - 1 if place in chosen else place)
    return chosen if is_even else None


def subset(key, slot: int, value: int, threshold: int, k: int, size: int, bits: int) -> tuple[set[int], int]:
    """The set of a slot, and how often it was drawn."""
    private = Private(key, slot, PRIVATE)
    private._attempt = COIN_ATTEMPT
    heads = coin(key, slot, threshold, private)
    blocks, attempts = -(-size * bits // 512), 0
    chosen = None
    while chosen is None:
        chosen = floyd(key, slot, range(k - size, k), attempts * blocks, bits, skip_first=heads)
        attempts += 1
    others = {k - 1 if place == value else place for place in chosen}
    return others | {value} if heads else others, attempts


def unpack(reports: np.ndarray, k: int) -> np.ndarray:
    """Packed reports as rows of k bits."""
    return np.unpackbits(reports, axis=1, bitorder="little")[:, :k]
