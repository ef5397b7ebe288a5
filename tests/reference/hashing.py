"""Local hashing in plain Python: the same bits, one record at a time."""

from __future__ import annotations

import hashlib

import numpy as np

from tests.reference.cells import PRIVATE
from tests.reference.keystream import Private, plane_word
from tests.reference.krr import KEEP, entry
from tests.reference.private import below

FACTORS, OFFSETS, COHORTS = 100, 101, 102
PRIME = 2**31 - 1


def line(seed, value, g):
    """The hash of a value by a seed; of arrays too."""
    seed, value = np.asarray(seed, np.uint64), np.asarray(value, np.uint64)
    x = ((seed & np.uint64(0xFFFFFFFF)) * value + (seed >> np.uint64(32))) & np.uint64(0xFFFFFFFF)
    return ((x >> np.uint64(16)) * np.uint64(g)) >> np.uint64(16)


def coefficients(salt: int, cohort: int) -> tuple[int, ...]:
    digest = hashlib.blake2b(f"{salt}:{cohort}".encode(), digest_size=48, person=b"fastdp cohorts").digest()
    return tuple(int.from_bytes(digest[i : i + 16], "little") % PRIME for i in (0, 16, 32))


def polynomial(salt: int, cohort: int, value: int, g: int) -> int:
    a, b, c = coefficients(salt, cohort)
    return (a * value**2 + b * value + c) % PRIME * g >> 31


class HashSampler:
    """Reports of one mechanism for one key."""

    def __init__(self, mechanism, key):
        self.m, self.key = mechanism, key
        self.keep = int(mechanism._law.krr.keep * 2**128)
        self.finished = 0

    def _entry(self, slot: int, private: Private) -> int:
        found, late = entry(self.key, slot, self.keep, self.m.g, private)
        self.finished += late
        return found

    def report(self, slot: int, value: int) -> tuple[int, int]:
        """Seed and value."""
        seed = plane_word(self.key, FACTORS, slot, 32) | plane_word(self.key, OFFSETS, slot, 32) << 32
        found = self._entry(slot, Private(self.key, slot, PRIVATE))
        return seed, int(line(seed, value, self.m.g)) if found == KEEP else found

    def cohort_report(self, slot: int, value: int) -> int:
        cohorts, private = self.m.cohorts, Private(self.key, slot, PRIVATE)
        product = plane_word(self.key, COHORTS, slot, 32) * cohorts
        cohort = below(cohorts, private) if product % 2**32 < 2**32 % cohorts else product >> 32
        found = self._entry(slot, private)
        return cohort * self.m.g + (polynomial(self.m.salt, cohort, value, self.m.g) if found == KEEP else found)
