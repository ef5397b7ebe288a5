"""The planar sampler in plain Python: the same bits, one lane at a time, and the exact weights of its offsets."""

from __future__ import annotations

import math

import numpy as np

from fastdp.kernels.metric.planar import CURVE, ROUNDS, SLACK
from fastdp.kernels.metric.planar_exact import BELOW_2_64, SERIES
from tests.reference.cells import AMBIGUOUS, COINS, HALVES, PRIVATE, TAIL_DOWN, TAIL_UP, WORDS, CellSampler
from tests.reference.keystream import Private, plane_word

ACCEPT = 6
TILE = 1024


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


def rough_chance(rate, first, second, begins):
    """The kernel's gamma and e**-gamma out of 2**16 in float32, operation by operation; also of arrays."""
    f32 = np.float32
    x, y = f32(first), f32(second)
    gamma = f32(rate) * (np.sqrt(f32(2) * (x * x + y * y)) - f32(begins))
    small = np.minimum(np.maximum(gamma, f32(0)), f32(8))
    squared = small * small
    total = (CURVE[0] + CURVE[1] * small) + (CURVE[2] + CURVE[3] * small) * squared
    total = total + (CURVE[4] + CURVE[5] * small) * (squared * squared)
    for _ in range(4):
        total = total * total
    chance = total * f32(65536)
    assert chance.dtype == f32
    return gamma, chance


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

    def tile(self, number):
        """The offsets of a tile's slots: the n-th of the lanes still rejected takes the n-th proposal of each round."""
        done = {}
        waiting = list(range(TILE))
        for attempt in range(ROUNDS):
            rejected = []
            for n, lane in enumerate(waiting):
                first, second, word, coin = self._words(number, attempt, n, len(waiting))
                c, d = self._cell(first), self._cell(second)
                private = Private(self.key, number * TILE + lane, PRIVATE)
                if {c, d} & {AMBIGUOUS, TAIL_UP, TAIL_DOWN}:
                    done[lane] = self._finish(c, d, word, coin, private)
                    continue
                offset, gamma = self._offset(c, d, (0, 0), word)
                sure = self._first_look(offset, gamma, coin)
                if sure is None:
                    done[lane] = self._finish(c, d, word, coin, private)
                elif sure:
                    done[lane] = offset
                elif attempt < ROUNDS - 1:
                    rejected.append(lane)
                else:
                    private.next()
                    done[lane] = self._redraw(private)
            waiting = rejected
        return [done[lane] for lane in range(TILE)]

    def _words(self, number, attempt, n, count):
        if attempt == 0:
            slot = number * TILE + n
            return (
                plane_word(self.key, HALVES, slot, 16),
                plane_word(self.key, COINS, slot, 16),
                plane_word(self.key, WORDS, slot, 32) if self.m else 0,
                plane_word(self.key, ACCEPT, slot, 16),
            )
        start = 3 * TILE * number
        cells, word, coin = (plane_word(self.key, WORDS, start + part * count + n, 32, attempt) for part in range(3))
        return cells & 0xFFFF, cells >> 16, word, coin & 0xFFFF

    def _first_look(self, offset, gamma, coin):
        """Accepted, rejected, or None: 16 bits of the uniform number against a float32."""
        begins = sum(abs(part) - ((part if part >= 0 else ~part) & (1 << self.m) - 1) for part in offset)
        rough, chance = rough_chance(self.rate, abs(offset[0]), abs(offset[1]), begins)
        if gamma < 8:
            assert abs(float(chance) - threshold(gamma)[0] / 2.0**48) <= SLACK
        if coin + 1 + SLACK <= chance and rough < 8:
            return True
        return False if coin >= chance + np.float32(SLACK) else None

    def _finish(self, c, d, word, coin, private):
        uniform = coin << 48 | private.next() >> 16
        return self._accept(c, d, word, uniform, private) or self._redraw(private)

    def _redraw(self, private):
        while True:
            both = private.next()
            c, d, word = self._cell(both & 0xFFFF), self._cell(both >> 16 & 0xFFFF), both >> 32
            found = self._accept(c, d, word, private.next(), private)
            if found is not None:
                return found

    def _accept(self, c, d, word, uniform, private):
        """The offset, or None if it is rejected."""
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
        return None
