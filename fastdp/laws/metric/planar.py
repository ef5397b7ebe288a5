"""Planar noise on a grid in exact integers, and how far they are from e**(-rate |z|)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from fastdp.kernels.metric.planar import CURVE, LARGEST_FINE_BITS, fill_planar, make_point_scratch
from fastdp.kernels.metric.planar_exact import SERIES
from fastdp.kernels.stream.words import Scratch
from fastdp.laws.cell_tables import Realised, build_laplace
from fastdp.laws.rate import Rate

LARGEST_SCALE = 2.0**22
SMALLEST_SCALE = 1 / 16
"""Steps per 1 / rate."""
EXCESS = Fraction(1, 1 << 34)
"""How far the logarithm of an offset's weight can be from -rate |z|, for lengths up to 1,000 scales: float64 rounds the
1,000 by 2**-42, each of up to 60 thresholds by 2**-45, and the proposals are right to 2**-100 of themselves."""

SMALLEST_WIDE_SCALE = 32
"""From this scale on, cells are 2**m wide, with 16 to 32 per scale: narrower ones leave more draws ambiguous, which
cost more than the few proposals that wider ones reject."""


@lru_cache(maxsize=64)
def _build(side: Rate) -> Realised:
    scale = 1 / float(side.exact)
    m = 0 if scale < SMALLEST_WIDE_SCALE else int(math.log2(scale / SMALLEST_WIDE_SCALE)) + 1
    return build_laplace(side, m, 12 if scale < 4 else 16)


@dataclass(frozen=True, slots=True)
class PlanarLaw:
    """Offset z with probability proportional to e**(-sqrt(2) side |z|), |z| its length in steps."""

    side: Rate  # of the discrete Laplace that each coordinate is proposed from

    @classmethod
    def below(cls, rate: Fraction) -> PlanarLaw:
        """The law whose rate is the largest that can be had below ``rate``."""
        return cls(Rate.below(rate * Fraction(math.isqrt(1 << 199), 1 << 100)))

    @property
    def rate(self) -> Fraction:
        """The rate per step, rounded up."""
        return self.side.exact * Fraction(math.isqrt(1 << 201) + 1, 1 << 100)

    def sampler(self) -> Callable[[Any, Any, Scratch, np.ndarray, np.ndarray], None]:
        """``fill(key, slot, scratch, first, second)`` writes offsets at slots slot, slot + 1, ..."""
        realised = _build(self.side)
        assert realised.m <= LARGEST_FINE_BITS, "a law this wide must be refused before"
        rate = float(self.side.exact)

        def fill(key: Any, slot: Any, scratch: Scratch, first: np.ndarray, second: np.ndarray) -> None:
            fill_planar(key, slot, realised.table, rate, SERIES, CURVE, scratch, make_point_scratch(), first, second)

        return fill
