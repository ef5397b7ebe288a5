"""Two rounds of answers: their composition against the product of both channels, entry by entry."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from fastdp.laws.coins import BITS, Coin
from fastdp.laws.local.two_rounds import TwoKeeps, TwoSets

ONE = 1 << BITS


def krr(keep: Fraction, k: int) -> list[list[Fraction]]:
    return [[(x == y) * keep + (1 - keep) / k for y in range(k)] for x in range(k)]


@pytest.mark.parametrize("k", [2, 5])
def test_keeps__compose_as_their_channels_do(k):
    law = TwoKeeps.reaching(Fraction(1, 5), Fraction(1, 2), k)
    first, second = krr(Fraction(law.permanent, ONE), k), krr(Fraction(law.again, ONE), k)
    both = [[sum(first[x][z] * second[z][y] for z in range(k)) for y in range(k)] for x in range(k)]
    assert both[0][0] == law.p
    assert both[0][1] == law.q
    assert law.keep <= Fraction(1, 5) < law.keep + Fraction(2, ONE)
    assert law.cost >= math.log(law.p / law.q)


def test_sets__flip_as_little_as_epsilon_allows():
    truth, noise = Coin(ONE * 3 // 4), Coin(ONE // 4)
    law = TwoSets.reaching(1.0, truth, noise)
    assert law.p == truth.exact * (1 - law.flip.exact) + (1 - truth.exact) * law.flip.exact
    assert law.cost <= 1.0
    assert TwoSets(truth, noise, Coin(law.flip.threshold - (1 << 80))).cost > 1.0
