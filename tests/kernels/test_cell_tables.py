"""The cell kernel, draw by draw, against the sampler in plain Python."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fastdp.kernels.cell_tables import fill_cell_noise
from fastdp.kernels.stream import words
from fastdp.laws import cell_tables as cells
from fastdp.laws.rate import Rate
from tests.reference.cells import CellSampler
from tests.reference.laws import gaussian_pmf, laplace_pmf
from tests.reference.statistics import chisquare_p

KEY = np.array([9, 2**32 - 1, 7, 0, 123456789, 42, 2**31, 5], np.uint32)


def rate_of(scale: float, quadratic: bool) -> Rate:
    return Rate.below(Fraction(1) / (2 * Fraction(scale) ** 2) if quadratic else 1 / Fraction(scale))


def draw(realised, start: int, count: int, key=KEY) -> np.ndarray:
    out = np.zeros(count, np.int64)
    fill_cell_noise(key, np.uint64(start), realised.table, words.make_scratch(), out)
    return out


@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("scale", [0.3, 1.4, 50.0, 127.9, 300.0, 3000.0, 2.0**21 * 1.37, 2.0**35 / 3])
def test_fill_cell_noise__agrees_with_plain_python(scale, quadratic):
    """Bit for bit, over narrow and wide tables and all three ways to read fine bits; a start inside a tile."""
    realised = cells.build(rate_of(scale, quadratic), quadratic=quadratic)
    sampler = CellSampler(realised, KEY)
    start, count = 5_000, 3_000
    assert draw(realised, start, count).tolist() == [sampler.draw(slot) for slot in range(start, start + count)]


@pytest.mark.parametrize("scale", [1.4, 40.0, 1000.0])
def test_fill_cell_noise__repeats_itself_beyond_the_table(scale, monkeypatch):
    """With tables cut after three quarters of a side, draws beyond them follow the law, and the long way agrees."""
    monkeypatch.setattr(cells, "TAIL_BITS", 2)
    realised = cells.build.__wrapped__(rate_of(scale, quadratic=False), quadratic=False)
    sampler = CellSampler(realised, KEY)
    assert draw(realised, 0, 1500).tolist() == [sampler.draw(slot) for slot in range(1500)]
    reach = int(20 * scale) + 5
    draws = draw(realised, 0, 2_000_000)
    rate = float(realised.rate.exact)
    assert chisquare_p(draws, laplace_pmf(rate, reach), -reach) > 1e-3
    assert chisquare_p(draws, laplace_pmf(rate * 1.01, reach), -reach, bins=100) < 1e-6
    assert np.abs(draws).max() > 3 * realised.wrap << realised.m


LAWS = [(1.4, False), (23.0, False), (900.0, False), (0.7, True), (5.0, True), (400.0, True)]


@pytest.mark.parametrize(("scale", "quadratic"), LAWS)
def test_fill_cell_noise__follows_its_law(scale, quadratic):
    """1e7 draws by chi-square against the exact law; the mutant with a scale 1 % larger is rejected."""
    realised = cells.build(rate_of(scale, quadratic), quadratic=quadratic)
    reach = int((8 if quadratic else 25) * scale) + 5
    draws = draw(realised, 1, 10_000_000)

    def law(factor):
        if quadratic:
            return gaussian_pmf(math.sqrt(0.5 / float(realised.rate.exact)) * factor, reach)
        return laplace_pmf(float(realised.rate.exact) / factor, reach)

    assert chisquare_p(draws, law(1.0), -reach) > 1e-3
    assert chisquare_p(draws, law(1.0), -reach, bins=100) > 1e-3
    assert chisquare_p(draws, law(1.01), -reach, bins=100) < 1e-6


@pytest.mark.parametrize(("scale", "quadratic"), [(2.0**20, False), (2.0**30 * 1.7, False), (2.0**22 * 1.1, True)])
def test_fill_cell_noise__follows_its_law_on_a_fine_grid(scale, quadratic):
    """Coarse bins of 1e7 wide draws against exact bin masses, and the low bits against the uniform."""
    realised = cells.build(rate_of(scale, quadratic), quadratic=quadratic)
    draws = draw(realised, 77, 10_000_000)
    width = int(scale // 16)
    rate = float(realised.rate.exact)
    edges = (np.arange(-129, 130) * width).astype(np.float64)

    def masses(factor):
        if quadratic:
            sigma = math.sqrt(0.5 / rate) * factor
            cdf = np.array([0.5 * math.erfc(-(edge - 0.5) / (sigma * math.sqrt(2))) for edge in edges])
        else:
            a = rate / factor
            # P(z < e): e**(a(e-1)) / ... for e <= 0, by symmetry above; exact for the discrete law.
            below = np.exp(-a * np.abs(edges - np.where(edges > 0, 0, 1))) / (1 + math.exp(-a))
            cdf = np.where(edges <= 0, below, 1 - np.exp(-a * np.abs(edges)) / (1 + math.exp(-a)))
        return np.diff(cdf)

    binned = np.floor_divide(draws, width)
    assert chisquare_p(binned, masses(1.0), -129) > 1e-3
    assert chisquare_p(binned, masses(1.01), -129) < 1e-6
    assert chisquare_p(draws & 63, np.full(64, 1 / 64), 0) > 1e-3


@pytest.mark.parametrize("scale", [300.0, 2.0**13 * 1.1, 2.0**20 * 1.9, 2.0**30 * 1.3])
def test_fill_cell_noise__tilts_the_fine_bits(scale):
    """Within cells, magnitudes decay at the law's own rate, on both sides; the mutant without rejection is caught."""
    realised = cells.build(rate_of(scale, quadratic=False), quadratic=False)
    draws = draw(realised, 0, 10_000_000)
    bins = min(8, 1 << realised.m)
    width = 1 << realised.m
    decay = float(realised.rate.exact) * width / bins
    tilted = np.exp(-decay * np.arange(bins))
    for side in (draws[draws >= 0], ~draws[draws < 0]):
        fine = (side & (width - 1)) * bins // width
        assert chisquare_p(fine, tilted / tilted.sum(), 0) > 1e-3
        assert chisquare_p(fine, np.full(bins, 1 / bins), 0) < 1e-3
