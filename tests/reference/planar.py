"""The planar sampler in plain Python: the same bits, one lane at a time, and the exact weights of its offsets."""

from __future__ import annotations

import math

from fastdp.kernels.planar import BELOW_2_64, SERIES
from tests.reference.cells import AMBIGUOUS, COINS, HALVES, PRIVATE, TAIL_DOWN, TAIL_UP, WORDS, CellSampler
from tests.reference.chacha import Private, block, plane_word

ACCEPT = 6


def chance_of(x: float) -> float:
    """The kernel's e**-x for x up to 8, operation by operation."""
    s = SERIES.tolist()
    x2 = x * x
    x4 = x2 * x2
    low = (s[0] + s[1] * x) + (s[2] + s[3] * x) * x2
    middle = (s[4] + s[5] * x) + (s[6] + s[7] * x) * x2
    high = (s[8] + s[9] * x) + (s[10] + s[11] * x) * x2
    highest = (s[12] + s[13] * x) + s[14] * x2
    total = (low + middle * x4) + (high + highest * x4) * (x4 * x4)
    for _ in range(4):
        total *= total
    return total


def threshold(gamma: float) -> tuple[int, int]:
    """The kernel's threshold out of 2**64, and how often in a row a draw must be below it."""
    steps = int(gamma / 8.0) + 1
    return int(min(chance_of(gamma / steps) * 2.0**64, BELOW_2_64)), steps


def exponent(rate: float, first: int, second: int, begins: int) -> float:
    a, b = float(first), float(second)
    return max(0.0, rate * (math.sqrt(2.0 * (a * a + b * b)) - float(begins)))


class PlanarSampler:
    """Offsets of one law for one key; ``realised`` is the table of its coordinates."""

    def __init__(self, realised, key):
        self.cells = CellSampler(realised, key)
        self.key, self.m, self.wrap = self.cells.key, realised.m, realised.wrap
        self.rate = float(realised.rate.exact)
        self.shift = 16 - self.cells.bits

    def _cell(self, half):
        return self.cells.cells[half >> self.shift]

    def _coordinate(self, cell, wrapped, fine):
        """The signed coordinate and the length at which its cell begins."""
        begins = ((cell if cell >= 0 else ~cell) + wrapped << self.m) + (cell < 0)
        return (begins + fine) * (1 if cell >= 0 else -1), begins

    def _fine(self, word):
        return (word & 0xFFFF) >> 16 - self.m, (word >> 16) >> 16 - self.m

    def _offset(self, c, d, wraps, word):
        f, g = self._fine(word)
        (a, a_begins), (b, b_begins) = self._coordinate(c, wraps[0], f), self._coordinate(d, wraps[1], g)
        return (a, b), exponent(self.rate, abs(a), abs(b), a_begins + b_begins)

    def _inside(self, cell, private):
        """A cell that is no tail, and the distance wrapped."""
        if cell == AMBIGUOUS:
            cell = self.cells._residue(private)
        return cell

    def _leave(self, cell, private):
        wrapped, upward = 0, cell >= 0
        while cell in (TAIL_UP, TAIL_DOWN):
            wrapped += self.wrap
            cell = self.cells._cell(private)
            while (cell >= 0) != upward:
                cell = self.cells._cell(private)
        return cell, wrapped

    def draw(self, slot):
        words = block(self.key, slot, PRIVATE, 0)
        proposals = [
            (
                plane_word(self.key, HALVES, slot, 16),
                plane_word(self.key, COINS, slot, 16),
                plane_word(self.key, WORDS, slot, 32),
                plane_word(self.key, ACCEPT, slot, 32),
            )
        ]
        proposals += [(words[k] & 0xFFFF, words[k] >> 16, words[k + 1], words[k + 2]) for k in (0, 3)]
        for first, second, word, coin in proposals:
            c, d = self._cell(first), self._cell(second)
            if {c, d} & {AMBIGUOUS, TAIL_UP, TAIL_DOWN}:
                break
            offset, gamma = self._offset(c, d, (0, 0), word)
            chance = chance_of(min(gamma, 8.0)) * 2.0**31
            if gamma >= 8.0 or not ((coin >> 1) + 1 <= chance or (coin >> 1) > chance):
                break
            if (coin >> 1) + 1 <= chance:
                return offset
        return self._finish(c, d, word, coin, Private(self.key, slot, PRIVATE))

    def _finish(self, c, d, word, coin, private):
        for _ in range(3):
            private.next()
        uniform = coin << 32 | private.next() >> 32
        while True:
            c = self._inside(c, private)
            d = self._inside(d, private)
            c, c_wrapped = self._leave(c, private)
            d, d_wrapped = self._leave(d, private)
            offset, gamma = self._offset(c, d, (c_wrapped, d_wrapped), word)
            below, steps = threshold(gamma)
            while uniform < below:
                steps -= 1
                if steps == 0:
                    return offset
                uniform = private.next()
            both = private.next()
            c, d, word = self._cell(both & 0xFFFF), self._cell(both >> 16 & 0xFFFF), both >> 32
            uniform = private.next()
