"""Noise on a vector of integers: geometric for epsilon, discrete Gaussian for rho; what it costs, and its tails."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fastdp.columns.numeric import read_numeric
from fastdp.engine.runner import add_noise
from fastdp.errors import ParameterError
from fastdp.laws.cell_tables import LARGEST_RATE
from fastdp.laws.central.gaussian import SMALLEST_SIGMA, GaussianLaw
from fastdp.laws.central.laplace import LaplaceLaw
from fastdp.laws.central.placement import IntegerRange
from fastdp.laws.rate import Rate
from fastdp.queries.unit import Sensitivity
from fastdp.random.rng import Rng

SCALE_BITS = 36
"""Noise of up to about 2**36 steps: what both samplers can draw, with room to spare."""


@dataclass(frozen=True, slots=True)
class Spend:
    """A part of a budget: epsilon, or rho; and delta."""

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction = Fraction(0)

    @property
    def is_pure(self) -> bool:
        """Whether it is an epsilon."""
        return self.epsilon is not None

    def part(self, share: Fraction) -> Spend:
        """A share of it, without delta."""
        if self.epsilon is not None:
            return Spend(epsilon=self.epsilon * share)
        assert self.rho is not None
        return Spend(rho=self.rho * share)

    def as_epsilon(self, *, rho_of: Fraction, times: int = 1) -> Fraction:
        """The epsilon of each of ``times`` pure choices, whose rho is ``rho_of`` epsilon squared, that cost this."""
        if self.epsilon is not None:
            return self.epsilon / times
        assert self.rho is not None
        return Fraction(math.sqrt(float(self.rho / rho_of / times)) * (1 - 2.0**-50))

    def __add__(self, other: Spend) -> Spend:
        return Spend(_plus(self.epsilon, other.epsilon), _plus(self.rho, other.rho), self.delta + other.delta)


def _plus(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return b if a is None else a if b is None else a + b


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise that hides one unit in a vector of integers; no law where the vector is public."""

    law: LaplaceLaw | GaussianLaw | None
    sensitivity: Sensitivity

    @classmethod
    def of(cls, owner: str, spend: Spend, sensitivity: Sensitivity) -> Noise:
        """The least noise that costs at most what is spent."""
        if sensitivity.is_zero:
            return cls(None, sensitivity)
        if spend.epsilon is not None:
            rate = spend.epsilon / sensitivity.l1
            if rate > LARGEST_RATE:
                raise ParameterError(f"{owner}: epsilon {float(spend.epsilon):g} is beyond the sampler; at most 40")
            law = LaplaceLaw(Rate.below(rate * (1 - Fraction(1, 1 << 36))))
            return cls(law, sensitivity)
        assert spend.rho is not None
        sigma = math.sqrt(sensitivity.l2_squared / (2 * float(spend.rho))) * (1 + 2.0**-40)
        if sigma < SMALLEST_SIGMA:
            raise ParameterError(f"{owner}: rho {float(spend.rho):g} is beyond the sampler; give less")
        return cls(GaussianLaw.of_sigma(sigma, owner), sensitivity)

    @property
    def cost(self) -> Spend:
        """What it costs as the sampler realises it: entries that change pay for their table's rounding one by one."""
        return _cost(self.law, self.sensitivity)

    def add(self, values: np.ndarray, rng: Rng) -> np.ndarray:
        """The values with noise, from the slots of ``rng``."""
        if self.law is None:
            return values.copy()
        column = read_numeric("release", np.ascontiguousarray(values, np.int64), "integer")
        place = IntegerRange.within("release", np.dtype(np.int64), None, "clamp")
        noisy: np.ndarray = add_noise("release", column, rng, self.law, place)
        return noisy

    @property
    def variance(self) -> float:
        """In squared steps."""
        return 0.0 if self.law is None else self.law.variance

    def half_width(self, level: float) -> int:
        """The smallest w with P(|noise| <= w) >= level."""
        return 0 if self.law is None else int(self.law.half_width(level))

    @property
    def scale(self) -> float:
        """1 / rate of geometric noise, sigma of Gaussian noise, in steps."""
        if self.law is None:
            return 0.0
        return 1 / float(self.law.rate.exact) if isinstance(self.law, LaplaceLaw) else self.law.sigma

    @property
    def is_gaussian(self) -> bool:
        return isinstance(self.law, GaussianLaw)

    def describe(self) -> dict[str, object]:
        """The noise in words and numbers, for receipts."""
        if self.law is None:
            return {"noise": "none: public under these neighbours"}
        kind = "discrete Gaussian" if self.is_gaussian else "geometric"
        moved = {"l2_squared": self.sensitivity.l2_squared} if self.is_gaussian else {"l1": self.sensitivity.l1}
        return {"noise": kind, "scale": self.scale, "sensitivity": moved}


@functools.lru_cache(maxsize=256)
def _cost(law: LaplaceLaw | GaussianLaw | None, sensitivity: Sensitivity) -> Spend:
    if law is None:
        return Spend()
    if isinstance(law, LaplaceLaw):
        rounding_cost = Fraction(law.cost(0)) * sensitivity.entries
        return Spend(epsilon=sensitivity.l1 * law.rate.exact + rounding_cost)
    return Spend(rho=sensitivity.l2_squared * law.rate.exact)
