"""The hierarchy of a column, as data: it knows no table; whoever applies it hands over the distinct values."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from fastdp import validation
from fastdp.errors import InputCorruptError, ParameterError
from fastdp.hierarchies.labels import ANY, date_label, interval_labels, key_of, prefix_label, tree_label

OWNER = "Hierarchy"
KINDS = ("intervals", "prefix", "dates", "labels", "suppress")
DATES = ("day", "month", "quarter", "year", "decade", "century")
MOST_LEVELS = 64


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Labels of a column's values at every level of generalization.

    Made by :meth:`intervals` (numbers), :meth:`prefix` (codes whose leading characters tell most, such as postcodes),
    :meth:`dates`, :meth:`load` and :meth:`labels` (any tree, from a file or a dict), or :meth:`suppress` (the value or
    nothing).

    Parameters
    ----------
    kind
        Which of these it is.
    parameters
        What it was made of.

    >>> Hierarchy.intervals(5, 20).generalize([23, 27, 44], 1)
    ['20-24', '25-29', '40-44']
    """

    kind: str
    parameters: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        validation.one_of(OWNER, "kind", self.kind, KINDS)

    @classmethod
    def intervals(cls, *widths: float, start: float = 0) -> Hierarchy:
        """Intervals of growing width, each a multiple of the one before: 5, 10, 20 for 20-24, 20-29, 20-39.

        Parameters
        ----------
        widths
            The widths, each a multiple of the one before.
        start
            Where an interval begins.

        >>> Hierarchy.intervals(0.5, start=0.25).generalize([0.3, 0.8], 1)
        ['[0.25, 0.75)', '[0.75, 1.25)']
        """
        if not widths:
            raise ParameterError(f"{OWNER}: intervals needs at least one width, such as intervals(5, 10, 20)")
        for width in widths:
            validation.positive(OWNER, "width", width)
        for one, two in pairwise(widths):
            if two <= one or not math.isclose(two / one, round(two / one), rel_tol=1e-12):
                raise ParameterError(f"{OWNER}: every width must be a multiple of the one before it, and larger")
        if not validation.is_number(start) or not math.isfinite(start):
            raise ParameterError(f"{OWNER}: start must be a finite number")
        return cls("intervals", (tuple(widths), start))

    @classmethod
    def prefix(cls, *lengths: int) -> Hierarchy:
        """The first characters, fewer at every level: 4, 3, 2 for 6612*, 661**, 66***.

        Parameters
        ----------
        lengths
            The number of characters that stay, fewer at every level.

        >>> Hierarchy.prefix(3).generalize(["66123", "66345"], 1)
        ['661**', '663**']
        """
        if not lengths:
            raise ParameterError(f"{OWNER}: prefix needs at least one length, such as prefix(4, 3)")
        for length in lengths:
            validation.positive_integer(OWNER, "length", length)
        if any(two >= one for one, two in pairwise(lengths)):
            raise ParameterError(f"{OWNER}: every length of prefix must be smaller than the one before it")
        return cls("prefix", tuple(lengths))

    @classmethod
    def dates(cls, *units: str) -> Hierarchy:
        """Days of the calendar by ever longer units: of day, month, quarter, year, decade and century.

        Parameters
        ----------
        units
            The units, each longer than the one before; month, year and decade if none is given.

        >>> Hierarchy.dates("month", "year").generalize(["1984-03-09"], 1)
        ['1984-03']
        """
        chosen = units or ("month", "year", "decade")
        for unit in chosen:
            validation.one_of(OWNER, "unit", unit, DATES)
        if any(DATES.index(two) <= DATES.index(one) for one, two in pairwise(chosen)):
            raise ParameterError(f"{OWNER}: every unit of dates must be longer than the one before it")
        return cls("dates", tuple(chosen))

    @classmethod
    def labels(cls, table: Mapping[Any, str | Sequence[str]]) -> Hierarchy:
        """A tree, given as the labels of each value from the finest to the coarsest; "*" follows by itself.

        Parameters
        ----------
        table
            The labels of each value, from the finest to the coarsest.

        >>> Hierarchy.labels({"Bonn": ["West", "Germany"], "Lyon": ["South", "France"]}).generalize(["Lyon"], 2)
        ['France']
        """
        if not isinstance(table, Mapping) or not table:
            raise ParameterError(f"{OWNER}: labels needs a dict from values to their labels")
        rows = {key_of(value): [up] if isinstance(up, str) else [str(one) for one in up] for value, up in table.items()}
        return cls("labels", (_checked(rows),))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Hierarchy:
        """A tree from a CSV file without header: one row per value, the value first, then its labels.

        Fields are separated by semicolons or commas, whichever the first row has.

        Parameters
        ----------
        path
            The path of the CSV file.
        """
        place = Path(path)
        try:
            text = place.read_text(encoding="utf-8-sig")
            first = text.partition("\n")[0]
            rows = [row for row in csv.reader(text.splitlines(), delimiter=";" if ";" in first else ",") if row]
        except (UnicodeDecodeError, csv.Error):
            raise InputCorruptError(f"{OWNER}: {place.name!r} is no CSV file in UTF-8") from None
        if not rows or len(rows[0]) < 2 or len({len(row) for row in rows}) > 1:
            raise InputCorruptError(f"{OWNER}: every row of {place.name!r} must hold a value and its labels, as many")
        table = {row[0]: row[1:] for row in rows}
        if len(table) < len(rows):
            raise InputCorruptError(f"{OWNER}: {place.name!r} lists a value twice")
        return cls("labels", (_checked(table),))

    @classmethod
    def suppress(cls) -> Hierarchy:
        """The value itself or "*"."""
        return cls("suppress")

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any], *, folder: Path | None = None) -> Hierarchy:
        """A hierarchy as a plan says it: ``{intervals = [5, 10]}``, ``{prefix = [3]}``, ``{dates = ["year"]}``,
        ``{file = "age.csv"}``, ``{labels = {...}}`` or ``{suppress = true}``.

        Parameters
        ----------
        entry
            The kind of hierarchy and its parameters, as TOML has them.
        folder
            Where files are looked for; the current folder by default.
        """
        entry = dict(entry)
        start = entry.pop("start", None)
        if len(entry) != 1:
            raise ParameterError(f"{OWNER}: give one of intervals, prefix, dates, file, labels or suppress = true")
        ((kind, given),) = entry.items()
        if start is not None and kind != "intervals":
            raise ParameterError(f"{OWNER}: start belongs to intervals")
        if kind in {"intervals", "prefix", "dates"}:
            many = given if isinstance(given, list | tuple) else [given]
            if kind == "intervals":
                return cls.intervals(*many, **({} if start is None else {"start": start}))
            return cls.prefix(*many) if kind == "prefix" else cls.dates(*many)
        if kind == "file" and isinstance(given, str):
            return cls.load((folder or Path()) / given)
        if kind == "labels":
            return cls.labels(given)
        if kind == "suppress" and given is True:
            return cls.suppress()
        words = ("intervals", "prefix", "dates", "file", "labels", "suppress")
        raise ParameterError(f"{OWNER}: {validation.unknown('kind', kind, words)}")

    @property
    def levels(self) -> int:
        """How many levels there are, the values themselves and "*" included."""
        if self.kind == "labels":
            (table,) = self.parameters
            return 1 + len(next(iter(dict(table).values())))
        count = len(self.parameters[0]) if self.kind == "intervals" else len(self.parameters)
        return 2 + count

    def generalize(self, values: Sequence[Any], level: int, *, owner: str = OWNER) -> list[Any]:
        """The label of each value at a level; None, a missing value, stays None below the last level.

        Parameters
        ----------
        values
            Values of the column.
        level
            The level, 0 for the values themselves.
        owner
            Whom errors name.
        """
        if not 0 <= level < self.levels:
            raise ParameterError(f"{owner}: level must be from 0 to {self.levels - 1}, got {level}")
        if level == 0:
            return list(values)
        if level == self.levels - 1:
            return [ANY] * len(values)
        try:
            if self.kind == "intervals":
                widths, start = self.parameters
                return interval_labels(values, widths, start, level)
            make: Callable[..., str] = (
                prefix_label if self.kind == "prefix" else date_label if self.kind == "dates" else tree_label
            )
            parameters = self._at(level)
            return [None if value is None else make(value, *parameters) for value in values]
        except (KeyError, TypeError, ValueError, OverflowError):  # whose message may hold a value
            raise ParameterError(
                f"{owner}: a hierarchy of kind {self.kind} does not cover the column at level {level}; values withheld"
            ) from None

    def _at(self, level: int) -> tuple[Any, ...]:
        if self.kind == "labels":
            return level - 1, dict(self.parameters[0])
        return (self.parameters[level - 1],)

    def to_dict(self) -> dict[str, Any]:
        """The hierarchy as data, which :meth:`from_dict` reads."""
        if self.kind == "intervals":
            widths, start = self.parameters
            return {"intervals": list(widths), **({"start": start} if start else {})}
        if self.kind == "labels":
            return {"labels": {value: list(up) for value, up in self.parameters[0]}}
        return {"suppress": True} if self.kind == "suppress" else {self.kind: list(self.parameters)}


def _checked(rows: Mapping[str, Sequence[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The rows with "*" at the end, refused where two values share a label and not the next one."""
    lengths = {len(up) for up in rows.values()}
    if len(lengths) != 1 or not 1 <= max(lengths) <= MOST_LEVELS:
        raise ParameterError(f"{OWNER}: every value must have as many labels, from 1 to {MOST_LEVELS}")
    ended = all(up[-1] == ANY for up in rows.values())
    full = {value: tuple(up) if ended else (*up, ANY) for value, up in rows.items()}
    for level in range(1, len(next(iter(full.values())))):
        above: dict[str, str] = {}
        for up in full.values():
            if above.setdefault(up[level - 1], up[level]) != up[level]:
                raise ParameterError(
                    f"{OWNER}: the labels are not nested: two values share one at level {level} and not at {level + 1}"
                )
    return tuple(full.items())
