"""The discrete Gaussian law: what it costs, how to calibrate it, and how to draw it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from fastdp import rounding
from fastdp.errors import ParameterError
from fastdp.kernels import cell_tables as kernel
from fastdp.kernels.central import per_record as each
from fastdp.kernels.stream.words import Scratch
from fastdp.laws import cell_tables as cells
from fastdp.laws.law import Fill
from fastdp.laws.loss_atoms import atomic
from fastdp.laws.rate import Rate, check_scale, sigmas_above
from fastdp.losses import AtomicLoss, GaussianLoss
from fastdp.privacy import DISTANCE

SMALLEST_SIGMA = 0.125
LARGEST_SIGMA = 2.0**37
LARGEST_EACH_SIGMA = 2.0**25
"""In steps of the grid: what the samplers can draw."""
SUMMED_SIGMA = 512
"""Up to this sigma the cost is a sum over the integers; beyond it, a continuous bound is as good."""


def delta_of(epsilon: float, sigma: float, steps: int) -> float:
    """An upper bound on the delta of the discrete Gaussian at a shift by ``steps``, within 1e-3 of tight or better.

    delta = P[X > a] - e**epsilon P[X > a + steps], a = epsilon * sigma**2 / steps - steps / 2
    (Canonne, Kamath and Steinke 2020, theorem 7).
    """
    edge = epsilon * sigma * sigma / steps - steps / 2
    if sigma <= SUMMED_SIGMA:
        delta = _delta_by_sum(epsilon, sigma, steps, edge)
    else:
        delta = _delta_by_bounds(epsilon, sigma, steps, edge)
    return delta + DISTANCE * (1 + math.exp(min(epsilon, 700.0)))


def _delta_by_sum(epsilon: float, sigma: float, steps: int, edge: float) -> float:
    """The sum of the positive terms P(z) * (1 - e**(epsilon - loss(z))), none of them a difference of large numbers."""
    reach = 40 * sigma + 2
    first = math.floor(edge) + 1
    if first > reach:
        return 0.0
    z = np.arange(max(first, -math.ceil(reach) - steps), math.ceil(reach) + 1, dtype=np.float64)
    excess = -np.expm1(np.minimum(epsilon - steps * (2 * z + steps) / (2 * sigma * sigma), 0.0))
    everything = np.arange(-math.ceil(reach), math.ceil(reach) + 1, dtype=np.float64)
    total = np.exp(-(everything**2) / (2 * sigma * sigma)).sum()
    return float((np.exp(-(z**2) / (2 * sigma * sigma)) * excess).sum() / total) * (1 + 1e-10)


def _delta_by_bounds(epsilon: float, sigma: float, steps: int, edge: float) -> float:
    """Each tail bounded by the integral over its integers' unit cells.

    The integral of the density over the cell of z lies between 1 - 1/(8 sigma**2) and cosh(z / (2 sigma**2)) times its
    value at z; beyond ten sigma past the edge nothing is left to bound.
    """
    first = math.floor(edge) + 0.5
    low, apart = first / sigma, steps / sigma
    high = low + apart
    far = math.exp(min(epsilon + _log_tail(high), 700.0))
    integers = _tail(low) / (8 * sigma * sigma) + far * (abs(high) + 10) ** 2 / (7 * sigma * sigma)
    return max(0.0, (_hockey_stick(low, apart, apart * (first - edge) / sigma) + integers) * (1 + 1e-10))


_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(24)
_PANELS = np.arange(16.0)
_PLACES = (_PANELS[:, None] + (_NODES + 1) / 2).ravel()
_PLACE_WEIGHTS = np.tile(_NODE_WEIGHTS / 2, _PANELS.size)


def _hockey_stick(low: float, apart: float, offset: float) -> float:
    """P[N > low] - e**epsilon P[N > low + apart], where epsilon = apart * low + apart**2 / 2 - offset.

    The integral over t > low of the density times 1 - e**(-apart * (t - low) - offset): no large terms cancel.
    """
    stretch = max(1.0, (12.0 - low) / _PANELS.size) if low < 12 else 12.0 / low
    u = _PLACES * stretch
    density = np.exp(-((low + u) ** 2) / 2) / math.sqrt(2 * math.pi)
    return float((density * -np.expm1(-apart * u - offset) * _PLACE_WEIGHTS).sum() * stretch)


def _tail(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def _log_tail(x: float) -> float:
    """Ln P[N(0, 1) > x], also where the probability has no float64."""
    if x < 30:
        return math.log(_tail(x))
    return -x * x / 2 - math.log(x * math.sqrt(2 * math.pi)) - 1 / (x * x)


def smallest_sigma(epsilon: float, delta: float, steps: int) -> float:
    """The smallest sigma whose delta at epsilon is at most a reachable ``delta``, within 1e-12, from above."""
    return _least(lambda sigma: delta_of(epsilon, sigma, steps), delta * (1 - 1e-9), steps / max(epsilon, 1e-3))


def smallest_ratio(epsilon: float, delta: float, least_steps: float) -> float:
    """A ratio r such that sigma = r * steps keeps delta at epsilon for every shift of at least ``least_steps``.

    The continuous curve at its own edge bounds the discrete one at any; the terms that account for the integers shrink
    as sigma grows, so those of the smallest sigma serve all.
    """

    def bound(ratio: float) -> float:
        sigma = ratio * least_steps
        low, high = epsilon * ratio - 0.5 / ratio, epsilon * ratio + 0.5 / ratio
        far = math.exp(min(epsilon + _log_tail(high), 700.0))
        integers = _tail(low) / (4 * sigma * sigma) + 2 * far * (abs(high) + 10) ** 2 / (7 * sigma * sigma)
        exact = _hockey_stick(low, 1 / ratio, 0.0)
        return (exact + integers) * (1 + 1e-10) + DISTANCE * (1 + math.exp(min(epsilon, 700.0)))

    return _least(bound, delta * (1 - 1e-9), 1 / max(epsilon, 1e-3))


def check_reachable(owner: str, epsilon: float, delta: float) -> None:
    """Refuse a delta that the samplers' distance from their law alone would use up."""
    if 4 * DISTANCE * (1 + math.exp(min(epsilon, 700.0))) > delta:
        least = 4 * DISTANCE * (1 + math.exp(min(epsilon, 60.0)))
        raise ParameterError(
            f"{owner}: delta {delta:.6g} is beyond the sampler's resolution at epsilon {epsilon:.6g}; "
            f"choose at least {least:.6g}, or a smaller epsilon"
        )


def _least(bound: Callable[[float], float], aim: float, guess: float) -> float:
    """The smallest argument of a falling function that brings it to ``aim``, within 1e-12 of it, from above."""
    low = high = guess
    while bound(high) > aim:
        high *= 2
    while bound(low) <= aim:
        low /= 2
    while high - low > high * 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if bound(middle) > aim else (low, middle)
    return high


@dataclass(frozen=True, slots=True)
class GaussianLaw:
    """P(z) ~ e**(-z**2 * rate), rate = 1 / (2 sigma**2), for every record."""

    rate: Rate

    @classmethod
    def of_sigma(cls, sigma: float, owner: str = "GaussianLaw") -> GaussianLaw:
        """The law of the smallest sigma, at least the given one, that the sampler can hold."""
        check_scale(owner, sigma, sigma, SMALLEST_SIGMA, LARGEST_SIGMA)
        return cls(Rate.below(1 / (2 * Fraction(sigma) ** 2)))

    @property
    def sigma(self) -> float:
        return math.sqrt(0.5 / float(self.rate.exact))

    def rho(self, steps: int) -> float:
        """The zCDP cost of a shift by ``steps``: steps**2 / (2 sigma**2), rounded up."""
        return rounding.float_up(steps * steps * self.rate.exact)

    def delta(self, epsilon: float, steps: int) -> float:
        return delta_of(epsilon, self.sigma * (1 - 1e-15), steps)

    @property
    def variance(self) -> float:
        """In squared steps; below sigma**2 where sigma is small."""
        return float(_moments(np.array([self.sigma]))[0])

    def loss(self, steps: int) -> AtomicLoss | GaussianLoss:
        """The privacy loss of one shift by ``steps``: atoms of the table, or the normal law that it rounds."""
        if self.sigma < cells.SMALLEST_WIDE_SCALE:
            return _table_loss(self.rate, steps)
        return _wide_loss(np.array([self.sigma]), np.array([float(steps)]))

    def log_pmf(self, z: np.ndarray) -> np.ndarray:
        """Ln P(z), z in whole steps."""
        logs: np.ndarray = -np.square(z) / (2 * self.sigma**2) - math.log(self._mass)
        return logs

    @property
    def _mass(self) -> float:
        """The sum of e**(-z**2 / (2 sigma**2)): below sigma = 2 term by term, else the integral, to 1e-15."""
        if self.sigma >= 2:
            return self.sigma * math.sqrt(2 * math.pi)
        return math.fsum(math.exp(-z * z / (2 * self.sigma**2)) for z in range(-85, 86))

    def cdf(self, z: np.ndarray) -> np.ndarray:
        """P(noise <= z), z in whole steps: sums for small sigma, by Euler and Maclaurin for large, to 1e-10."""
        z = np.asarray(z, np.float64)
        if self.sigma < SUMMED_SIGMA:
            reach = math.ceil(40 * self.sigma) + 2
            sums = np.cumsum(np.exp(self.log_pmf(np.arange(-reach, reach + 1.0))))
            return np.where(z < -reach, 0.0, sums[np.clip(z, -reach, reach).astype(np.int64) + reach])
        x = (z + 0.5) / self.sigma
        slope = x * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) / (24 * self.sigma**2)
        found: np.ndarray = np.vectorize(lambda at: math.erfc(-at / math.sqrt(2)) / 2, otypes=[np.float64])(x) + slope
        return found

    def half_width(self, level: float) -> int:
        return int(_half_widths(np.array([self.sigma]), level)[0])

    def sampler(self) -> Fill:
        table = cells.build(self.rate, quadratic=True).table
        return lambda key, slot, _first, _steps, scratch, out: kernel.fill_cell_noise(key, slot, table, scratch, out)


class GaussianEach:
    """A Gaussian law of its own for each record."""

    def __init__(self, sigmas: np.ndarray, owner: str = "GaussianEach") -> None:
        if sigmas.size:
            check_scale(owner, float(sigmas.min()), float(sigmas.max()), SMALLEST_SIGMA, LARGEST_EACH_SIGMA)
        self._numerators, self._shifts = sigmas_above(sigmas)
        self.sigma = np.ldexp(self._numerators.astype(np.float64), -self._shifts.astype(np.int64))

    def rho(self, steps: np.ndarray) -> float:
        return rounding.up(float((steps**2 / (2 * self.sigma**2)).max(initial=0.0)), 8)

    @property
    def variance(self) -> np.ndarray:
        return _moments(self.sigma)

    def loss(self, steps: np.ndarray) -> GaussianLoss:
        """A privacy loss that dominates every record's; for sigmas of which none is below 128 steps."""
        if self.sigma.min(initial=math.inf) < cells.SMALLEST_WIDE_SCALE:
            raise ParameterError(
                "losses: one sigma per record is accounted for by rho where any is below 128 steps; compose `privacy`, "
                "or choose a finer granularity"
            )
        return _wide_loss(self.sigma, np.asarray(steps, np.float64))

    def half_width(self, level: float) -> np.ndarray:
        return _half_widths(self.sigma, level)

    def sampler(self) -> Fill:
        def fill(key: np.ndarray, slot: Any, first: int, _steps: Any, scratch: Scratch, out: np.ndarray) -> None:
            chosen = slice(first, first + out.size)
            each.fill_gaussian_each(key, slot, self._numerators[chosen], self._shifts[chosen], scratch, out)

        return fill


@lru_cache(maxsize=64)
def _table_loss(rate: Rate, steps: int) -> AtomicLoss:
    """The loss of the integers of a table without fine bits: outcome z against outcome z - steps.

    Its distance is for smaller shifts, which the law itself dominates, and the table up to its rounding.
    """
    table = cells.build(rate, quadratic=True)
    places = sorted(table.slots)
    masses = {z: table.probability(z) for z in places}
    none = Fraction(0)
    pairs = [
        (masses.get(y, none), masses.get(y - steps, none)) for y in {*places, *(place + steps for place in places)}
    ]
    moved = Fraction((3 * len(places) + 2) * table.ambiguous, table.entries << cells.RESIDUE_BITS)
    return atomic(pairs, distance=rounding.float_up(2 * moved + Fraction(1, 1 << 127)))


def _wide_loss(sigmas: np.ndarray, steps: np.ndarray) -> GaussianLoss:
    """The loss of normal noise that is rounded to integers, which is what the discrete law is but for its margin.

    A normal law of variance v = sigma**2 - 1/12 has in the unit cell of z, with t = z / v and a = 1 / (2 v), the mass
    e**(-z**2 a) E[e**(-t U - a U**2)], U uniform on [-1/2, 1/2]. The logarithm of the expectation is t**2 / 24 - a / 12
    up to t**4 / 2880 + a t**2 / 360 + a**2 / 128. So ln(mass) is -z**2 / (2 sigma**2) and a constant, up to
    13 / sigma**4 where |z| <= 13.5 sigma, and the constant is off by no more. What lies beyond, 2**-134, is part of
    DISTANCE. Rounding is post-processing, so the normal law's loss dominates. [Sheppard 1898 for the 1/12]
    """
    mu = float((steps / np.sqrt(sigmas**2 - 1 / 12)).max(initial=0.0))
    margin = 26 / float(sigmas.min(initial=math.inf)) ** 4
    return GaussianLoss(mu=rounding.up(mu, 8), margin=rounding.up(margin), distance=DISTANCE)


def _small_law(sigma: float) -> tuple[np.ndarray, np.ndarray]:
    reach = math.ceil(40 * sigma) + 2
    z = np.arange(reach + 1, dtype=np.float64)
    weight = np.exp(-(z**2) / (2 * sigma * sigma))
    weight[1:] *= 2
    return z, weight / weight.sum()


def _moments(sigmas: np.ndarray) -> np.ndarray:
    """Variances; the sum differs from sigma**2 by less than 1e-15 of it from sigma = 2 on."""
    different, where = np.unique(sigmas, return_inverse=True)
    variances = different**2
    for i in np.flatnonzero(different < 2):
        z, weight = _small_law(float(different[i]))
        variances[i] = (z**2 * weight).sum()
    return variances[where]


def _half_widths(sigmas: np.ndarray, level: float) -> np.ndarray:
    """Smallest w with P(|z| <= w) >= level: summed for small sigma, by the normal quantile for large."""
    from statistics import NormalDist

    different, where = np.unique(sigmas, return_inverse=True)
    widths = np.ceil(different * NormalDist().inv_cdf((1 + level) / 2) - 0.5)
    for i in np.flatnonzero(different < SUMMED_SIGMA):
        weight = _small_law(float(different[i]))[1]
        widths[i] = np.searchsorted(np.cumsum(weight), level - 1e-12)
    return widths[where]
