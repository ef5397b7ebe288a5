"""The integers of local hashing: buckets of hashes, public cohorts, and exact probabilities of support."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fastdp.kernels.local.hashing import LINE_BITS, PRIME
from fastdp.laws.local.krr import KRRLaw
from fastdp.laws.loss_atoms import atomic, mixed
from fastdp.losses import AtomicLoss

PRIME_BITS = 31
LARGEST_G = 4096
"""A hash is cut from 16 bits: with more hashes, they would be less even than one part in sixteen."""


class Buckets(NamedTuple):
    """Where the buckets of a line's numbers begin and how wide they are, in units of 2**-32."""

    starts: np.ndarray  # uint32[g]
    widths: np.ndarray  # uint32[g]


def best_g(epsilon: float) -> int:
    """The number of hashes that estimates best, e**epsilon + 1 rounded, up to LARGEST_G.

    >>> best_g(1.0)
    4
    """
    return round(math.exp(min(epsilon, math.log(LARGEST_G - 1)))) + 1


def edges(g: int, bits: int, numbers: int) -> list[int]:
    """Where the hashes floor(x * g / 2**bits) of x = 0, 1, ..., numbers - 1 begin, and the end."""
    return [min(numbers, -(-(y << bits) // g)) for y in range(g)] + [numbers]


@lru_cache(maxsize=64)
def buckets(g: int) -> Buckets:
    """The buckets of a line's numbers."""
    ends = np.array(edges(g, LINE_BITS, 1 << LINE_BITS), np.uint64) << np.uint64(32 - LINE_BITS)
    found = Buckets(ends[:-1].astype(np.uint32), np.diff(ends).astype(np.uint32))
    for array in found:
        array.setflags(write=False)
    return found


@dataclass(frozen=True, slots=True)
class HashLaw:
    """A hash to g values, randomized by k-ary randomized response on them."""

    krr: KRRLaw
    in_cohorts: bool

    @property
    def collision(self) -> Fraction:
        """The probability that two values have the same hash, over the hash functions: close to 1 / g."""
        bits, numbers = (PRIME_BITS, PRIME) if self.in_cohorts else (LINE_BITS, 1 << LINE_BITS)
        ends = edges(self.krr.k, bits, numbers)
        return Fraction(sum((b - a) ** 2 for a, b in pairwise(ends)), numbers**2)

    @property
    def p(self) -> Fraction:
        """The probability of a report to support the true value: KEEP, or its hash by chance."""
        keep = self.krr.keep
        return keep + (1 - keep) / self.krr.k

    @property
    def q(self) -> Fraction:
        """The probability to support a given other value: KEEP and a collision, or its hash by chance."""
        keep = self.krr.keep
        return keep * self.collision + (1 - keep) / self.krr.k

    @property
    def cost(self) -> float:
        """The epsilon of a report, rounded up: that of its randomized hash."""
        return self.krr.cost

    def loss(self) -> AtomicLoss:
        """The privacy loss of a hash of one value instead of another: none where both have the same hash.

        The functions of cohorts are public, so that two values may never have the same hash.
        """
        same = Fraction(0) if self.in_cohorts else self.collision
        nothing = [(Fraction(1), Fraction(1))]
        return atomic(mixed([(1 - same, self.krr.pairs()), (same, nothing)]), margin=self.krr.margin)


@lru_cache(maxsize=16)
def polynomials(salt: int, cohorts: int) -> np.ndarray:
    """The coefficients of every cohort's polynomial, uint32[3, cohorts]; anyone can compute them from the salt.

    Sixteen bytes of a digest, modulo the prime, are uniform up to 2**-97.
    """
    found = np.empty((3, cohorts), np.uint32)
    for cohort in range(cohorts):
        digest = hashlib.blake2b(f"{salt}:{cohort}".encode(), digest_size=48, person=b"fastdp cohorts").digest()
        for row in range(3):
            found[row, cohort] = int.from_bytes(digest[16 * row : 16 * row + 16], "little") % PRIME
    found.setflags(write=False)
    return found
