"""Local reports of numbers in plain Python: the same bits, integers of any size, every lane decided the long way."""

from __future__ import annotations

from fractions import Fraction

from tests.reference.cells import COINS, HALVES, PRIVATE, WORDS
from tests.reference.keystream import Private, plane_word


class NumericSampler:
    """Reports of one mechanism for one key."""

    def __init__(self, mechanism, key):
        self.key = tuple(int(word) for word in key)
        self.two_point, self.window, self.share = mechanism._two_point, mechanism._window, mechanism._share
        self.kernel = mechanism._kernel

    def threshold(self, value):
        """T of 2**64, clamped as an integer."""
        law, least = self.kernel[0], self.two_point.least << 11
        exact = Fraction(min(max((value - law.low) * law.slope + law.least, 0.0), 65536.0)) * 2**48
        return min(max(int(exact), least), 2**64 - least)

    def cell(self, value):
        law = self.kernel[1]
        return int(min(max((value - law.low) * law.slope + 0.5, 0.0), self.window.cells))

    def draw(self, slot, value):
        """The report, and whether it needed the private stream."""
        half = plane_word(self.key, HALVES, slot, 16)
        private = Private(self.key, slot, PRIVATE)
        first = half << 48 | private.next() >> 16
        if plane_word(self.key, COINS, slot, 16) >= self.share:
            law, threshold = self.kernel[0], self.threshold(value)
            return (law.plus if first < threshold else law.minus), half == threshold >> 48
        law, m, width, keep = self.kernel[1], self.window.m, self.window.width, self.window.keep
        word, u = plane_word(self.key, WORDS, slot, 32), self.cell(value)
        late = half == keep >> 48
        if first < keep:
            late = late or word * width % 2**32 < 2**32 % width
            j = u + (self._below(private, width) if late else word * width >> 32)
        else:
            j = private.next() >> (64 - m) if late else word >> (32 - m)
            j += width if j >= u else 0
        return (j - law.centre) * law.step + law.middle, late

    def outer(self, slot, is_late):
        """The draw among the cells outside the window, before the window is put in."""
        if not is_late:
            return plane_word(self.key, WORDS, slot, 32) >> (32 - self.window.m)
        private = Private(self.key, slot, PRIVATE)
        private.next()
        return private.next() >> (64 - self.window.m)

    @staticmethod
    def _below(private, count):
        while True:
            product = private.next() * count
            if product % 2**64 >= 2**64 % count:
                return product >> 64


def cell_probabilities(law, u):
    """The probability of every cell reported for u, as floats."""
    import numpy as np

    inside = float(law.inside)
    row = np.full(law.cells + law.width, (1 - inside) / law.cells)
    row[u : u + law.width] = inside / law.width
    return row
