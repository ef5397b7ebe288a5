"""Curves in closed form: Gaussians, one Laplace loss, and few enough atoms to be enumerated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from fastdp.accounting.factors import MOST_COINS, UNIT, Factors

MOST_OUTCOMES = 1 << 15
BITS = 1600
UNDERFLOW = 1e-280
"""What is lost by all masses too small for a float64."""


@dataclass(slots=True)
class GaussianCurve:
    """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), rounded outward. [Balle, Wang 2018]"""

    mu: float

    def bounds(self, epsilon: float) -> tuple[float, float]:
        """Lower and upper bounds on delta(epsilon)."""
        a, b = epsilon / self.mu - self.mu / 2, epsilon / self.mu + self.mu / 2
        first, second = _tail(a), _tail(b)
        second = math.exp(epsilon + math.log(second)) if second > 0 else 0.0
        size = 1 + (epsilon / self.mu) ** 2 + self.mu**2
        error = 8 * UNIT * size * (first + second) + 1e-300
        return max(0.0, first - second - error), min(1.0, first - second + error)


def _tail(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


@dataclass(slots=True)
class SampledCurve:
    """One Gaussian of a deviation ``sigma`` on a Poisson sample, or where a record is added: P(A) - e^epsilon Q(A).

    A is where the likelihood ratio is above e^epsilon; where it begins, the curve is stationary, so that rounding there
    counts in second order alone.
    """

    sigma: float
    rate: float
    add: bool

    def bounds(self, epsilon: float) -> tuple[float, float]:
        """Lower and upper bounds on delta(epsilon)."""
        q, sigma = self.rate, self.sigma
        odds = (math.expm1(-epsilon) if self.add else math.expm1(min(epsilon, 700.0))) / q
        if not odds > -1 or epsilon > 700:
            return (0.0, 0.0) if self.add else (0.0, 1e-300)
        edge = sigma * math.log1p(odds) + 1 / (2 * sigma)
        without, having = (-edge, 1 / sigma - edge) if not self.add else (edge, edge - 1 / sigma)
        outside, inside = _tail(-without), _tail(-having)
        grown = math.exp(epsilon)
        if self.add:
            terms = outside, -grown * (1 - q) * outside, -grown * q * inside
        else:
            terms = q * inside, (1 - q) * outside, -grown * outside
        size = 1 + edge * edge + 1 / (sigma * sigma)
        error = 8 * UNIT * size * math.fsum(map(abs, terms)) + 1e-300
        delta = math.fsum(terms)
        return max(0.0, delta - error), min(1.0, max(0.0, delta) + error)


@dataclass(slots=True)
class LaplaceCurve:
    """1 - e^{(epsilon - largest) / 2} of Laplace noise, rounded outward.

    Geometric noise of a ``rate`` has the same value at its losses, largest - 2 j rate, and is linear in e^epsilon
    between them.
    """

    largest: float
    rate: float = 0.0

    def bounds(self, epsilon: float) -> tuple[float, float]:
        """Lower and upper bounds on delta(epsilon)."""
        if epsilon >= self.largest:
            return 0.0, 0.0
        delta = self._above(self.largest - epsilon)
        return delta * (1 - 16 * UNIT), min(1.0, delta * (1 + 16 * UNIT))

    def _above(self, room: float) -> float:
        """Delta at ``room`` below the largest loss: of all lines through two neighbouring losses the highest."""
        if not self.rate:
            return -math.expm1(-room / 2)
        j = int(room / (2 * self.rate))
        return max(self._line(room, at * self.rate) for at in (max(j - 1, 0), j, j + 1)) / (1 + math.exp(-self.rate))

    def _line(self, room: float, passed: float) -> float:
        return -math.expm1(passed - room) - math.exp(-self.rate) * math.expm1(-passed)


class AtomsCurve:
    """A sum over all outcomes of a few atoms."""

    def __init__(self, losses: np.ndarray, masses: np.ndarray, count: int) -> None:
        order = np.argsort(losses)
        self._losses, self._masses = losses[order], masses[order]
        self._error = 4 * (count + 24) * UNIT

    def bounds(self, epsilon: float) -> tuple[float, float]:
        """Lower and upper bounds on delta(epsilon)."""
        first = int(np.searchsorted(self._losses, epsilon, "right"))
        delta = -float((self._masses[first:] * np.expm1(epsilon - self._losses[first:])).sum())
        return max(0.0, delta * (1 - self._error) - UNDERFLOW), min(1.0, delta * (1 + self._error) + UNDERFLOW)


class CoinsCurve:
    """A binomial sum for randomized response whose epsilon lies between ``low`` and ``high``.

    Its curve grows with epsilon, so both ends of it are computed.
    """

    def __init__(self, low: float, high: float, count: int) -> None:
        self._ends = [_Coins(low, count), _Coins(high, count)] if low < high else [_Coins(low, count)]

    def bounds(self, epsilon: float) -> tuple[float, float]:
        """Lower and upper bounds on delta(epsilon)."""
        return self._ends[0].bounds(epsilon)[0], self._ends[-1].bounds(epsilon)[1]


class _Coins:
    def __init__(self, rate: float, count: int) -> None:
        with localcontext() as context:
            context.prec = 60
            ratio = Fraction((-Decimal(rate)).exp())
        first, terms = _binomial(count, Fraction(1), ratio)
        j = np.arange(first, first + terms.size)
        self._losses, self._masses = ((count - 2 * j) * rate)[::-1], terms[::-1]

    def bounds(self, epsilon: float) -> tuple[float, float]:
        first = int(np.searchsorted(self._losses, epsilon, "right"))
        masses, room = self._masses[first:], epsilon - self._losses[first:]
        delta = -float(masses @ np.expm1(room))
        # a loss is off by a unit of its own, of which e^room reaches the sum
        off = float(masses @ (np.exp(room) * self._losses[first:])) + epsilon * float(masses @ np.exp(room))
        error = UNIT * (64 * delta + masses.size * delta * 2.0**-20 + 4 * abs(off)) + UNDERFLOW
        return max(0.0, delta - error), min(1.0, delta + error)


def exact_curve(factors: Factors) -> GaussianCurve | SampledCurve | LaplaceCurve | CoinsCurve | AtomsCurve | None:
    """The closed form of a composition, None if it has none here."""
    laplace = factors.laplace
    if factors.sampled.size:
        sigma, rate, _, add = factors.sampled[0].tolist()
        alone = factors.count == 1 and not factors.variance
        return SampledCurve(sigma, rate, bool(add)) if alone else None
    if factors.coin:
        return CoinsCurve(*factors.coin, int(factors.counts[0]))
    if not laplace.size and not factors.counts.size:
        return GaussianCurve(math.sqrt(factors.variance)) if factors.variance else None
    if factors.variance:
        return None
    if laplace.size:
        alone = len(laplace) == 1 == laplace[0, 2] and not factors.counts.size
        return LaplaceCurve(*laplace[0, :2].tolist()) if alone else None
    return _enumerate(factors)


def _enumerate(factors: Factors) -> AtomsCurve | None:
    losses, masses, rounding = np.zeros(1), np.ones(1), 8
    if factors.counts.size > 15 and (np.diff(factors.starts) > 1).sum() > 15:
        return None
    for own_losses, own_masses, count in factors.atoms:
        powers = _powers(own_losses, own_masses, count)
        if powers is None or (losses.size > 1 and losses.size * powers[0].size > MOST_OUTCOMES):
            return None
        losses = (losses[:, None] + powers[0]).ravel()
        masses = (masses[:, None] * powers[1]).ravel()
        rounding += 1 if count == 1 else 8 if own_losses.size == 2 else count * (own_losses.size + 1)
    factors.shift += 4 * UNIT * factors.reach * (factors.counts.size + 4)
    return AtomsCurve(losses, masses, rounding)


def _powers(losses: np.ndarray, masses: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray] | None:
    """All outcomes of ``count`` equal losses, by how often each atom occurs; None if they are too many."""
    if count == 1 or losses.size == 1:
        return losses * count, masses**count
    if losses.size == 2:
        return _binomial_powers(losses, masses, count) if count <= MOST_COINS else None
    if count * math.log(losses.size) > 650 or math.comb(count + losses.size - 1, losses.size - 1) > MOST_OUTCOMES:
        return None
    return _multinomial_powers(losses, masses, count)


def _multinomial_powers(losses: np.ndarray, masses: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    choose = np.zeros((count + 1, count + 1))
    choose[:, 0] = 1
    for n in range(1, count + 1):
        choose[n, 1:] = choose[n - 1, 1:] + choose[n - 1, :-1]
    left, sums, weights = np.array([count]), np.zeros(1), np.ones(1)
    for loss, mass in zip(losses[:-1], masses[:-1], strict=True):
        row = np.repeat(np.arange(left.size), left + 1)
        times = np.arange(row.size) - np.repeat(np.cumsum(left + 1) - (left + 1), left + 1)
        sums = sums[row] + times * loss
        weights = weights[row] * choose[left[row], times] * mass**times
        left = left[row] - times
    return sums + left * losses[-1], weights * masses[-1] ** left


def _binomial_powers(losses: np.ndarray, masses: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    first, terms = _binomial(count, *map(Fraction, masses.tolist()))
    j = np.arange(first, first + terms.size)
    return (count - j) * losses[0] + j * losses[1], terms


def _binomial(count: int, p: Fraction, q: Fraction) -> tuple[int, np.ndarray]:
    """C(count, j) p^(count-j) q^j, each to a few units, for all j from a first one on that are not below 1e-320.

    Where p is 1, p + q is taken to be 1: they are odds.

    Integers of 1600 bits, whose recurrence starts from the largest term and ends 1100 bits below it.
    """
    ratio = q / p
    mode = min(count, max(0, int((count + 1) * q / (p + q))))
    if not ratio:
        return 0, np.array([1.0 if p == 1 else float(p) ** count])
    up = _descend(ratio, ((count - j, j + 1) for j in range(mode, count)))
    down = _descend(1 / ratio, ((j, count - j + 1) for j in range(mode, 0, -1)))
    terms = [*reversed(down), 1 << BITS, *up]
    total = sum(terms)
    scale = 1.0 if p == 1 else math.exp(count * math.log1p(float(p + q - 1)))
    return mode - len(down), np.array([term / total for term in terms]) * scale


def _descend(ratio: Fraction, factors: Iterator[tuple[int, int]]) -> list[int]:
    shift = 192 + max(0, ratio.denominator.bit_length() - ratio.numerator.bit_length())
    step = (ratio.numerator << shift) // ratio.denominator
    terms, term = [], 1 << BITS
    for above, below in factors:
        term = (term * step * above // below) >> shift
        if term.bit_length() < BITS - 1100:
            break
        terms.append(term)
    return terms
