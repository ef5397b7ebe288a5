"""Subset selection: p and q against all sets, enumerated."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import pytest

from fastdp.laws.local.subset import LARGEST_REDRAWN, SubsetLaw, best_size, steps
from fastdp.laws.rate import Rate


@pytest.mark.parametrize("k, size", [(3, 1), (6, 2), (8, 5)])
def test_p_and_q__are_those_of_all_sets(k, size):
    law = SubsetLaw(Rate.below(Fraction(1)), k, size)
    sets = list(combinations(range(k), size))
    holding = [one for one in sets if 0 in one]
    chance = {one: law.p / len(holding) if 0 in one else (1 - law.p) / (len(sets) - len(holding)) for one in sets}
    assert sum(chance.values()) == 1
    assert sum(chance[one] for one in sets if 1 in one) == law.q
    assert math.log(max(chance.values()) / min(chance.values())) <= 1


@pytest.mark.parametrize("k, size", [(10, 3), (1000, 200), (70_000, 4)])
def test_steps__redraw_seldom_and_name_what_is_uneven(k, size):
    found = steps(k, size)
    bounds = range(k - size, k)
    assert found.uneven.tolist() == [(1 << found.bits) % bound for bound in bounds]
    redrawn = sum(Fraction(int(uneven), 1 << found.bits) for uneven in found.uneven)
    assert found.bits == 32 or redrawn <= LARGEST_REDRAWN


def test_best_size__minimises_the_variance_of_rare_values():
    def variance(size, k=60):
        growth = math.exp(1.0)
        p = size * growth / (size * growth + k - size)
        q = (size - p) / (k - 1)
        return q * (1 - q) / (p - q) ** 2

    assert abs(min(range(1, 60), key=variance) - best_size(1.0, 60)) <= 1
