"""Exact coin flips from lazily drawn uniform bits."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined
from fastdp.kernels.stream.words import multiply_high, next_word

_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def _product_is_below(factor, high, gamma_high, gamma_low, key, work, blocks):
    """Whether factor * u < gamma for the uniform u whose first 64 bits are ``high``; 64 more are drawn if they matter.

    The error is that of u cut to 128 bits: none for factor 1, else at most factor * 2**-128.
    """
    if multiply_high(factor, high) != np.uint64(0):
        return False
    product = factor * high
    if product > gamma_high:
        return False
    if product + factor <= gamma_high and product <= _ALL - factor:
        return True
    low = next_word(key, work, blocks)
    carry = multiply_high(factor, low)
    if product > _ALL - carry:
        return False
    product += carry
    return product < gamma_high or (product == gamma_high and factor * low < gamma_low)


@inlined
def draw_bernoulli_exp(gamma_high, gamma_low, first, key, work, blocks):
    """True with probability e**-gamma, gamma = (gamma_high * 2**64 + gamma_low) / 2**128.

    Pre:  ``first`` is 64 fresh uniform bits; a private stream is selected.
    Post: the distance from the exact probability is below 2**-120. Canonne, Kamath and Steinke 2020, algorithm 1:
          count how long u_1 < gamma, u_2 < gamma/2, u_3 < gamma/3, ... goes on; the parity decides.
    """
    factor = _ONE
    uniform = first
    while _product_is_below(factor, uniform, gamma_high, gamma_low, key, work, blocks):
        factor += _ONE
        uniform = next_word(key, work, blocks)
    return factor & _ONE == _ONE


@inlined
def _multiple_is_below(factor, bound, key, work, blocks):
    """Whether factor * u < bound for a fresh uniform u in [0, 1), off by at most factor * 2**-128."""
    uniform = next_word(key, work, blocks)
    whole = multiply_high(factor, uniform)
    if whole >= bound:
        return False
    part = factor * uniform
    if whole + _ONE < bound or part <= _ALL - factor:
        return True
    return part <= _ALL - multiply_high(factor, next_word(key, work, blocks))


@inlined
def draw_bernoulli_exp_ratio(numerator, denominator, key, work, blocks):
    """True with probability e**-(numerator / denominator).

    Pre:  numerator <= denominator < 2**58.
    Post: the distance from the exact probability is below 2**-110 (the series is cut after 64 of its terms).
    """
    index = _ONE
    while index < np.uint64(64) and _multiple_is_below(index * denominator, numerator, key, work, blocks):
        index += _ONE
    return index & _ONE == _ONE
