"""Exact weights of planar offsets."""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath
import pytest

from fastdp.laws.cell_tables import TAIL_DOWN, TAIL_UP
from fastdp.laws.metric.planar import EXCESS, PlanarLaw, _build
from tests.reference.planar import exponent, threshold


def log_weight(law: PlanarLaw, z: tuple[int, int]) -> mpmath.mpf:
    """The logarithm of an offset's exact weight: its proposal's probability times its chance of acceptance."""
    realised = _build(law.side)
    weight, begins = Fraction(1), 0
    for part in z:
        length = part if part >= 0 else ~part
        wraps, cell = divmod(length >> realised.m, realised.wrap)
        side = [realised.probability(c if part >= 0 else ~c) for c in range(realised.wrap)]
        tail = realised.probability(TAIL_UP if part >= 0 else TAIL_DOWN)
        # Beyond the table, a cell is drawn anew on the same side.
        again = Fraction(1) if wraps == 0 else tail * (tail / (tail + sum(side))) ** (wraps - 1) / (tail + sum(side))
        weight *= again * side[cell]
        begins += abs(part) - (length & (1 << realised.m) - 1)
    gamma = exponent(float(law.side.exact), abs(z[0]), abs(z[1]), begins)
    chance, steps = threshold(gamma)
    return mpmath.log(mpmath.mpf(weight.numerator) / weight.denominator) + steps * mpmath.log(
        mpmath.mpf(chance) / 2**64
    )


@pytest.mark.parametrize("rate", [2.0, 0.07, 0.001])
def test_weights__are_those_of_the_law(rate):
    """Exact weights of near and far offsets are e**(-rate |z|) within the stated excess; rate * 1.0001 is not."""
    source, law = random.Random(3), PlanarLaw.below(Fraction(rate))
    assert law.rate <= rate
    with mpmath.workdps(60):
        exact = mpmath.mpf(law.rate.numerator) / law.rate.denominator
        peak = log_weight(law, (0, 0))
        misses = []
        for _ in range(60):
            reach = source.choice([2, 30, 90]) / rate
            z = tuple(round(source.uniform(-reach, reach)) for _ in range(2))
            length = mpmath.sqrt(z[0] ** 2 + z[1] ** 2)
            miss = abs(log_weight(law, z) - peak + exact * length)
            assert miss <= mpmath.mpf(EXCESS.numerator) / EXCESS.denominator
            misses.append(abs(log_weight(law, z) - peak + exact * length * mpmath.mpf("1.0001")))
        assert max(misses) > 1e-4
