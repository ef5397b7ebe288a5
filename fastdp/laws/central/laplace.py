"""The discrete Laplace law: one rate for all records, one per record, or conditioned on an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from fastdp import rounding
from fastdp.kernels import cell_tables as kernel
from fastdp.kernels.central import per_record as each
from fastdp.kernels.central.truncated import fill_cell_noise_within, fill_uniform_within
from fastdp.kernels.central.two_digits import fill_digit_noise
from fastdp.kernels.stream.words import Scratch
from fastdp.laws import cell_tables as cells
from fastdp.laws.central import two_digits as digits
from fastdp.laws.law import Fill
from fastdp.laws.loss_atoms import statement
from fastdp.laws.rate import Rate, check_scale, rates_below
from fastdp.losses import AtomicLoss, GeometricLoss

LARGEST_EACH_SCALE = 2.0**32
COIN_ERROR, EACH_COIN_ERROR = 2.0**-110, 2.0**-106
"""What coins that are cut at 128 bits, or after 64 terms, can move a logarithm by; the latter once per e**-1."""


@dataclass(frozen=True, slots=True)
class LaplaceLaw:
    """P(z) = (1 - a) / (1 + a) * a**|z| with a = e**-rate, for every record."""

    rate: Rate

    def __post_init__(self) -> None:
        scale = float(1 / self.rate.exact)
        check_scale("LaplaceLaw", scale, scale, 1 / cells.LARGEST_RATE, cells.LARGEST_SCALE)

    def cost(self, steps: int) -> float:
        """The epsilon of one shift by ``steps``, as the table realises it, rounded up.

        Probabilities decay by the exact rate within cells. Cells are rounded down by at most three units of the
        residue, tails are rounded up, so moving outward a probability falls short by no more than the part that three
        units are of the smallest cell: the last one before the lower tail.
        """
        rate = self.rate.exact
        smallest = math.exp(-float(rate)) * 2.0 ** -(cells.TAIL_BITS + 1)
        smallest *= -math.expm1(-float(rate)) / 2 if rate * 128 > 1 else 2.0**-9
        shortfall = Fraction(8 / smallest) / 2**cells.RESIDUE_BITS
        return rounding.float_up(steps * rate + shortfall)

    def loss(self, steps: int) -> GeometricLoss:
        """The privacy loss of one shift by ``steps``.

        Losses are sums of the rate, up to the rounding of both tables; beyond a table the law repeats itself, and with
        it the rounding, once per wrap that lies between two values so far apart.
        """
        return _loss(self.rate, steps)

    @property
    def variance(self) -> float:
        """2a / (1 - a)**2, in squared steps."""
        rate = float(self.rate.exact)
        return 2 * math.exp(-rate) / math.expm1(-rate) ** 2

    def log_pmf(self, z: np.ndarray) -> np.ndarray:
        """Ln P(z), z in whole steps."""
        rate = float(self.rate.exact)
        logs: np.ndarray = math.log(math.tanh(rate / 2)) - rate * np.abs(z)
        return logs

    def cdf(self, z: np.ndarray) -> np.ndarray:
        """P(noise <= z), z in whole steps: a**|z| / (1 + a) below 0, 1 - a**(z+1) / (1 + a) from 0 on."""
        rate = float(self.rate.exact)
        tails = np.exp(-rate * np.where(z < 0, -z, z + 1)) / (1 + math.exp(-rate))
        return np.where(z < 0, tails, 1 - tails)

    def half_width(self, level: float) -> int:
        """The smallest w with P(|z| <= w) >= level: 1 - 2 a**(w+1) / (1 + a)."""
        rate = float(self.rate.exact)
        beyond = math.log((1 - level) * (1 + math.exp(-rate)) / 2)
        return max(0, math.ceil(-beyond / rate - 1 - 1e-12))

    def sampler(self) -> Fill:
        if digits.serves(self.rate):
            two = digits.build(self.rate)
            tables = two.coarse.table, two.fine.table, two.coarse_bytes, two.curve
            return lambda key, slot, _first, _steps, scratch, out: fill_digit_noise(key, slot, *tables, scratch, out)
        table = cells.build(self.rate, quadratic=False).table
        return lambda key, slot, _first, _steps, scratch, out: kernel.fill_cell_noise(key, slot, table, scratch, out)


@lru_cache(maxsize=4096)
def _loss(rate: Rate, steps: int) -> GeometricLoss:
    value = float(rate.exact)
    if digits.serves(rate):
        m = digits.digit_bits(value)
        wrap, margin = cells.cells_of(value, m, digits.TAIL_BITS), digits.margin(value)
    else:
        m = cells.cell_bits(1 / value)
        wrap = cells.cells_of(value, m)
        margin = cells.laplace_margin(value, m, wrap)
    margin = margin * (2 + steps // (wrap << m)) + COIN_ERROR
    return GeometricLoss(rate=value, steps=steps, margin=rounding.up(margin))


@dataclass(frozen=True, slots=True)
class LaplaceWithin:
    """A Laplace law conditioned on the result staying in an interval, from 0 to ``width`` steps above its lower end."""

    law: LaplaceLaw
    width: int

    def cost(self, steps: int) -> float:
        """The epsilon of one shift: the law's own, and the change of the mass that the interval holds.

        For values x and x' a shift apart, ln P(y|x)/P(y|x') <= rate * |x - x'| + ln(mass(x') / mass(x)). The log of the
        mass is concave in the place and changes by at most ``rate`` per step, so the worst pair is an end of the
        interval and the value farthest from it (Holohan, Antonatos, Braghin, Mac Aonghusa 2020, for the discrete law).
        """
        rate = float(self.law.rate.exact)
        steps = min(steps, self.width)
        # The mass d steps from an end is, up to a factor, 1 - a**(w+1) + a (1 - a**d) (1 - a**(w-d)), a = e**-rate.
        end = -math.expm1(-rate * (self.width + 1))
        inward = math.exp(-rate) * math.expm1(-rate * steps) * math.expm1(-rate * (self.width - steps))
        return rounding.up((self.law.cost(steps) + math.log1p(inward / end)) * (1 + 1e-13), 8)

    def loss(self, steps: int) -> AtomicLoss:
        """The privacy loss of any law of this cost: which pair of values dominates is not known."""
        return statement(self.cost(steps))

    def sampler(self) -> Fill:
        narrow = self.width * self.law.rate.exact < 1
        fill = fill_uniform_within if narrow else fill_cell_noise_within
        table, width = cells.build(self.law.rate, quadratic=False).table, np.int64(self.width)
        return lambda key, slot, _first, steps, scratch, out: fill(key, slot, table, steps, width, scratch, out)


def unconditioned(law: Any) -> Any:
    """The law without its interval."""
    return law.law if isinstance(law, LaplaceWithin) else law


def law_within(epsilon: float, steps: int, width: int) -> LaplaceWithin:
    """The conditioned law with the least noise whose cost for a shift by ``steps`` is at most epsilon."""
    least, most = 0.0, epsilon / min(steps, width)
    for _ in range(100):
        middle = (least + most) / 2
        law = LaplaceWithin(LaplaceLaw(Rate.below(Fraction(middle))), width)
        least, most = (middle, most) if law.cost(steps) <= epsilon else (least, middle)
    return LaplaceWithin(LaplaceLaw(Rate.below(Fraction(least))), width)


class LaplaceEach:
    """A Laplace law of its own for each record."""

    def __init__(self, rates: np.ndarray, owner: str = "LaplaceEach") -> None:
        if rates.size:
            smallest, largest = float(1 / rates.max()), float(1 / rates.min())
            check_scale(owner, smallest, largest, 1 / cells.LARGEST_RATE, LARGEST_EACH_SCALE)
        self._numerators, self._shifts = rates_below(rates)
        self.rates = np.ldexp(self._numerators.astype(np.float64), -self._shifts.astype(np.int64))

    def cost(self, steps: np.ndarray) -> float:
        """The worst record's epsilon, rounded up."""
        return rounding.up(float((self.rates * steps).max(initial=0.0)))

    def loss(self, steps: np.ndarray) -> GeometricLoss:
        """A privacy loss that dominates every record's: the worst epsilon, in steps that divide all records' steps.

        More noise is noise added to less. And the curve of one epsilon is that of continuous Laplace noise at the
        losses it takes, linear in e**epsilon between, so that fewer of them, among the same, lie above.
        """
        common = math.gcd(*(int(step) for step in np.unique(steps))) or 1
        cost = self.cost(steps)
        rate = rounding.float_up(Fraction(cost) / common)
        return GeometricLoss(rate=rate, steps=common, margin=(cost + 4) * EACH_COIN_ERROR)

    @property
    def variance(self) -> np.ndarray:
        variances: np.ndarray = 2 * np.exp(-self.rates) / np.expm1(-self.rates) ** 2
        return variances

    def half_width(self, level: float) -> np.ndarray:
        beyond = np.log((1 - level) * (1 + np.exp(-self.rates)) / 2)
        return np.maximum(0, np.ceil(-beyond / self.rates - 1 - 1e-12))

    def sampler(self) -> Fill:
        def fill(key: np.ndarray, slot: Any, first: int, _steps: Any, scratch: Scratch, out: np.ndarray) -> None:
            chosen = slice(first, first + out.size)
            each.fill_laplace_each(key, slot, self._numerators[chosen], self._shifts[chosen], scratch, out)

        return fill
