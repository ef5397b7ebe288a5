"""E S+ of a sum S of independent equal numbers of few values: a proven bracket, by the method of compositions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fastdp.accounting import few_numbers
from fastdp.accounting.factors import UNIT
from fastdp.accounting.inversion import SMOOTHING_CONSTANT, search

LOG_CUT = math.log(1e-12)
MOST_BLOCKS = 1 << 13
LEAST_CONSTANT = 1e-14
FEW = 1 << 12
COARSER = (12.0, 4.0, 1.8, 1.0, 0.5, 0.2)
"""How much wider the smoothing of each try is, until the bracket is narrow enough."""
MANY = 3
"""The try that comes first where numbers are many."""
COPIES = (1.25, 1.5, 2.0, 3.0)
"""Multiples of the tilt for Chernoff's bound one period above."""


class Atoms(NamedTuple):
    """A number of few values: the values, their probabilities, and what the values are differences of in size.

    Probabilities are right to 8 units of themselves and values to 8 units of their spans.
    """

    values: np.ndarray
    masses: np.ndarray
    spans: np.ndarray


def positive_part(atoms: Atoms, n: int, width: float) -> tuple[float, float]:
    """Bounds on E[S+] of the sum S of ``n`` independent numbers; ``width`` is the relative width aimed at.

    Of few numbers the sums are so far apart that more smoothing, and so fewer nodes, will often do; where smoothing
    will not, beside a kink of the curve, all counts are gone through.
    """
    transform = _Transform.of(atoms, n)
    best = 0.0, math.inf
    tries = COARSER[:1] if n <= few_numbers.MOST else COARSER if n <= FEW else COARSER[MANY:]
    for coarser in tries:
        lower, upper = transform.bounds(width * coarser * coarser)
        best = max(best[0], lower), min(best[1], upper)
        if best[1] - best[0] <= width * best[1]:
            return best
    if n <= few_numbers.MOST:
        lower, upper = few_numbers.sum_over_counts(*atoms, n, max(best[0], best[1] / 10))
        best = max(best[0], lower), min(best[1], upper)
    return best


@dataclass(frozen=True, slots=True)
class _Transform:
    """The tilted moment function of one number, at a tilt near the saddle point; values in order of their weight."""

    atoms: Atoms
    n: int
    log_moment: Callable[[float], float]
    theta: float
    moment: float
    tilted: np.ndarray
    off: float
    """Units of rounding in weights."""
    sigma: float

    @classmethod
    def of(cls, atoms: Atoms, n: int) -> _Transform:
        log_moment = _log_moment(atoms, n)
        top = float(atoms.values.max())
        theta = math.exp(search(lambda log: log_moment(math.exp(log)) - 2 * log, 40.0, 7, start=-math.log(top))[0])
        below = theta * (atoms.values - top)
        tilted = atoms.masses * np.exp(below)
        tilted /= tilted.sum()
        order = np.argsort(-tilted, kind="stable")
        atoms, tilted = Atoms(*(row[order] for row in atoms)), tilted[order]
        off = 24 + 4 * float(-below.min()) + 16 * theta * float(atoms.spans.max())
        spread = float(tilted @ (atoms.values - float(tilted @ atoms.values)) ** 2)
        return cls(atoms, n, log_moment, theta, log_moment(theta), tilted, off, math.sqrt(n * spread))

    def bounds(self, width: float) -> tuple[float, float]:
        """Bounds on E[S+], smoothed for a width."""
        from fastdp.kernels.losses import moments

        values, _, spans = self.atoms
        n, theta, tilted, off = self.n, self.theta, self.tilted, self.off
        period = max(14 * self.sigma, (36 + max(0.0, -self.moment)) / theta)
        dt = 2 * math.pi / period
        # nodes end where what is left out is a hundredth of the width: the sum is about 1 / (sigma theta^2 sqrt(2 pi))
        reach = math.sqrt(2 * max(8.0, math.log(100 / width) + math.log(1 + self.sigma * theta)))
        smoothing = max(0.55 * width / theta**2, (reach / (dt * moments.BLOCK * MOST_BLOCKS)) ** 2)
        blocks = int(reach / math.sqrt(smoothing) / (dt * moments.BLOCK)) + 1
        # where all are 0 nothing is added: an atom in the very place of the kink, which is left out
        constant = math.exp(n * math.log(max([1e-300, *tilted[values == 0].tolist()])))
        constant = constant if constant > LEAST_CONSTANT else 0.0
        first, second, rounded, moved, live, lost = self._invert(dt, smoothing, blocks, constant)
        last = (blocks * moments.BLOCK - 1) * dt
        far = float(tilted @ np.abs(values - values[0])) + 2 * abs(float(values[0]))
        apart = float(tilted @ spans) + 2 * float(spans[0])
        slack = UNIT * (rounded + n * moved * (off * far + 16 * apart) + 4 * n * off * constant * live)
        slack += math.exp(LOG_CUT) * lost
        slack = slack * dt / math.pi + math.exp(-0.5 * smoothing * last * last) / (math.pi * last)
        added = smoothing * theta * theta / 2
        error = self._error(theta) + 16 * UNIT * (8 + abs(self.moment))
        base, more = (math.exp(min(self.moment + times * added + error, 700.0)) for times in (1, 2))
        upper, both = (first + slack) * base, (second + slack) * more
        lower = (first - slack) * base * math.exp(-2 * error) - self._copies(period, smoothing)
        least = lower - SMOOTHING_CONSTANT * (1 + 8 * UNIT) * (both - lower)
        chernoff = math.exp(min(self.moment + error - 1, 700.0)) / theta * (1 + 1e-12)
        return max(0.0, least), min(upper, chernoff)

    def _invert(self, dt: float, smoothing: float, blocks: int, constant: float) -> tuple[float, ...]:
        """The sums of `kernels.losses.shuffled`."""
        from fastdp.kernels.losses import moments, shuffled

        values, theta = self.atoms.values, self.theta
        if self.n > FEW:
            found: tuple[float, ...] = shuffled.invert_power(
                dt, theta, smoothing, blocks, float(self.n), values, self.tilted, LOG_CUT, constant
            )
            return found
        turns = np.empty((2, values.size, moments.BLOCK))
        return *shuffled.invert_few(
            dt, theta, smoothing, blocks, self.n, values, self.tilted, constant, np.empty((12, moments.BLOCK)),
            turns[0], turns[1], np.empty((2, values.size)),
        ), 0.0  # fmt: skip

    def _error(self, theta: float) -> float:
        """What `log_moment` may be off by: of probabilities, of values, and of the terms of its sum."""
        values, masses, spans = self.atoms
        x = theta * values
        top = max(0.0, float(x.max()))
        scaled = np.exp(x - top)
        size = np.abs(np.expm1(x)) * math.exp(-top) if top < 600 else scaled
        off = 16 * float(masses @ (size + theta * spans * scaled)) / float(masses @ scaled)
        return UNIT * self.n * (off + (4 * top if top >= 600 else 0.0))

    def _copies(self, period: float, smoothing: float) -> float:
        """What the period adds: copies of E(S - c)+ at c = m period, e^{theta c} times, m != 0."""
        left = math.exp(-self.theta * period)
        most = self.n * float(np.abs(self.atoms.values).max())
        below = left / (1 - left) * (most + math.sqrt(smoothing)) + period * left / (1 - left) ** 2
        above = math.inf
        for tilt in COPIES:
            other = self.theta * tilt
            gap = (other - self.theta) * period
            power = self.log_moment(other) + self._error(other)
            power += smoothing * other * other / 2 - gap - math.log(other) - 1
            above = min(above, math.exp(min(power, 700.0)) / -math.expm1(-gap))
        return (below + above) * (1 + 1e-9)


def _log_moment(atoms: Atoms, n: int) -> Callable[[float], float]:
    """N ln E e^{theta X}, which is right also where it is of n numbers near 0."""
    pairs: list[tuple[float, float]] = [
        (value, mass) for value, mass, _ in zip(*(row.tolist() for row in atoms), strict=True) if value
    ]
    top = max(value for value, _ in pairs)

    def log_moment(theta: float) -> float:
        if theta * top < 600:
            return n * math.log1p(sum([mass * math.expm1(theta * value) for value, mass in pairs]))
        return n * (theta * top + math.log(sum([mass * math.exp(theta * (value - top)) for value, mass in pairs])))

    return log_moment
