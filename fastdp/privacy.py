"""Privacy: what a release guarantees, as a value that can be converted, grouped and printed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from fastdp import rounding, validation
from fastdp.errors import ParameterError

DISTANCE = 2.0**-100
"""The largest statistical distance of any draw from its law."""

Neighbours = Literal["add/remove", "replace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Privacy:
    """The guarantee of a release: (epsilon, delta)-DP, or rho-zCDP, or both at once.

    ``rho`` holds up to the 2**-100 by which a draw may differ from its law; conversions charge it. ``unit`` is what is
    protected ("record", "person", or a distance such as "1 km"), ``neighbours`` what it means for two data sets to
    differ by one unit: the relation for which the sensitivity was given. ``epsilon`` is None where only rho is stated:
    no pure epsilon exists there.

    >>> Privacy(epsilon=0.5).group(3)
    Privacy(epsilon=1.5, unit='record', neighbours='add/remove')
    """

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    unit: str = "record"
    neighbours: Neighbours = "add/remove"

    def __post_init__(self) -> None:
        if self.epsilon is None and self.rho is None:
            raise ParameterError("Privacy: give epsilon, rho or both")
        for name in ("epsilon", "rho"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, validation.positive("Privacy", name, getattr(self, name)))
        if not validation.is_number(self.delta) or not 0 <= self.delta < 1:
            raise ParameterError(f"Privacy: delta must be a number with 0 <= delta < 1, got {self.delta!r}")
        validation.one_of("Privacy", "neighbours", self.neighbours, ("add/remove", "replace"))

    def __repr__(self) -> str:
        parts = [f"{name}={getattr(self, name)!r}" for name in ("epsilon", "rho") if getattr(self, name) is not None]
        parts += [f"delta={self.delta!r}"] if self.delta else []
        return f"Privacy({', '.join([*parts, f'unit={self.unit!r}', f'neighbours={self.neighbours!r}'])})"

    def group(self, size: int) -> Privacy:
        """The guarantee for ``size`` units at once: size * epsilon, size**2 * rho, delta * size * e**((size-1) eps)."""
        size = validation.positive_integer("Privacy.group", "size", size)
        if size == 1:
            return self
        epsilon = None if self.epsilon is None else rounding.float_up(Fraction(self.epsilon) * size)
        rho = None if self.rho is None else rounding.float_up(Fraction(self.rho) * size * size)
        delta = self.delta
        if delta:
            exponent = (size - 1) * (self.epsilon if self.epsilon is not None else 0.0)
            delta = min(rounding.up(delta * size * math.exp(min(exponent, 700.0)), 8), math.nextafter(1.0, 0.0))
        return replace(self, epsilon=epsilon, rho=rho, delta=delta)

    def for_replacement(self) -> Privacy:
        """The guarantee when one unit's data are replaced: a removal and an addition, so twice epsilon."""
        return self if self.neighbours == "replace" else replace(self.group(2), neighbours="replace")

    def epsilon_at(self, delta: float) -> float:
        """The smallest epsilon that this guarantee implies at ``delta``, rounded up.

        >>> round(Privacy(rho=0.1).epsilon_at(1e-6), 3)
        2.142
        """
        delta = validation.probability("Privacy.epsilon_at", "delta", delta)
        options = []
        if self.epsilon is not None and self.delta <= delta:
            options.append(self.epsilon)
        if self.rho is not None:
            # The draws' distance from their law costs (1 + e**epsilon) times itself; half of delta is kept for it.
            epsilon = _epsilon_of_zcdp(self.rho, delta / 2)
            left = delta - DISTANCE * (1 + math.exp(min(epsilon, 700.0)))
            if left >= delta / 2:
                options.append(_epsilon_of_zcdp(self.rho, left))
        if not options:
            raise ParameterError(
                f"Privacy.epsilon_at: this guarantee has no epsilon at delta {delta!r}; ask for a larger one"
            )
        return min(options)

    def as_zcdp(self) -> Privacy:
        """The zero-concentrated form: rho as stated, or epsilon**2 / 2 for a pure guarantee (Bun and Steinke 2016)."""
        if self.rho is not None:
            return replace(self, epsilon=None)
        if self.delta or self.epsilon is None:
            raise ParameterError("Privacy.as_zcdp: an (epsilon, delta) guarantee has no rho; give one with delta = 0")
        return replace(self, epsilon=None, rho=rounding.up(self.epsilon * self.epsilon / 2))


def _epsilon_of_zcdp(rho: float, delta: float) -> float:
    """The infimum over alpha > 1 of rho*alpha + (ln(1/(alpha*delta)) / (alpha-1)) + ln(1 - 1/alpha).

    Canonne, Kamath and Steinke 2020, corollary 13. Any alpha gives a valid bound; golden search finds a good one.
    """

    def bound(log_excess: float) -> float:
        excess = math.exp(log_excess)
        alpha = 1 + excess
        return rho * alpha - (math.log(delta) + math.log(alpha)) / excess - math.log1p(1 / excess)

    low, high = -20.0, 40.0
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(200):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    return max(0.0, bound((low + high) / 2) * (1 + 1e-12))
