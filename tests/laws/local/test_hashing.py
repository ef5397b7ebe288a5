"""Hashing to g values: buckets that cover every number once, and the collisions of all functions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fastdp.laws.local.hashing import LARGEST_G, PRIME, HashLaw, best_g, buckets, edges, polynomials
from fastdp.laws.local.krr import KRRLaw
from fastdp.laws.rate import Rate


@pytest.mark.parametrize("g, bits, numbers", [(2, 4, 16), (3, 5, 31), (7, 6, 64), (16, 4, 16)])
def test_edges__are_where_the_hash_changes(g, bits, numbers):
    hashes = [x * g >> bits for x in range(numbers)]
    begins = edges(g, bits, numbers)
    assert [hashes.count(y) for y in range(g)] == np.diff(begins).tolist()
    assert begins[0] == 0


@pytest.mark.parametrize("g", [2, 3, 100, LARGEST_G])
def test_buckets__cover_all_numbers_once(g):
    found = buckets(g)
    assert int(found.widths.astype(np.uint64).sum()) == 1 << 32
    assert (np.cumsum(found.widths.astype(np.uint64))[:-1] == found.starts[1:]).all()


@pytest.mark.parametrize("in_cohorts", [False, True])
def test_law__q_is_by_all_pairs_of_hashes(in_cohorts):
    law = HashLaw(KRRLaw(Rate.below(Fraction(1)), 4), in_cohorts)
    assert 1 / 4 <= law.collision < 1 / 4 + 1e-6
    assert law.p == law.krr.keep + (1 - law.krr.keep) / 4
    assert law.q - law.krr.keep * law.collision == (1 - law.krr.keep) / 4
    assert 0 < law.q < law.p < 1


def test_best_g__minimises_the_variance_of_rare_values():
    for epsilon in (0.5, 1.0, 2.0, 3.0):

        def variance(g, epsilon=epsilon):
            growth = math.exp(epsilon)
            p, q = growth / (growth + g - 1), 1 / g
            return q * (1 - q) / (p - q) ** 2

        assert abs(min(range(2, 100), key=variance) - best_g(epsilon)) <= 1


def test_polynomials__are_of_the_salt_alone_and_below_the_prime():
    found = polynomials(3, 50)
    assert found.shape == (3, 50)
    assert (found < PRIME).all()
    assert (found[:, :10] == polynomials(3, 10)).all()
    assert (found != polynomials(4, 50)).any()
