"""The Skellam law, the difference of two Poisson numbers of equal mean: exact tables, what it costs, sums of it.

P(z) = e**-v I_|z|(v), v the variance and I the modified Bessel function. Skellam noise of several clients adds up to
Skellam noise, exactly: what they add together has the same law as what one would draw for them. A wide law is drawn
as the sum of several narrow ones for the same reason.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from fastdp import rounding
from fastdp.errors import ParameterError
from fastdp.kernels import cell_tables as kernel
from fastdp.kernels.stream.words import Scratch
from fastdp.laws import cell_tables as cells
from fastdp.laws.fixed_point import PRECISION
from fastdp.laws.law import Fill
from fastdp.laws.rate import Rate
from fastdp.privacy import DISTANCE

VARIANCE_BITS = 24
LARGEST_TABLE = 1 << 20
"""Of the variance of one table: its outcomes fit the table's cells with room to spare."""
LARGEST_VARIANCE = 1 << 24
SMALLEST_VARIANCE = 2.0**-16
LARGEST_ORDER = 1 << 16
MOST_CHARGED = 50.0
"""Epsilon up to which the draws' distance from their law is charged; beyond it there is no guarantee to speak of."""


@dataclass(frozen=True, slots=True)
class SkellamLaw:
    """Skellam noise of variance ``numerator`` / 2**shift, drawn as the sum of ``parts`` independent ones."""

    numerator: int
    shift: int
    parts: int = 1

    @classmethod
    def of_variance(cls, variance: float, owner: str = "SkellamLaw") -> SkellamLaw:
        """The law of the smallest variance, at least the given one, that the sampler can hold."""
        if not SMALLEST_VARIANCE <= variance <= LARGEST_VARIANCE:
            raise ParameterError(
                f"{owner}: a Skellam variance of {variance:.6g} squared steps is not between {SMALLEST_VARIANCE:.6g} "
                f"and {LARGEST_VARIANCE}, the sampler's range; choose another grid"
            )
        parts = max(1, math.ceil(variance / LARGEST_TABLE))
        one = Fraction(variance) / parts
        shift = VARIANCE_BITS - (one.numerator.bit_length() - one.denominator.bit_length())
        return cls(math.ceil(one * Fraction(2) ** shift), shift, parts)

    @property
    def exact(self) -> Fraction:
        """The variance of all parts together."""
        return Fraction(self.numerator, 1) / Fraction(2) ** self.shift * self.parts

    @property
    def variance(self) -> float:
        return float(self.exact)

    def renyi(self, order: int, l1: float, l2: float) -> float:
        """A bound on the Rényi divergence of an integer order >= 2 for an integer shift of these norms, rounded up.

        order l2**2 / (2 v) + min(((2 order - 1) l2**2 + 6 l1) / (4 v**2), 3 l1 / (2 v)). [Agarwal, Kairouz, Liu 2021]
        """
        v = self.variance * (1 - 2.0**-50)
        extra = min(((2 * order - 1) * l2 * l2 + 6 * l1) / (4 * v * v), 3 * l1 / (2 * v))
        return rounding.up(order * l2 * l2 / (2 * v) + extra, 8)

    def epsilon(self, delta: float, l1: float, l2: float, times: int = 1, draws: int = 1) -> float:
        """The smallest epsilon at ``delta`` over the integer orders, of ``times`` releases of ``draws`` numbers each.

        [Canonne, Kamath, Steinke 2020, proposition 12, for the conversion] The draws' distance from their law is taken
        from delta.
        """
        found, order = math.inf, 2
        far = 2 * DISTANCE * draws * self.parts * times
        while order <= LARGEST_ORDER:
            renyi = self.renyi(order, l1, l2) * times
            bound = renyi + math.log1p(-1 / order) - (math.log(delta / 2) + math.log(order)) / (order - 1)
            found = min(found, bound)
            order += max(1, order // 16)
        found = rounding.up(max(found, 0.0) * (1 + 1e-12))
        if found < MOST_CHARGED and far * (1 + math.exp(found)) > delta / 2:
            raise ParameterError("SkellamLaw: this delta is beyond the sampler's resolution; choose a larger one")
        return found

    def sampler(self) -> Fill:
        """Fill a block; a slot stands for ``parts`` slots of its own."""
        table, parts = build(self.numerator, self.shift).table, self.parts

        def fill(key: np.ndarray, slot: Any, _first: int, _steps: Any, scratch: Scratch, out: np.ndarray) -> None:
            if parts == 1:
                kernel.fill_cell_noise(key, slot, table, scratch, out)
                return
            drawn = np.empty(out.size * parts, np.int64)
            kernel.fill_cell_noise(key, slot, table, scratch, drawn)
            out[:] = drawn.reshape(out.size, parts).sum(axis=1)

        return fill


@lru_cache(maxsize=32)
def build(numerator: int, shift: int) -> cells.Realised:
    """The table of one Skellam law, as of `cell_tables`: outcomes without fine bits, a residue of 128 bits each."""
    weights = _weights(Fraction(numerator) / Fraction(2) ** shift)
    outermost = max(weights), min(weights)
    return cells.realised(Rate(1, 1), weights, outermost, m=0, wrap=0, bits=16)


def _weights(variance: Fraction) -> dict[int, int]:
    """Integers in proportion to I_z(v), each right to a relative 2**-200, as far as 2**-130 of the largest.

    By Miller's recurrence I_(z-1) = I_(z+1) + (2 z / v) I_z, from far outside, where a wrong start is forgotten: every
    step down is an addition of positive numbers.
    """
    reach = math.ceil(15 * math.sqrt(float(variance)) + 60)
    start = reach + math.ceil(8 * math.sqrt(float(variance)) + 80)
    top, bottom = variance.denominator * 2, variance.numerator
    following, current = 0, 1 << 64
    found: list[int] = []
    for z in range(start, 0, -1):
        following, current = current, following + current * top * z // bottom
        if z - 1 <= reach:
            found.append(current)
        if current.bit_length() > 4 * PRECISION:  # keep the leading bits; what is cut is far below the precision
            drop = current.bit_length() - 2 * PRECISION
            following, current = following >> drop, current >> drop
            found = [weight >> drop for weight in found]
    largest = found[-1]
    limit = largest >> cells.GAUSSIAN_TAIL_BITS
    weights: dict[int, int] = {}
    for z, weight in enumerate(reversed(found)):
        if weight <= limit:
            break
        scaled = (weight << PRECISION) // largest
        weights[z] = scaled
        if z:
            weights[-z] = scaled
    return weights
