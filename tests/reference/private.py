"""The samplers that read private streams only, in plain Python: the same bits, exact fractions."""

from __future__ import annotations

from fractions import Fraction

from tests.reference.cells import PRIVATE, TAIL_DOWN, TAIL_UP, CellSampler
from tests.reference.keystream import Private


def below(count: int, private: Private) -> int:
    """A uniform integer in [0, count)."""
    word = private.next()
    while (word * count) % 2**64 < (2**64 % count if (word * count) % 2**64 < count else 0):
        word = private.next()
    return word * count >> 64


def flip(gamma: Fraction, private: Private) -> bool:
    """True with probability e**-gamma, gamma <= 1."""
    k = 1
    while k < 64 and _multiple_is_below(k * gamma.denominator, gamma.numerator, private):
        k += 1
    return k % 2 == 1


def _multiple_is_below(factor: int, bound: int, private: Private) -> bool:
    """Whether factor * u < bound, u by 64 bits, and by 64 more where the first leave it open."""
    first = factor * private.next()
    if first >> 64 >= bound:
        return False
    if first + factor <= bound << 64:
        return True
    return first + (factor * private.next() >> 64) < bound << 64


def flip_ratio(numerator: int, denominator: int, private: Private) -> bool:
    """As flip, for a fraction that is not in lowest terms: how many bits are read depends on the numbers as given."""
    k = 1
    while k < 64 and _multiple_is_below(k * denominator, numerator, private):
        k += 1
    return k % 2 == 1


def laplace_each(key, slot, rate, shift) -> int:
    private = Private(key, slot, PRIVATE)
    while True:
        fraction = private.next() >> (64 - shift)
        if not flip_ratio(fraction, 1 << shift, private):
            continue
        whole = 0
        while flip_ratio(1, 1, private):
            whole += 1
        magnitude = ((whole << shift) + fraction) // rate
        negative = private.next() & 1
        if magnitude or not negative:
            return -magnitude if negative else magnitude


def gaussian_each(key, slot, sigma, shift) -> int:
    private = Private(key, slot, PRIVATE)
    s = Fraction(sigma, 1 << shift)
    while True:
        k = 0
        while k <= 15 and flip_ratio(1, 2, private):
            k += 1
        if k > 15 or not all(flip_ratio(1, 2, private) for _ in range(k * (k - 1))):
            continue
        negative = private.next() & 1
        i = -(-(k * s) // 1) + below(-(-s // 1), private)
        x = (i - k * s) / s
        if x >= 1 or (negative and i == 0):
            continue
        numerator = (int(i) << shift) - k * sigma
        exponent = numerator * (2 * k * sigma + numerator), 2 * sigma * sigma * (k + 1)
        assert Fraction(*exponent) * (k + 1) == x * (2 * k + x) / 2
        if all(flip_ratio(*exponent, private) for _ in range(k + 1)):
            return -int(i) if negative else int(i)


def stairs_each(key, slot, rate, shift, steps, tread) -> int:
    private = Private(key, slot, PRIVATE)
    scale = 1 << shift

    def fall() -> bool:
        return all(flip_ratio(1, 1, private) for _ in range(rate // scale)) and flip_ratio(rate % scale, scale, private)

    while True:
        place = below(steps, private)
        if place >= tread and not fall():
            continue
        while fall():
            place += steps
        negative = private.next() & 1
        if place or not negative:
            return -place if negative else place


def within(sampler: CellSampler, slot, value, width) -> int:
    """A draw of the table's law, repeated until value + draw lies in [0, width]."""
    private = Private(sampler.key, slot, PRIVATE)
    m = sampler.r.m
    while True:
        cell = sampler._cell(private)
        fine = private.next() >> (64 - m) if m else 0
        noise = sampler.finish(cell, fine, private.next(), private)
        if 0 <= value + noise <= width:
            return noise


def uniform_within(sampler: CellSampler, slot, value, width) -> int:
    """A uniform place in [0, width] less the value, repeated until it is kept with the chance of its distance."""
    private = Private(sampler.key, slot, PRIVATE)
    while True:
        noise = below(width + 1, private) - value
        if sampler._keep(sampler.r.rate.exact * abs(noise), private.next(), private):
            return noise


def stairs(pieces, sampler: CellSampler, slot) -> int:
    """A draw from a table of pieces, by a sampler of its cells."""
    private = Private(sampler.key, slot, PRIVATE)
    cell, wrapped = sampler._cell(private), 0
    up = cell >= 0
    while cell in (TAIL_UP, TAIL_DOWN):
        wrapped += int(pieces.table.law[6])
        cell = sampler._cell(private)
        while (cell >= 0) != up:
            cell = sampler._cell(private)
    side, piece = (0, cell) if up else (1, ~cell)
    magnitude = int(pieces.first[side, piece]) + wrapped + below(int(pieces.length[side, piece]), private)
    return magnitude if up else -magnitude
