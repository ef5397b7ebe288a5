"""The integers of k-ary randomized response: what it keeps, what it reports instead, and what that costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fastdp import rounding
from fastdp.kernels.cells import CellTable
from fastdp.kernels.krr import KEEP
from fastdp.noise import cells
from fastdp.noise.digits import as_bytes
from fastdp.noise.rates import Rate
from fastdp.noise.weights import PRECISION, exp_fixed

LARGEST_TABLE = 4096
"""Values of a domain that a table of 2**16 entries serves; beyond it more than 3 % of them would be ambiguous."""
LARGEST_BYTE_TABLE = 126


class Table(NamedTuple):
    """A table and its entries in the narrowest type."""

    table: CellTable
    entries: np.ndarray


@dataclass(frozen=True, slots=True)
class KRRLaw:
    """Keep the truth with probability ``keep``, else report one of k values uniformly, up to 2**-126 of a value.

    Truth is reported with p = keep + q, any other value with q = (1 - keep) / k.
    """

    rate: Rate  # epsilon, rounded down
    k: int

    def _excess(self) -> int:
        """e**epsilon - 1, rounded down: the weight of KEEP where every value has 1."""
        growth = (1 << 2 * PRECISION) // (exp_fixed(self.rate.numerator, self.rate.shift) + (1 << 16))
        return growth - (1 << PRECISION)

    def realised(self) -> tuple[dict[int, int], dict[int, int], int]:
        """Slots and residues of KEEP and of every value; what rounding leaves over goes to two of the values."""
        weights = {KEEP: self._excess(), **dict.fromkeys(range(self.k), 1 << PRECISION)}
        return cells.realise(weights, (0, 1), 16)

    @property
    def keep(self) -> Fraction:
        """The probability of KEEP as realised: an integer out of 2**128."""
        excess = self._excess()
        return Fraction((excess << 128) // (excess + (self.k << PRECISION)), 1 << 128)

    @property
    def q(self) -> float:
        return float((1 - self.keep) / self.k)

    @property
    def p(self) -> float:
        return float(self.keep + (1 - self.keep) / self.k)

    @property
    def cost(self) -> float:
        """ln(1 + keep / q) of the realised integers, rounded up.

        One value's probability is short of its share by at most three units of 2**-128, and keep is never above its
        ideal, so the ratio exceeds the ideal by at most the part that four units are of q.
        """
        excess = Fraction(4 * self.k, 1 << 126) * (1 + Fraction(math.ceil(math.exp(float(self.rate.exact)))))
        return rounding.float_up(self.rate.exact + excess)


@lru_cache(maxsize=64)
def build(law: KRRLaw) -> Table:
    """The table of a law of up to LARGEST_TABLE values; cached."""
    slots, residues, _ = law.realised()
    table = cells.arrange([0] * 8, slots, residues)
    return Table(table, as_bytes(table.cells) if law.k <= LARGEST_BYTE_TABLE else table.cells)
