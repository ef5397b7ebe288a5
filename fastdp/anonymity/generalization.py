"""A column and its hierarchy: the groups of its values at every level, and how one level follows from the one below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fastdp.anonymity.coding.codes import Codes, Rows, sort_values
from fastdp.errors import ParameterError
from fastdp.hierarchies import Hierarchy


@dataclass(frozen=True)
class Ladder:
    """The values of a column that occur, and the number of each one's group at every level."""

    column: Codes
    counts: np.ndarray
    """Rows of each value."""
    groups: tuple[np.ndarray, ...]
    labels: tuple[list[Any], ...]

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def top(self) -> int:
        """The last level, where all values are one group."""
        return len(self.groups) - 1

    @cached_property
    def steps(self) -> tuple[np.ndarray, ...]:
        """The group one level up of every group, level by level."""
        found = []
        for lower, upper in zip(self.groups, self.groups[1:], strict=False):
            step = np.zeros(int(lower.max()) + 1, np.int64)
            step[lower] = upper
            found.append(step)
        return tuple(found)

    def at(self, level: int) -> Codes:
        """The column at a level."""
        groups = self.groups[level]
        return Codes(self.name, groups[self.column.codes].astype(np.uint32), int(groups.max()) + 1, 0, self.column.kind)


def climb(owner: str, column: Codes, weights: np.ndarray | None, hierarchy: Hierarchy) -> Ladder:
    """The ladder of a column; refused where the hierarchy does not cover its values or is not nested."""
    ranked, counts = sort_values(column, weights)
    values = ranked.decoded().to_pylist()
    groups, labels = [np.arange(len(values))], [list(values)]
    for level in range(1, hierarchy.levels):
        numbers: dict[Any, int] = {}
        named = hierarchy.generalize(values, level, owner=f"{owner}: column {column.name!r}")
        groups.append(np.array([numbers.setdefault(label, len(numbers)) for label in named], np.int64))
        labels.append(list(numbers))
        above = np.full(int(groups[-2].max()) + 1, -1)
        above[groups[-2]] = groups[-1]
        if (above[groups[-2]] != groups[-1]).any():
            raise ParameterError(
                f"{owner}: the hierarchy of column {column.name!r} is not nested: values that share a label at level "
                f"{level - 1} have different ones at level {level}"
            )
    return Ladder(ranked, counts, tuple(groups), tuple(labels))


def climb_all(owner: str, rows: Rows, hierarchies: Mapping[str, Hierarchy]) -> list[Ladder]:
    """The ladder of every quasi-identifier."""
    return [climb(owner, column, rows.weights, hierarchies[column.name]) for column in rows.of(tuple(hierarchies))]
