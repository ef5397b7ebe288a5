"""The unit of privacy and every sensitivity: how far one person, or one row, can move a vector of sums.

A unit contributes to at most ``groups`` groups, and to each of them an integer from ``low`` to ``high``. Under
add/remove it comes or goes; under replace it becomes another one. All numbers here are integers, in steps of the
aggregate's own grid, and no other file computes a sensitivity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.kernels.persons.bounding import FACTOR_BITS
from fastdp.privacy import Neighbours
from fastdp.queries.data.persons import Limits

LARGEST_GROUPS, LARGEST_ROWS = 1 << 20, 1 << 10
"""Beyond these, sums of 2**37 rows could leave 64 bits."""
Bound = Literal["scale", "sample"]
Norm = Literal["L1", "L2"]


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far the vector of sums moves at the most: L1, squared L2 and largest change; entries that change."""

    l1: int
    l2_squared: int
    largest: int
    entries: int

    @property
    def is_zero(self) -> bool:
        """Whether the sums are public: no unit changes them."""
        return self.l1 == 0


@dataclass(frozen=True, slots=True)
class Range:
    """What a unit contributes to a group in which it is present: from ``low`` to ``high``."""

    low: int
    high: int

    @property
    def most(self) -> int:
        """The largest contribution, by size."""
        return max(abs(self.low), abs(self.high))

    def spread(self, *, may_be_absent: bool) -> int:
        """How far apart two units' contributions to one group can be."""
        if not may_be_absent:
            return self.high - self.low
        return max(self.high, 0) - min(self.low, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What is protected: one row, or all rows of a person, within bounds.

    Parameters
    ----------
    person
        The column that names the person; None if one row is one unit.
    neighbours
        "add/remove" or "replace" one unit.
    max_groups
        Groups of a person that count, at the most.
    max_rows
        Rows of a person that count in each group, at the most; more count as their mean so many times.
    bound
        Of a person with more groups: "sample" keeps a random few, "scale" all of them, scaled down to the same norm.
    """

    person: str | None = None
    neighbours: Neighbours = "add/remove"
    max_groups: int | None = None
    max_rows: int | None = None
    bound: Bound | None = None

    @classmethod
    def read(cls, owner: str, *, person: Any, neighbours: Any, max_groups: Any, max_rows: Any, bound: Any) -> Unit:
        """The unit of these parameters, checked."""
        relation: Any = validation.one_of(owner, "neighbours", neighbours, ("add/remove", "replace"))
        if person is not None and (not isinstance(person, str) or not person):
            raise ParameterError(f"{owner}: person must be the name of a column, got {person!r}")
        if bound is not None:
            validation.one_of(owner, "bound", bound, ("scale", "sample"))
        given = {"max_groups": max_groups, "max_rows": max_rows, "bound": bound}
        if person is None:
            for name, value in given.items():
                if value is not None:
                    raise ParameterError(f"{owner}: {name} bounds what a person contributes; say who: person=...")
            return cls(neighbours=relation)
        for name, most in (("max_groups", LARGEST_GROUPS), ("max_rows", LARGEST_ROWS)):
            value = given[name]
            if value is not None and validation.positive_integer(owner, name, value) > most:
                raise ParameterError(f"{owner}: {name} must be at most {most:,}, got {value!r}")
        if max_rows is None:
            raise ParameterError(f"{owner}: max_rows is missing: how many rows of a person count in each group?")
        numbers: Any = max_groups, max_rows
        way: Any = bound
        return cls(person=person, neighbours=relation, max_groups=numbers[0], max_rows=numbers[1], bound=way)

    @property
    def name(self) -> str:
        """The unit in a guarantee."""
        return "record" if self.person is None else "person"

    @property
    def rows(self) -> int:
        """Rows of one unit in one group, at the most."""
        return self.max_rows or 1

    def groups(self, owner: str, keys: int | None) -> int:
        """Groups of one unit, at the most, of ``keys`` in all (None: nobody knows how many)."""
        if self.person is None or keys == 1:
            return 1
        if self.max_groups is None:
            raise ParameterError(f"{owner}: max_groups is missing: how many groups of a person count?")
        return self.max_groups if keys is None else min(self.max_groups, keys)

    def limits(self, owner: str, keys: int | None, norm: Norm) -> Limits:
        """How persons are bounded for noise that is calibrated to this norm."""
        groups = self.groups(owner, keys)
        if self.person is None:
            return Limits(groups, self.rows)
        scaled = self.bound == "scale" or (self.bound is None and norm == "L2")
        if not scaled or (keys is not None and groups == keys):
            return Limits(groups, self.rows)
        return Limits(groups, self.rows, norm)

    def persons(self) -> Range:
        """Units in a group."""
        return Range(1, 1)

    def count(self, limits: Limits, *, may_be_null: bool = False) -> Range:
        """Rows in a group, in the steps that these limits count in; without nulls, there may be none."""
        step = 1 << FACTOR_BITS if limits.is_scaled else 1
        return Range(0 if may_be_null else step, self.rows * step)

    def total(self, low: int, high: int, *, may_be_null: bool = False) -> Range:
        """The sum of rows' steps from ``low`` to ``high`` in a group."""
        sums = Range(min(low, self.rows * low), max(high, self.rows * high))
        return Range(min(sums.low, 0), max(sums.high, 0)) if may_be_null else sums

    def sensitivity(self, amount: Range, limits: Limits, keys: int | None, *, always: bool = False) -> Sensitivity:
        """How far one unit moves the sums of ``keys`` groups, each of which it changes by an amount in this range.

        ``always`` says that there is one group and every unit is in it, so that a replaced unit stays there.
        """
        most, groups = amount.most, limits.groups
        if self.neighbours == "add/remove":
            return Sensitivity(groups * most, groups * most * most, most, groups)
        spread = amount.spread(may_be_absent=not always)
        if limits.is_scaled:
            return self._scaled_replacement(amount, groups, spread)
        options = []
        for common in range(groups + 1):
            apart = groups - common if keys is None else min(groups - common, (keys - common) // 2)
            if always and not common:
                continue
            options.append((common, apart))
        l1 = max(common * spread + 2 * apart * most for common, apart in options)
        l2 = max(common * spread**2 + 2 * apart * most**2 for common, apart in options)
        entries = max((common if spread else 0) + 2 * apart for common, apart in options)
        return Sensitivity(l1, l2, spread, entries)

    @staticmethod
    def _scaled_replacement(amount: Range, groups: int, spread: int) -> Sensitivity:
        """Two scaled persons: groups of one's own, groups in common with opposite signs, or the worst mixture.

        With b the larger and a the smaller end, and t**2 the ratio of their numbers of groups, the squared distance
        is at most groups * (2 b**2 + t**2 (a**2 - b**2) + 2 t a b) for some t in [0, 1].
        """
        larger, smaller = amount.most, spread - amount.most
        if larger * smaller < larger**2 - smaller**2:
            worst = 2 * larger**2 + Fraction(larger * larger * smaller * smaller, larger**2 - smaller**2)
        else:
            worst = Fraction((larger + smaller) ** 2)
        # Any number of groups may change a little.
        return Sensitivity(2 * groups * larger, math.ceil(groups * worst), spread, LARGEST_GROUPS)

    def distinct(self, limits: Limits) -> Sensitivity:
        """How far one unit moves the number of distinct keys: by its groups, also if it is replaced."""
        return Sensitivity(limits.groups, limits.groups**2, limits.groups, 1)

    def tree(self, limits: Limits, branching: int, levels: int) -> Sensitivity:
        """How far one unit moves the counts of all nodes of a tree of bins, level by level.

        Its groups may be neighbours: at each level the worst of them fill as few nodes as they can.
        """
        l1 = limits.groups * self.rows * levels
        l2 = 0
        for level in range(levels):
            leaves = branching**level
            full, rest = divmod(limits.groups, leaves)
            l2 += (full * leaves**2 + rest**2) * self.rows**2
        twice = 1 if self.neighbours == "add/remove" else 2  # all counts are >= 0: squares of two units add up
        return Sensitivity(twice * l1, twice * l2, limits.groups * self.rows, twice * limits.groups * levels)

    def residual(self, sizes: list[int]) -> Sensitivity:
        """How far one unit moves a table of counts times (m I - 1 1') along each of its columns.

        A row adds a column of that matrix, whose squared norm is the product of m (m - 1); two rows that differ in
        some columns have the inner product of the products of m (m - 1) where they agree and -m where they differ.
        """
        norm = math.prod(m * (m - 1) for m in sizes)
        largest = math.prod(m - 1 for m in sizes)
        if self.neighbours == "replace":
            if self.person is None:
                inner = [1]
                for m in sizes:
                    inner = [one * other for one in inner for other in (m * (m - 1), -m)]
                norm = max(norm, 2 * (norm - min(inner)))  # a row outside the domains counts for nothing
            else:
                norm = 4 * norm
            largest *= 2
        squared = norm * self.rows**2
        cells = math.prod(sizes)
        return Sensitivity(math.isqrt(squared * cells) + 1 if squared else 0, squared, largest * self.rows, cells)

    def cells(self, count: int) -> Sensitivity:
        """How far one unit moves the counts of a marginal's cells: all of its rows may be in one of them."""
        twice = 1 if self.neighbours == "add/remove" else 2  # all counts are >= 0: squares of two units add up
        return Sensitivity(twice * self.rows, twice * self.rows**2, self.rows, min(twice * self.rows, count))

    def distances(self, count: int, steps: int) -> Sensitivity:
        """How far one unit moves the L1 distances of several marginals' cells from public ones, ``steps`` to a row."""
        each = (1 if self.neighbours == "add/remove" else 2) * self.rows * steps
        return Sensitivity(count * each, count * each**2, each, count)

    def selected(self, groups: int) -> int:
        """Keys whose number of persons one unit changes by 1, at the most."""
        return groups if self.neighbours == "add/remove" else 2 * groups

    def nested_rank(self, numerator: int, denominator: int) -> int:
        """The same where rows fall in groups or ranges of which each answers for itself.

        Under replace a unit leaves some of them and enters others: each then pays half, by twice the sensitivity.
        """
        once = self.rows * max(numerator, denominator - numerator)
        return once if self.neighbours == "add/remove" else 2 * once

    def rank(self, numerator: int, denominator: int) -> int:
        """How far one unit moves the score ``denominator * below - numerator * all`` of a quantile.

        A row that comes moves it by the larger of denominator - numerator and numerator; one that is replaced by
        another, which moves from below to above, by the denominator.
        """
        one = max(numerator, denominator - numerator)
        if self.neighbours == "add/remove":
            return self.rows * one
        return 2 * self.rows * one if self.person is not None else denominator
