"""The integers of answers that are randomized twice: once for good, and anew in every report."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fastdp.laws.coins import BITS, Coin, log_up

_ONE = 1 << BITS


@dataclass(frozen=True, slots=True)
class TwoKeeps:
    """k-ary answers that are kept with one probability out of 2**128 for good, and with another in every report.

    Keeping composes: an answer that is kept twice is the truth, and any other is uniform over the k values.
    """

    permanent: int
    again: int
    size: int

    @classmethod
    def reaching(cls, target: Fraction, keep: Fraction, size: int) -> TwoKeeps:
        """The largest second keep with which both together keep at most ``target``."""
        return cls(int(keep * _ONE), int(target / keep * _ONE), size)

    @property
    def keep(self) -> Fraction:
        return Fraction(self.permanent * self.again, _ONE * _ONE)

    @property
    def q(self) -> Fraction:
        return (1 - self.keep) / self.size

    @property
    def p(self) -> Fraction:
        return self.keep + self.q

    @property
    def cost(self) -> float:
        """What a single report costs, rounded up."""
        return log_up(self.p / self.q)


@dataclass(frozen=True, slots=True)
class TwoSets:
    """Sets whose bits are coins of ``truth`` and ``noise`` for good; a report flips each with probability ``flip``."""

    truth: Coin
    noise: Coin
    flip: Coin

    @classmethod
    def reaching(cls, epsilon: float, truth: Coin, noise: Coin) -> TwoSets:
        """The least flips with which a single report costs at most epsilon: bisection over all 128-bit thresholds."""
        low, high = 0, _ONE >> 1  # no flip costs too much, flips of one half cost nothing
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if cls(truth, noise, Coin(middle)).cost <= epsilon else (middle, high)
        return cls(truth, noise, Coin(high))

    @property
    def permanent(self) -> tuple[int, int]:
        return self.truth.threshold, self.noise.threshold

    def _after(self, coin: Coin) -> Fraction:
        return coin.exact + self.flip.exact - 2 * coin.exact * self.flip.exact

    @property
    def p(self) -> Fraction:
        return self._after(self.truth)

    @property
    def q(self) -> Fraction:
        return self._after(self.noise)

    @property
    def cost(self) -> float:
        """What a single report costs, rounded up."""
        p, q = self.p, self.q
        return log_up(p * (1 - q) / (q * (1 - p)))
