"""Planar offsets, draw by draw."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import fastdp as fd
from fastdp.kernels.metric.planar import SLACK
from fastdp.kernels.stream.words import make_scratch
from fastdp.laws.cell_tables import TAIL_UP
from fastdp.laws.metric.planar import PlanarLaw, _build
from fastdp.mechanisms.metric.planar_laplace import PlanarLaplace
from tests.generators import each_generator, key_for
from tests.reference.planar import PlanarSampler, rough_chance

GOLDEN = [
    (0.7, [(0, 0), (1, -3), (-1, 0), (1, 0), (3, -1), (-3, 7), (-3, 1), (0, 0), (1, 1), (1, -1), (4, -3), (1, -2)]),
    (
        0.03,
        [
            (1, 1),
            (-32, 65),
            (16, -2),
            (30, -3),
            (70, 20),
            (-63, 164),
            (-39, -132),
            (1, -9),
            (-31, -33),
            (-31, 14),
            (94, 61),
            (-26, 43),
        ],
    ),
    (
        0.0002,
        [
            (-253, 212),
            (4818, -9693),
            (2353, -207),
            (4730, 515),
            (10591, -2925),
            (9481, -24585),
            (5985, 19904),
            (168, -1313),
            (-4711, -4869),
            (-4609, 2102),
            (14168, -9090),
            (4072, -6344),
        ],
    ),
]


def seeded(seed: int = 5) -> fd.Rng:
    return fd.Rng.unsafe_seed(seed)


@each_generator
@pytest.mark.parametrize("rate", [12.0, 0.5, 0.03, 0.0001])
def test_offsets__are_those_of_the_reference(rate, generator):
    """Bit for bit the plain sampler's offsets, those that are finished late among them."""
    law, start = PlanarLaw.below(Fraction(rate)), 1000
    key = key_for(generator, np.arange(8, dtype=np.uint32) * 77)
    first, second = np.empty(1500, np.int64), np.empty(1500, np.int64)
    law.sampler()(key, np.uint64(start), make_scratch(), first, second)  # the whole of tile 1, parts of two others
    sampler = PlanarSampler(_build(law.side), key)
    wanted = [offset for tile in range(3) for offset in sampler.tile(tile)][start : start + 1500]
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == wanted


@pytest.mark.parametrize("rate", [8.0, 0.3, 0.011, 3e-5])
def test_first_look__is_within_its_slack(rate):
    """The float32 that decides most lanes is near their threshold, wherever a table's cells can lie."""
    law = PlanarLaw.below(Fraction(rate))
    realised, source = _build(law.side), np.random.default_rng(4)
    farthest = max(abs(int(cell)) for cell in realised.table.cells if abs(int(cell)) < TAIL_UP)
    side = float(law.side.exact)
    assert side * (farthest + 1) * 2**realised.m * 2 < 32
    cells = source.integers(0, farthest + 1, (2, 500_000))
    begins = cells << realised.m
    lengths = begins + source.integers(0, 1 << realised.m, cells.shape)
    gamma = side * (np.sqrt(2.0 * (lengths.astype(float) ** 2).sum(axis=0)) - begins.sum(axis=0))
    _, chance = rough_chance(side, *lengths, begins.sum(axis=0))
    inside = gamma < 8
    assert np.abs(chance[inside] - 65536 * np.exp(-gamma[inside])).max() < 0.7 * SLACK
    assert chance[~inside].max(initial=0) < 65536 * math.exp(-8) + SLACK


@pytest.mark.parametrize(("rate", "wanted"), GOLDEN)
def test_offsets__are_the_golden_ones(rate, wanted):
    """Draws around the end of a tile stay what they are for a key."""
    rng = seeded(42)
    rng.reserve(1018)
    x, y = PlanarLaplace(epsilon=rate, unit="m", granularity=1.0).randomize(np.zeros(12), np.zeros(12), rng=rng)
    assert list(zip(x.tolist(), y.tolist(), strict=True)) == wanted
