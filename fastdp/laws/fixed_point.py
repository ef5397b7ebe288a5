"""Exact weights in Python integers: e**-x to hundreds of bits."""

from __future__ import annotations

PRECISION = 320
"""Bits of the fixed-point numbers in here; a few thousand roundings leave more than 256 of them right."""


def exp_fixed(numerator: int, shift: int, precision: int = PRECISION) -> int:
    """e**-(numerator / 2**shift) as an integer out of 2**precision, off by less than 2**8.

    >>> exp_fixed(1, 0) / 2**PRECISION
    0.36787944117144233
    """
    # e**-x is e**-(x / 2**halvings) squared `halvings` times, the inner argument small enough for a short series.
    halvings = max(0, numerator.bit_length() - shift + 24)
    working = precision + halvings + 32
    x = (numerator << working) >> (shift + halvings)
    total = term = 1 << working
    index = 1
    while term:
        term = (term * x >> working) // index
        total += -term if index % 2 else term
        index += 1
    for _ in range(halvings):
        total = total * total >> working
    return total >> (working - precision)


def multiply_fixed(a: int, b: int) -> int:
    """The product of two fixed-point numbers, rounded down."""
    return a * b >> PRECISION
