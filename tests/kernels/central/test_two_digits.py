"""Two tables, one law."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import lru_cache

import mpmath
import numpy as np
import pytest

from fastdp.kernels.central.two_digits import fill_digit_noise
from fastdp.kernels.stream import words
from fastdp.laws.central import two_digits as digits
from fastdp.laws.central.laplace import LaplaceLaw
from fastdp.laws.rate import Rate
from tests.generators import each_generator, key_for
from tests.reference.cells import AMBIGUOUS, COINS, HALVES, PRIVATE, TAIL_DOWN, TAIL_UP, CellSampler
from tests.reference.keystream import Private, plane_word
from tests.reference.laws import laplace_pmf
from tests.reference.statistics import chisquare_p

KEY = np.array([3, 1, 4, 1, 5, 9, 2, 2**32 - 6], np.uint32)
SCALES = [128.0, 333.3, 1400.0, 2047.0]


def tables_of(scale: float) -> digits.Digits:
    return digits.build(Rate.below(1 / Fraction(scale)))


def draw(tables: digits.Digits, start: int, count: int, key: np.ndarray = KEY) -> np.ndarray:
    out = np.zeros(count, np.int64)
    entries = (tables.coarse.table, tables.fine.table, tables.coarse_bytes, tables.curve)
    fill_digit_noise(key, np.uint64(start), *entries, words.make_scratch(), out)
    return out


@lru_cache
def half_words(key: tuple[int, ...], count: int) -> list[int]:
    """The first half words of a key, by hand."""
    return [plane_word(key, HALVES, slot, 16) for slot in range(count)]


def long_way(tables: digits.Digits, samplers: tuple[CellSampler, CellSampler], slot: int, key: tuple[int, ...]) -> int:
    """The same bits, by hand."""
    coarse, fine = samplers
    cell = coarse.cells[plane_word(key, HALVES, slot, 16)]
    digit = fine.cells[plane_word(key, COINS, slot, 16)]
    private = Private(key, slot, PRIVATE)
    cell = coarse._residue(private) if cell == AMBIGUOUS else cell
    up, wrapped = cell >= 0, 0
    while cell in (TAIL_UP, TAIL_DOWN):
        wrapped += tables.coarse.wrap
        cell = coarse._cell(private)
        while (cell >= 0) != up:
            cell = coarse._cell(private)
    digit = fine._residue(private) if digit == AMBIGUOUS else digit
    value = (((cell if up else ~cell) + wrapped) << tables.coarse.m) + digit
    return value if up else ~value


@each_generator
@pytest.mark.parametrize("scale", SCALES)
def test_fill_digit_noise__agrees_with_plain_python(scale, generator):
    tables = tables_of(scale)
    ambiguous = set(np.flatnonzero(tables.coarse.table.cells == AMBIGUOUS).tolist())
    given = key_for(generator, KEY)
    key = tuple(int(word) for word in given)
    rare = [slot for slot, word in enumerate(half_words(key, 60_000)) if word in ambiguous]
    assert len(rare) > 20
    draws = draw(tables, 0, 60_000, given)
    samplers = CellSampler(tables.coarse, key), CellSampler(tables.fine, key)
    for slot in [*range(1000, 1100), *rare]:
        assert draws[slot] == long_way(tables, samplers, slot, key)
    assert np.array_equal(draw(tables, 777, 5_000, given), draws[777:5777])


@each_generator
@pytest.mark.parametrize("scale", SCALES)
def test_fill_digit_noise__follows_its_law(scale, generator):
    """1e7 draws against the exact law; a scale 1 % larger is rejected."""
    tables = tables_of(scale)
    rate, reach = float(tables.coarse.rate.exact), int(25 * scale)
    draws = draw(tables, 5, 10_000_000, key_for(generator, KEY))
    assert chisquare_p(draws, laplace_pmf(rate, reach), -reach) > 1e-3
    assert chisquare_p(draws, laplace_pmf(rate, reach), -reach, bins=100) > 1e-3
    assert chisquare_p(draws, laplace_pmf(rate / 1.01, reach), -reach, bins=100) < 1e-6


def test_digits__the_curve_is_the_table():
    """Every half word, over the whole range of scales: in double precision and by hand the same digit, or ambiguous."""
    source = random.Random(5)
    for scale in [*SCALES, 255.9, 256.0, 1023.9, *(2 ** source.uniform(7, 11) for _ in range(40))]:
        tables = digits.build.__wrapped__(Rate.below(1 / Fraction(scale)))
        x = np.arange(1 << 16).astype(np.float32)
        place = np.zeros(1 << 16, np.float32)
        for coefficient in tables.curve[3::-1]:
            place = place * x + coefficient
        place = place * x
        digit = place.astype(np.int32)
        due = np.where(place - digit.astype(np.float32) >= tables.curve[4], AMBIGUOUS, digit)
        assert np.array_equal(tables.fine.table.cells, due)
        assert tables.fine.ambiguous <= 1.2 * 2**tables.coarse.m


def test_digits__cost_no_more_than_stated():
    """Hundreds of random rates over the whole range that two tables serve, and its ends."""
    source = random.Random(4)
    for scale in [*SCALES, *(2 ** source.uniform(7, 11) for _ in range(300))]:
        check_cost(scale)


def check_cost(scale: float) -> None:
    """Fine digits decay at the exact rate within the part of the stated cost that the cells leave."""
    tables = digits.build.__wrapped__(Rate.below(1 / Fraction(scale)))
    rate = mpmath.mpf(tables.fine.rate.numerator) / mpmath.mpf(2) ** tables.fine.rate.shift
    size = 1 << tables.coarse.m
    with mpmath.workprec(400):
        masses = [tables.fine.probability(digit) for digit in range(size)]
        assert sum(masses) == 1
        deviations = [
            mpmath.log(mpmath.mpf(p.numerator) / p.denominator) + rate * digit for digit, p in enumerate(masses)
        ]
        spread = max(deviations) - min(deviations)
        stated = Fraction(LaplaceLaw(tables.fine.rate).cost(1)) - tables.fine.rate.exact
        assert spread <= mpmath.mpf(stated.numerator) / stated.denominator / 100
    from tests.laws.test_cell_tables import worst_shortfall

    assert worst_shortfall(tables.coarse) <= stated * Fraction(9, 10)
