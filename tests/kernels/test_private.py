"""The samplers that read private streams only, draw by draw, against plain Python."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fastdp.kernels import cells as kernels
from fastdp.kernels import each, words
from fastdp.kernels.stairs import fill_stairs
from fastdp.kernels.within import fill_cell_noise_within, fill_uniform_within
from fastdp.noise import cells, staircase
from fastdp.noise.rates import Rate, rates_below, sigmas_above
from tests.reference import private

KEY = np.array([1, 2, 3, 4, 5, 6, 7, 8], np.uint32)
WORDS = tuple(int(k) for k in KEY)
START = 2**33 + 5
COUNT = 300


def draws_of(kernel, *arguments) -> list[int]:
    out = np.zeros(COUNT, np.int64)
    kernel(KEY, np.uint64(START), *arguments, words.make_scratch(), out)
    return out.tolist()


@pytest.mark.parametrize("scale", [0.03, 0.9, 33.3, 2.0**31])
def test_fill_laplace_each__agrees_with_plain_python(scale):
    rates, shifts = rates_below(np.full(COUNT, 1 / scale))
    expected = [private.laplace_each(WORDS, START + i, int(rates[0]), int(shifts[0])) for i in range(COUNT)]
    assert draws_of(each.fill_laplace_each, rates, shifts) == expected


@pytest.mark.parametrize("sigma", [0.13, 1.0, 7.7, 2.0**24 * 1.3])
def test_fill_gaussian_each__agrees_with_plain_python(sigma):
    sigmas, shifts = sigmas_above(np.full(COUNT, sigma))
    expected = [private.gaussian_each(WORDS, START + i, int(sigmas[0]), int(shifts[0])) for i in range(COUNT)]
    assert draws_of(each.fill_gaussian_each, sigmas, shifts) == expected


@pytest.mark.parametrize(
    ("epsilon", "steps", "tread"), [(0.3, 10, 4), (2.5, 1000, 200), (6.0, 2**30, 2**28), (1, 1, 1)]
)
def test_fill_stairs_each__agrees_with_plain_python(epsilon, steps, tread):
    rates, shifts = rates_below(np.full(COUNT, float(epsilon)))
    arrays = (rates, shifts, np.full(COUNT, steps, np.uint64), np.full(COUNT, tread, np.uint64))
    numbers = (int(rates[0]), int(shifts[0]), steps, tread)
    assert draws_of(each.fill_stairs_each, *arrays) == [
        private.stairs_each(WORDS, START + i, *numbers) for i in range(COUNT)
    ]


@pytest.mark.parametrize("scale", [1.4, 60.0, 5000.0])
def test_within__agrees_with_plain_python(scale):
    """Both ways: drawing until inside, and keeping uniform values."""
    realised = cells.build(Rate.below(1 / Fraction(scale)), quadratic=False)
    for kernel, reference, width in (
        (fill_cell_noise_within, private.within, int(3 * scale) + 1),
        (fill_uniform_within, private.uniform_within, int(0.9 * scale)),
    ):
        values = np.arange(COUNT) % (width + 1)
        expected = [reference(realised, KEY, START + i, int(values[i]), width) for i in range(COUNT)]
        assert draws_of(kernel, realised.table, values, np.int64(width)) == expected


@pytest.mark.parametrize(("epsilon", "steps", "tread"), [(0.3, 10, 4), (2.5, 1000, 200), (9.0, 2**30, 2**24)])
def test_fill_stairs__agrees_with_plain_python(epsilon, steps, tread):
    law = staircase.StaircaseLaw(Rate.below(Fraction(epsilon)), steps, tread)
    pieces = staircase.build(law)
    weights, _, _ = staircase.piece_weights(law)
    _, residues, _ = cells.realise(weights, (kernels.TAIL_UP, kernels.TAIL_DOWN), staircase.INDEX_BITS)
    expected = [private.stairs(pieces, residues, KEY, START + i) for i in range(COUNT)]
    assert draws_of(fill_stairs, *pieces) == expected
