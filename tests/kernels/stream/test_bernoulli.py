"""Coin flips with probability e**-gamma."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from fastdp.kernels.jit import kernel
from fastdp.kernels.stream import words
from fastdp.kernels.stream.bernoulli import draw_bernoulli_exp, draw_bernoulli_exp_ratio

KEY = np.arange(8, dtype=np.uint32)
FLIPS = 400_000


@kernel
def _flip(key, high, low, work, blocks, out):
    words.open_consecutive(key, np.uint64(0), work, blocks)
    words.select_private(np.uint64(0), 0, work)
    for i in range(out.size):
        out[i] = draw_bernoulli_exp(high, low, words.next_word(key, work, blocks), key, work, blocks)


@kernel
def _flip_ratio(key, numerator, denominator, work, blocks, out):
    words.open_consecutive(key, np.uint64(0), work, blocks)
    words.select_private(np.uint64(0), 0, work)
    for i in range(out.size):
        out[i] = draw_bernoulli_exp_ratio(numerator, denominator, key, work, blocks)


def _successes(flip, *numbers):
    scratch = words.make_scratch()
    out = np.zeros(FLIPS, np.bool_)
    flip(KEY, *(np.uint64(n) for n in numbers), scratch.work, scratch.blocks, out)
    return int(out.sum())


@pytest.mark.parametrize("gamma", [0.003, 0.21, 0.5, 0.87, 0.99])
def test_draw_bernoulli_exp__has_its_probability(gamma):
    """Against e**-gamma; the mutant e**(-1.03 gamma) is rejected where its difference shows."""
    seen = _successes(_flip, int(gamma * 2**64), 0)
    assert binomtest(seen, FLIPS, math.exp(-gamma)).pvalue > 1e-3
    if gamma > 0.2:
        assert binomtest(seen, FLIPS, math.exp(-1.03 * gamma)).pvalue < 1e-3


def test_draw_bernoulli_exp__is_certain_at_zero():
    assert _successes(_flip, 0, 0) == FLIPS


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 1), (1, 2), (5, 7), (2**56 - 1, 2**57), (0, 3)])
def test_draw_bernoulli_exp_ratio__has_its_probability(numerator, denominator):
    """Against e**-(numerator / denominator), a denominator of 57 bits included."""
    seen = _successes(_flip_ratio, numerator, denominator)
    assert binomtest(seen, FLIPS, math.exp(-numerator / denominator)).pvalue > 1e-3
