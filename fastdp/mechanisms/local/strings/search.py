"""The search for frequent strings: level by level, the likeliest prefixes are extended by all next bits."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

import numpy as np

from fastdp.errors import InputCorruptError
from fastdp.kernels.local.strings import count_candidates, fill_folds, fill_levels
from fastdp.threads import for_each_block

ALLOWED = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The candidates of the last level that were kept, how many reports support each, and of how many candidates."""

    words: np.ndarray
    support: np.ndarray
    reports: int
    tested: int


def extend(words: np.ndarray, known: int, bits: int) -> np.ndarray:
    """All strings of ``bits`` bits that begin with one of these of ``known`` bits."""
    more = bits - known
    endings = np.arange(1 << more, dtype=np.uint64)
    longer = np.repeat(words, 1 << more, axis=0)
    added = np.tile(endings, len(words))
    for place in range(more):  # a step may cross from one word to the next
        word, bit = divmod(known + place, 64)
        longer[:, word] |= ((added >> np.uint64(more - 1 - place)) & np.uint64(1)) << np.uint64(63 - bit)
    return longer


def search(
    owner: str, seeds: np.ndarray, values: np.ndarray, ends: np.ndarray, prefix_bits: np.ndarray, edges: np.ndarray,
    words: int, width: int, rates: tuple[float, float],
) -> Found:  # fmt: skip
    """The ``width`` best strings; reports of one level each tell of prefixes of one length.

    A prefix has at least the share of what it begins, so that the mean over all levels so far is a steadier bound of a
    string's share than its own level: candidates are ranked by that mean, but no higher than ALLOWED standard errors
    above their own level's estimate, which keeps the siblings of a frequent string out.
    """
    p, q = rates
    levels = np.empty(seeds.size, np.uint8)
    fill_levels(seeds, ends, levels)
    starts = edges[:-1].astype(np.uint64) << np.uint64(48)
    widths = np.diff(edges).astype(np.uint64) << np.uint64(48)
    kept, known = np.zeros((1, words), np.uint64), 0
    means, weight = np.zeros(1), 0
    found = Found(kept, np.zeros(1, np.int64), 0, 1)
    for level, bits in enumerate(prefix_bits.tolist()):
        chosen = levels == level
        own_seeds, own_values = seeds[chosen], values[chosen]
        candidates = extend(kept, known, bits)
        folded, support = np.empty(len(candidates), np.uint64), np.zeros(len(candidates), np.int64)
        fill_folds(candidates, bits, folded)
        lock = threading.Lock()

        def count(
            start: int, stop: int, seeds: np.ndarray = own_seeds, values: np.ndarray = own_values,
            folded: np.ndarray = folded, support: np.ndarray = support, lock: threading.Lock = lock,
        ) -> None:  # fmt: skip
            own = np.zeros(support.size, np.int64)
            if count_candidates(seeds[start:stop], values[start:stop], starts, widths, folded, own):
                raise InputCorruptError(f"{owner}: the reports hold a value that is not below {widths.size}")
            with lock:
                np.add(support, own, out=support)

        for_each_block(own_seeds.size, count)
        size = max(own_seeds.size, 1)
        shares = (support / size - q) / (p - q)
        pooled = (weight * np.repeat(means, len(candidates) // len(means)) + size * shares) / (weight + size)
        slack = ALLOWED * math.sqrt(q * (1 - q) / size) / (p - q)
        best = np.argsort(-np.minimum(pooled, shares + slack), kind="stable")[:width]
        kept, known, means, weight = candidates[best], bits, pooled[best], weight + size
        found = Found(kept, support[best], own_seeds.size, len(candidates))
    return found
