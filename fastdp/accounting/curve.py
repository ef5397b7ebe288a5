"""PrivacyCurve: epsilon for a delta and delta for an epsilon, as proven brackets."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fastdp import optional, rounding, validation
from fastdp.accounting.brackets import Bounds, solve
from fastdp.accounting.directions import Direction, delta_bounds, epsilon_bounds
from fastdp.errors import ParameterError
from fastdp.privacy import Neighbours, Privacy


class Curve(ABC):
    """A privacy curve for one relation of neighbours and one unit."""

    neighbours: Neighbours
    unit: str

    @abstractmethod
    def delta(self, *, epsilon: float) -> Bounds:
        """The smallest delta at an epsilon >= 0."""

    @abstractmethod
    def epsilon(self, *, delta: float) -> Bounds:
        """The smallest epsilon at a delta with 0 <= delta < 1; infinite if there is none."""

    def as_privacy(self, *, delta: float = 0.0) -> Privacy:
        """The guarantee at one delta: the upper end of epsilon."""
        epsilon = self.epsilon(delta=delta).upper
        if not math.isfinite(epsilon):
            raise ParameterError(
                f"{type(self).__name__}.as_privacy: there is no epsilon at delta {delta!r}; give a larger delta"
            )
        smallest = math.ulp(0.0)
        return Privacy(epsilon=max(epsilon, smallest), delta=delta, unit=self.unit, neighbours=self.neighbours)

    def plot(self, *, largest: float | None = None, points: int = 40) -> Any:
        """A picture of delta against epsilon, both ends of the bracket; needs matplotlib.

        Parameters
        ----------
        largest
            The largest epsilon; by default the one at delta 1e-12.
        points
            The number of steps up to it.
        """
        owner = f"{type(self).__name__}.plot"
        points = validation.positive_integer(owner, "points", points)
        pyplot = optional.load(owner, "matplotlib.pyplot", extra="report")
        end = validation.positive(owner, "largest", largest) if largest is not None else self.epsilon(delta=1e-12).upper
        if not math.isfinite(end):
            raise ParameterError(f"{owner}: there is no epsilon at delta 1e-12; give the largest one to draw: largest=")
        epsilons = [end * i / points for i in range(points + 1)]
        found = [self.delta(epsilon=epsilon) for epsilon in epsilons]
        figure, axes = pyplot.subplots()
        axes.fill_between(
            epsilons, [_shown(one.lower) for one in found], [_shown(one.upper) for one in found], alpha=0.3
        )
        axes.semilogy(epsilons, [_shown(one.upper) for one in found])
        axes.set_xlabel("epsilon")
        axes.set_ylabel("delta")
        return figure


def _shown(delta: float) -> float:
    """A delta on a logarithmic axis, nan at 0."""
    return delta if delta > 0 else math.nan


def checked_epsilon(owner: str, epsilon: float) -> float:
    """An epsilon that is a finite number >= 0."""
    epsilon = validation.as_float(epsilon)
    if not 0 <= epsilon < math.inf:
        raise ParameterError(f"{owner}.delta: epsilon must be a finite number >= 0, got {epsilon!r}")
    return epsilon


def checked_delta(owner: str, delta: float) -> float:
    """A delta with 0 <= delta < 1."""
    delta = validation.as_float(delta)
    if not 0 <= delta < 1:
        raise ParameterError(f"{owner}.epsilon: delta must be a number with 0 <= delta < 1, got {delta!r}")
    return delta


@dataclass(frozen=True, eq=False)
class PrivacyCurve(Curve):
    """What a composition guarantees: delta for every epsilon and the reverse, as proven brackets.

    >>> from fastdp.accounting.compose import compose
    >>> total = compose([(Privacy(epsilon=0.1), 100)])
    >>> round(total.epsilon(delta=1e-6).upper, 6)
    4.774568
    """

    directions: Sequence[Sequence[Direction]] = field(repr=False)
    """Alternatives (the largest counts), each a set of valid curves (the smallest counts)."""
    neighbours: Neighbours
    unit: str
    pure: float = math.inf
    """A pure epsilon, rounded up."""
    releases: tuple[tuple[Any, ...], ...] = field(default=(), repr=False)
    """What was composed, by alternatives."""

    def delta(self, *, epsilon: float) -> Bounds:
        """The smallest delta at an epsilon >= 0."""
        epsilon = checked_epsilon("PrivacyCurve", epsilon)
        if epsilon >= self.pure:
            return Bounds(0.0, 0.0)
        found = [_least(delta_bounds(one, epsilon) for one in options) for options in self.directions]
        return _most(found)

    def epsilon(self, *, delta: float) -> Bounds:
        """The smallest epsilon at a delta with 0 <= delta < 1; infinite if there is none."""
        delta = checked_delta("PrivacyCurve", delta)
        if delta == 0:
            least = max(min(one.least_pure for one in options) for options in self.directions)
            return Bounds(min(least, self.pure), self.pure)
        found = _most([_least(epsilon_bounds(one, delta) for one in options) for options in self.directions])
        return Bounds(min(found.lower, self.pure), min(found.upper, self.pure))

    def group(self, size: int) -> GroupCurve | PrivacyCurve:
        """The curve for ``size`` units at once."""
        size = validation.positive_integer("PrivacyCurve.group", "size", size)
        return self if size == 1 else GroupCurve(self, size)


@dataclass(frozen=True, eq=False)
class GroupCurve(Curve):
    """The curve of several units at once.

    Delta at size * epsilon is at most delta(epsilon) (e^(size * epsilon) - 1) / (e^epsilon - 1): a chain of ``size``
    steps, each of which adds delta(epsilon) times the factor e^epsilon of all steps before.

    >>> from fastdp.accounting.compose import compose
    >>> compose([Privacy(epsilon=0.5)]).group(3).as_privacy()
    Privacy(epsilon=1.5, unit='record', neighbours='add/remove')
    """

    curve: PrivacyCurve
    size: int

    @property
    def neighbours(self) -> Neighbours:  # type: ignore[override]
        """What it means for data sets to differ by one unit."""
        return self.curve.neighbours

    @property
    def unit(self) -> str:  # type: ignore[override]
        """What is protected, ``size`` of them at once."""
        return self.curve.unit

    def delta(self, *, epsilon: float) -> Bounds:
        """The bound on delta for the group, and from below what one unit has."""
        epsilon = checked_epsilon("GroupCurve", epsilon)
        lower = self.curve.delta(epsilon=epsilon).lower
        if epsilon >= self.curve.pure * self.size:
            return Bounds(0.0, 0.0)
        return Bounds(lower, max(lower, self._upper(epsilon)))

    def _upper(self, epsilon: float) -> float:
        step = epsilon / self.size * (1 - 1e-15)
        upper = self.curve.delta(epsilon=step).upper
        if not upper:
            return 0.0
        if step < 1e-300:
            return min(1.0, upper * self.size * (1 + 1e-14))
        # ln of (e^epsilon - 1) / (e^step - 1)
        log_factor = epsilon - step + math.log(-math.expm1(-epsilon)) - math.log(-math.expm1(-step))
        return math.exp(min(0.0, math.log(upper) + log_factor + 1e-14 * (1 + epsilon)))

    def epsilon(self, *, delta: float) -> Bounds:
        """The smallest epsilon of the group at a delta, and from below what one unit has."""
        delta = checked_delta("GroupCurve", delta)
        one = self.curve.epsilon(delta=delta)
        most = rounding.float_up(Fraction(self.curve.pure) * self.size) if self.curve.pure < math.inf else math.inf
        if delta == 0 or not math.isfinite(one.upper):
            return Bounds(one.lower, most)
        if self._upper(one.upper) <= delta:
            return one
        high = max(one.upper, 1e-9)
        while high < min(most, 1e5) and self._upper(high) > delta:
            high *= 2
        if high >= most or self._upper(high) > delta:
            high = most
        if not math.isfinite(high):
            return Bounds(one.lower, math.inf)
        return Bounds(one.lower, solve(self._upper_at(most), delta, one.upper, high, 1e-7)[1])

    def _upper_at(self, most: float) -> Callable[[float], float]:
        return lambda epsilon: 0.0 if epsilon >= most else self._upper(epsilon)


def _least(found: Any) -> Bounds:
    every = list(found)
    return Bounds(min(one.lower for one in every), min(one.upper for one in every))


def _most(found: Sequence[Bounds]) -> Bounds:
    return Bounds(max(one.lower for one in found), max(one.upper for one in found))
