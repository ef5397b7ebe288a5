"""Privacy: what a release guarantees, as a value that can be converted, grouped and printed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from fastdp import rounding, validation
from fastdp.errors import ParameterError

if TYPE_CHECKING:
    import fastdp

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

    Parameters
    ----------
    epsilon
        The epsilon of pure or approximate DP; None if only rho is stated.
    delta
        The delta of approximate DP; 0 for pure DP.
    rho
        The rho of zero-concentrated DP, if it is stated.
    unit
        What is protected: "record", "person", or a distance such as "1 km".
    neighbours
        How neighbouring data sets differ: "add/remove" or "replace" one unit.

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
        if not (type(self.delta) is float or validation.is_number(self.delta)) or not 0 <= self.delta < 1:
            raise ParameterError(f"Privacy: delta must be a number with 0 <= delta < 1, got {self.delta!r}")
        if self.delta and self.epsilon is None:
            raise ParameterError("Privacy: delta belongs to an epsilon; give epsilon, or rho without delta")
        if self.neighbours not in ("add/remove", "replace"):
            validation.one_of("Privacy", "neighbours", self.neighbours, ("add/remove", "replace"))

    def __repr__(self) -> str:
        parts = [f"{name}={getattr(self, name)!r}" for name in ("epsilon", "rho") if getattr(self, name) is not None]
        parts += [f"delta={self.delta!r}"] if self.delta else []
        return f"{type(self).__name__}({', '.join([*parts, f'unit={self.unit!r}', f'neighbours={self.neighbours!r}'])})"

    def group(self, size: int) -> Privacy:
        """The guarantee for ``size`` units at once: size * epsilon, size**2 * rho, delta * size * e**((size-1) eps).

        Refused where that delta reaches 1: nothing would be guaranteed.

        Parameters
        ----------
        size
            The number of records that change together.
        """
        size = validation.positive_integer("Privacy.group", "size", size)
        if size == 1:
            return self
        epsilon = None if self.epsilon is None else rounding.float_up(Fraction(self.epsilon) * size)
        rho = None if self.rho is None else rounding.float_up(Fraction(self.rho) * size * size)
        delta = 0.0 if self.epsilon is None else _group_delta(self.epsilon, self.delta, size)
        if delta >= 1:
            way_out = "use .as_zcdp() first" if self.rho is not None else "group fewer, or start from a smaller delta"
            raise ParameterError(
                f"Privacy.group: delta for {size} units reaches 1, which guarantees nothing; {way_out}"
            )
        return replace(self, epsilon=epsilon, rho=rho, delta=delta)

    def for_replacement(self) -> Privacy:
        """The guarantee when one unit's data are replaced: a removal and an addition, so twice epsilon."""
        return self if self.neighbours == "replace" else replace(self.group(2), neighbours="replace")

    def epsilon_at(self, delta: float) -> float:
        """The smallest epsilon that this guarantee implies at ``delta``, rounded up.

        Parameters
        ----------
        delta
            The probability that the guarantee may fail with.

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

    def __add__(self, other: Privacy) -> Privacy:
        """Both releases about the same unit, whatever the second was chosen by: sums, rounded up.

        >>> Privacy(epsilon=0.5) + Privacy(epsilon=0.25, delta=1e-6)
        Privacy(epsilon=0.75, delta=1e-06, unit='record', neighbours='add/remove')
        """
        if not isinstance(other, Privacy):
            return NotImplemented
        if isinstance(self, MetricPrivacy) or isinstance(other, MetricPrivacy):
            raise ParameterError(
                "Privacy: guarantees by distance have no sum; state both at one distance: .at(distance)"
            )
        if self.neighbours != other.neighbours:
            raise ParameterError(
                "Privacy: one guarantee is for neighbours 'add/remove', the other for 'replace'; convert the former by "
                "privacy.for_replacement()"
            )
        if self.unit != other.unit and not {self.unit, other.unit} <= {"record", "report"}:
            raise ParameterError(
                f"Privacy: units {self.unit!r} and {other.unit!r} have no sum; state both for one unit"
            )
        return replace(compose([self, other], owner="Privacy"), unit=self.unit, neighbours=self.neighbours)

    def curve(self) -> fastdp.PrivacyCurve:
        """The privacy curve of every release with this guarantee: delta for each epsilon, as a bracket.

        >>> round(Privacy(epsilon=1.0).curve().delta(epsilon=0.5).upper, 4)
        0.2876
        """
        import fastdp  # accounting is above

        return fastdp.compose([self])

    def as_zcdp(self) -> Privacy:
        """The zero-concentrated form: rho as stated, or epsilon**2 / 2 for a pure guarantee (Bun and Steinke 2016)."""
        if self.rho is not None:
            return replace(self, epsilon=None, delta=0.0)
        if self.delta or self.epsilon is None:
            raise ParameterError("Privacy.as_zcdp: an (epsilon, delta) guarantee has no rho; give one with delta = 0")
        return replace(self, epsilon=None, rho=rounding.up(self.epsilon * self.epsilon / 2))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MetricPrivacy(Privacy):
    """A guarantee for two values by their distance: what ``distance`` costs, and how the cost grows beyond it.

    Values that are d apart differ by a factor f(d) = (d + rounding) / distance in what they cost: f(d) * epsilon
    (d-privacy), and f(d)**2 * rho. ``rounding`` is what rounding values to a grid adds to their distance. With
    ``started``, f(d) is d / distance rounded up: every started ``distance`` costs a whole epsilon, so that values very
    near one another may cost as much as values one ``distance`` apart. An epsilon with a delta holds up to ``distance``
    and does not grow: beyond it only rho is stated.

    Parameters
    ----------
    epsilon, delta, rho, unit, neighbours
        As in `Privacy`, for values ``distance`` apart.
    distance
        The distance at which the guarantee is stated.
    rounding
        What rounding values to a grid adds to their distance.
    started
        Whether every started ``distance`` costs a whole epsilon.

    >>> age = MetricPrivacy(epsilon=1.0, distance=5.0, unit="distance 5", neighbours="replace")
    >>> age.at(10.0)
    Privacy(epsilon=2.0, unit='distance 10', neighbours='replace')
    """

    distance: float = 1.0
    rounding: float = 0.0
    started: bool = False

    @property
    def kind(self) -> str:
        """How the cost grows with the distance, in words."""
        if self.started:
            return "by started distance: a whole epsilon for every started unit of distance; not d-privacy"
        if self.epsilon is None or self.delta:
            return "zCDP by distance: rho grows with the square of the distance; not d-privacy"
        return "d-privacy: epsilon grows in proportion to the distance"

    def factor(self, distance: float) -> Fraction:
        """How many times epsilon, and with its square how many times rho, two values up to ``distance`` apart cost.

        Parameters
        ----------
        distance
            A distance, in the mechanism's unit.
        """
        apart = Fraction(validation.positive("MetricPrivacy.at", "distance", distance))
        if self.started:
            return Fraction(math.ceil(apart / Fraction(self.distance)))
        factor = (apart + Fraction(self.rounding)) / Fraction(self.distance)
        return min(factor, Fraction(1)) if apart <= self.distance else factor

    def at(self, distance: float) -> Privacy:
        """The guarantee for two values up to ``distance`` apart, rounded up.

        Parameters
        ----------
        distance
            A distance, in the mechanism's unit.
        """
        factor = self.factor(distance)
        stated: dict[str, Any] = {"unit": _rename(self.unit, self.distance, distance), "neighbours": self.neighbours}
        if self.rho is not None:
            stated["rho"] = rounding.float_up(Fraction(self.rho) * factor**2)
        if self.epsilon is not None and not self.delta:
            stated["epsilon"] = rounding.float_up(Fraction(self.epsilon) * factor)
        elif self.epsilon is not None and factor <= 1:
            stated |= {"epsilon": self.epsilon, "delta": self.delta}
        return Privacy(**stated)

    def group(self, size: int) -> Privacy:
        """The guarantee for two values up to ``size`` times ``distance`` apart."""
        size = validation.positive_integer("Privacy.group", "size", size)
        return self if size == 1 else self.at(size * self.distance)


def compose(parts: Iterable[Privacy], *, owner: str = "compose") -> Privacy:
    """The guarantee of several releases about the same record: sums of epsilon, of delta and of rho, rounded up.

    Whatever the parts' units are, the total is for the replacement of a whole record. Parts of which one has no
    epsilon compose by rho alone, a pure epsilon as epsilon**2 / 2. [Dwork et al. 2006; Bun, Steinke 2016]

    >>> compose([Privacy(epsilon=0.5, neighbours="replace"), Privacy(epsilon=0.25, neighbours="replace")])
    Privacy(epsilon=0.75, unit='record', neighbours='replace')
    """
    parts = tuple(parts)
    if not parts:
        raise ParameterError(f"{owner}: give at least one guarantee to compose")
    epsilons, rhos, deltas = zip(*map(attrgetter("epsilon", "rho", "delta"), parts), strict=True)
    epsilon = _add(epsilons)
    rho = _add([_rho(part) for part in parts]) if set(rhos) != {None} else None
    if epsilon is None and rho is None:
        raise ParameterError(
            f"{owner}: columns with rho and columns with epsilon and delta have no common total; use one"
        )
    delta = 0.0 if epsilon is None else rounding.sum_up(deltas)
    if delta >= 1:
        raise ParameterError(
            f"{owner}: the deltas of all columns add up to 1 or more, which guarantees nothing; give smaller ones"
        )
    return Privacy(epsilon=epsilon, delta=delta, rho=rho, unit="record", neighbours="replace")


def _rho(part: Privacy) -> float | None:
    """The rho of a guarantee, None if it has none."""
    if part.rho is None and (part.delta or part.epsilon is None):
        return None
    return part.as_zcdp().rho


def _add(values: Sequence[float | None]) -> float | None:
    """The sum, rounded up; None if any is missing."""
    known = [value for value in values if value is not None]
    return rounding.sum_up(known) if len(known) == len(values) else None


def _rename(unit: str, old: float, new: float) -> str:
    """A unit such as "distance 5 km" for another distance."""
    return unit.replace(f"distance {old:g}", f"distance {new:g}", 1)


def _group_delta(epsilon: float, delta: float, size: int) -> float:
    """Delta of ``size`` units, delta * size * e**((size - 1) epsilon), to 60 digits and rounded up; 1 where it is more.

    >>> _group_delta(0.5, 1e-6, 3) >= 3e-6 * math.e
    True
    """
    if not delta:
        return 0.0
    with localcontext() as context:
        context.prec = 60
        exponent = (size - 1) * Decimal(epsilon)
        if exponent + Decimal(delta).ln() + Decimal(size).ln() >= 0:
            return 1.0
        exact = Decimal(delta) * size * exponent.exp() * (1 + Decimal(10) ** -50)
    return rounding.float_up(Fraction(exact))


def _epsilon_of_zcdp(rho: float, delta: float) -> float:
    """The infimum over alpha > 1 of rho*alpha + (ln(1/(alpha*delta)) / (alpha-1)) + ln(1 - 1/alpha).

    Canonne, Kamath and Steinke 2020, corollary 13. Any alpha gives a valid bound; golden search finds a good one. What
    float64 may be off by, a few units in the last place of the largest term, is added.
    """

    def terms(log_excess: float) -> tuple[float, float, float, float]:
        excess = math.exp(log_excess)
        alpha = 1 + excess
        return rho * alpha, -math.log(delta) / excess, -math.log1p(excess) / excess, -math.log1p(1 / excess)

    def bound(log_excess: float) -> float:
        return math.fsum(terms(log_excess))

    low, high = -20.0, 40.0
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(200):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    best = terms((low + high) / 2)
    return max(0.0, math.fsum(best) + 1e-14 * max(map(abs, best)))
