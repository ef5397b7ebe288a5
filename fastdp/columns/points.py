"""Points in and out: two columns of any kinds, or one container that holds both."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from fastdp.columns.containers import unwrap
from fastdp.columns.numeric import Nulls, NumericColumn, read_block, read_numeric
from fastdp.columns.pieces import ArrowNumbers, Copied, Room
from fastdp.columns.tables import unwrap_table
from fastdp.errors import SchemaError
from fastdp.typing import Column


@dataclass(frozen=True, slots=True)
class PointColumns:
    """Two columns of one length, and how their results become what was given: a pair of columns, or a container."""

    columns: tuple[NumericColumn, NumericColumn]
    join: Callable[[Any, Any], Any]
    edges: tuple[list[int], list[int]]
    """For either column, the first point of each piece, and the number of points."""
    whole: np.ndarray | None = None
    """An array of shape (n, 2) for the results, where one was given."""

    @property
    def size(self) -> int:
        return self.columns[0].size

    def begin(self) -> PointResults:
        """Room for one result per point."""
        if self.whole is not None:
            rooms: list[list[Room]] = [[Copied(self.whole[:, 0])], [Copied(self.whole[:, 1])]]
        else:
            rooms = [[column.room(i) for i in range(len(column.pieces))] for column in self.columns]
        return PointResults(self, rooms)

    def rebuild(self, parts: Sequence[np.ndarray]) -> Any:
        """Two whole arrays of results as what was given."""
        results = self.begin()
        for start, stop in self.spans():
            results.fill(start, stop, [part[start:stop] for part in parts])
        return results.finish()

    def spans(self) -> Iterator[tuple[int, int]]:
        """Ranges of points that lie in one piece of either column."""
        return pairwise(sorted({0, self.size, *self.edges[0], *self.edges[1]}))

    def read(self, owner: str, start: int, stop: int) -> list[np.ndarray]:
        """Both columns at points start:stop, which lie in one piece of either."""
        return [
            read_block(owner, column.pieces[piece], start - begin, stop - begin, column.result_dtype)
            for column, (piece, begin) in zip(self.columns, self.locate(start), strict=True)
        ]

    def locate(self, start: int) -> list[tuple[int, int]]:
        """For either column, the piece that holds a point, and the first point of that piece."""
        pieces = [bisect_right(edges, start) - 1 for edges in self.edges]
        return [(piece, edges[piece]) for piece, edges in zip(pieces, self.edges, strict=True)]

    def flat(self, owner: str) -> list[np.ndarray]:
        """Both columns as whole arrays of float64."""
        return [column.flat(owner) for column in self.columns]


@dataclass(frozen=True, slots=True)
class PointResults:
    """Where results of points go, and how they become what was given."""

    points: PointColumns
    rooms: list[list[Room]]

    def take(self, start: int, stop: int) -> list[np.ndarray]:
        """Where the results of points start:stop are to be written; they lie in one piece of either column."""
        return [room.take(start - begin, stop - begin) for room, begin in self._rooms(start)]

    def put(self, start: int, stop: int, parts: Sequence[np.ndarray]) -> None:
        """Keep what was written there."""
        for (room, begin), part in zip(self._rooms(start), parts, strict=True):
            room.put(start - begin, stop - begin, part)

    def fill(self, start: int, stop: int, parts: Sequence[np.ndarray]) -> None:
        """Write results that were computed elsewhere."""
        taken = self.take(start, stop)
        for room, part in zip(taken, parts, strict=True):
            room[:] = part
        self.put(start, stop, taken)

    def _rooms(self, start: int) -> list[tuple[Room, int]]:
        located = self.points.locate(start)
        return [(rooms[piece], begin) for rooms, (piece, begin) in zip(self.rooms, located, strict=True)]

    def finish(self) -> Any:
        """The caller's container or containers."""
        if self.points.whole is not None:
            return self.points.whole
        rebuilt = (
            column.rebuild([room.content for room in rooms])
            for column, rooms in zip(self.points.columns, self.rooms, strict=True)
        )
        return self.points.join(*rebuilt)


def _edges(column: NumericColumn) -> list[int]:
    return list(accumulate((piece.size for piece in column.pieces), initial=0))


def read_points(
    owner: str,
    first: Column,
    second: Column | None,
    *,
    nulls: Nulls = "error",
    missing: tuple[float, float] = (0.0, 0.0),
) -> PointColumns:
    """Two columns, or one container of two: an array of shape (n, 2), a data frame, a table, a dict.

    Under a public null stands its part of ``missing``.
    """
    join: Callable[[Any, Any], Any] = _pair
    is_array = second is None and isinstance(first, np.ndarray)
    if second is None:
        first, second, join = _open(owner, first)
    one, other = (
        _read(owner, values, nulls, here) for values, here in zip((first, second), missing, strict=True)
    )  # fmt: skip
    if one.size != other.size:
        raise SchemaError(f"{owner}: the two columns must have the same length")
    whole = np.empty((one.size, 2), one.result_dtype) if is_array else None
    return PointColumns((one, other), join, (_edges(one), _edges(other)), whole)


def _pair(first: Any, second: Any) -> tuple[Any, Any]:
    return first, second


def _open(owner: str, points: Any) -> tuple[Any, Any, Callable[[Any, Any], Any]]:
    """The two columns of a container, and how two columns of results become such a container."""
    wrong = SchemaError(f"{owner}: give two columns, or one array of shape (n, 2) or one table of exactly two columns")
    if isinstance(points, np.ndarray) and not isinstance(points, np.ma.MaskedArray):
        if points.ndim != 2 or points.shape[1] != 2:
            raise wrong
        return points[:, 0], points[:, 1], _pair
    table = unwrap_table(owner, points)
    if table is None or len(table[0]) != 2 or table[0][0][0] == table[0][1][0]:
        raise wrong
    ((one, x), (other, y)), rewrap = table
    return x, y, lambda a, b: rewrap({one: a, other: b})


def _read(owner: str, values: Any, nulls: Nulls, missing: float) -> NumericColumn:
    plain, rewrap = unwrap(owner, values)
    column = read_numeric(owner, plain, "float", nulls=nulls)
    if missing:
        pieces = [replace(piece, fill=missing) if isinstance(piece, ArrowNumbers) else piece for piece in column.pieces]
        column = replace(column, pieces=pieces)
    return column.wrapped(plain, rewrap)
