"""The cell sampler in plain Python: the same bits, arbitrary-precision integers, no shortcuts.

It decides every lane the long way, through exact fractions, so it checks the kernel's flags (a lane that the kernel
settles early must come out the same here), its 128-bit arithmetic, and the order in which bits are read.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from tests.reference.keystream import Private, plane_word

HALVES, COINS, WORDS, PRIVATE = 1, 2, 3, 4
AMBIGUOUS, TAIL_UP, TAIL_DOWN = -32768, 32767, -32767


class CellSampler:
    """Draws of one table for one key."""

    def __init__(self, realised, key):
        self.r = realised
        self.key = tuple(int(word) for word in key)
        self.cells = [int(c) for c in realised.table.cells]
        self.bits = len(self.cells).bit_length() - 1
        self.order = list(realised.residues)
        self.thresholds = list(accumulate(realised.residues.values()))[:-1]

    @classmethod
    def of_table(cls, table, residues, key):
        """A sampler of cells alone, for a table whose law is another."""
        self = cls.__new__(cls)
        self.key = tuple(int(word) for word in key)
        self.cells = [int(c) for c in table.cells]
        self.bits = len(self.cells).bit_length() - 1
        self.order = list(residues)
        self.thresholds = list(accumulate(residues.values()))[:-1]
        return self

    def _residue(self, private):
        high = private.next()
        low_edge, high_edge = high << 64, (high + 1) << 64
        first = bisect_right(self.thresholds, low_edge - 1 if low_edge else -1)
        if first < len(self.thresholds) and low_edge <= self.thresholds[first] < high_edge:
            return self.order[bisect_right(self.thresholds, low_edge | private.next())]
        return self.order[bisect_right(self.thresholds, low_edge)]

    def _cell(self, private):
        cell = self.cells[private.next() >> (64 - self.bits)]
        return self._residue(private) if cell == AMBIGUOUS else cell

    def gamma(self, cell, fine):
        """The exact exponent of the probability to keep fine bits in a cell."""
        m, rate = self.r.m, self.r.rate.exact
        if not self.r.quadratic:
            return rate * fine
        magnitude = cell if cell >= 0 else ~cell
        return rate * fine * (2 * ((magnitude << m) + (cell < 0)) + fine)

    def _keep(self, gamma, first, private):
        k, uniform = 1, first
        while _below(k, uniform, gamma, private):
            k += 1
            uniform = private.next()
        return k % 2 == 1

    def draw(self, slot):
        m = self.r.m
        half = plane_word(self.key, HALVES, slot, 16)
        cell = self.cells[half >> (16 - self.bits)]
        fine = coin = coin_bits = 0
        if m:
            if m <= 6:
                both = plane_word(self.key, COINS, slot, 16)
                fine, coin, coin_bits = both >> (16 - m), both & ((1 << (16 - m)) - 1), 16 - m
            else:
                word = plane_word(self.key, WORDS, slot, 32)
                fine, coin_bits = word >> (32 - m), 16
                coin = word & 0xFFFF if m <= 16 else plane_word(self.key, COINS, slot, 16)
        if cell < 0:
            fine ^= (1 << m) - 1  # a negative draw is the complement of a non-negative one, fine bits included
        private = Private(self.key, slot, PRIVATE)
        refill = private.next()
        first = coin << (64 - coin_bits) | refill >> coin_bits if coin_bits else refill
        return self.finish(cell, fine, first, private)

    def finish(self, cell, fine, first, private):
        """From a cell, fine bits and 64 bits to keep them or not, to the draw."""
        m = self.r.m
        if cell == AMBIGUOUS:
            cell = self._residue(private)
        wrapped = 0
        while True:
            up = cell >= 0
            while cell in (TAIL_UP, TAIL_DOWN):
                wrapped += self.r.wrap
                cell = self._cell(private)
                while (cell >= 0) != up:
                    cell = self._cell(private)
            if fine == 0 or self._keep(self.gamma(cell, fine), first, private):
                value = (((cell if up else ~cell) + wrapped) << m) + fine
                return value if up else ~value
            if self.r.quadratic:
                cell = self._cell(private)
            fine = private.next() >> (64 - m)
            first = private.next()


def _below(k, uniform, gamma, private):
    """Whether k * u < gamma, u cut to 128 bits; the second 64 are read only if the first do not decide."""
    exact = int(gamma * (1 << 128))
    if k * uniform > exact >> 64:
        return False
    if k * (uniform + 1) <= exact >> 64:
        return True
    return k * (uniform << 64 | private.next()) < exact
