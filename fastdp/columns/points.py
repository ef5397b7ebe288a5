"""Points in and out: two columns of any kinds, or one container that holds both."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from fastdp.columns.containers import unwrap, unwrap_table
from fastdp.columns.numeric import Nulls, NumericColumn, read_block, read_numeric, show_nulls
from fastdp.errors import SchemaError


@dataclass(frozen=True, slots=True)
class PointColumns:
    """Two columns of one length, and how their results become what was given: a pair of columns, or a container."""

    columns: tuple[NumericColumn, NumericColumn]
    join: Callable[[Any, Any], Any]

    @property
    def size(self) -> int:
        return self.columns[0].size

    def rebuild(self, results: list[np.ndarray]) -> Any:
        """Two whole arrays of results as the caller's containers."""
        rebuilt = []
        for column, result in zip(self.columns, results, strict=True):
            edges = np.cumsum([0] + [piece.size for piece in column.pieces]).tolist()
            single = len(column.pieces) == 1
            rebuilt.append(column.rebuild([result] if single else [result[a:b].copy() for a, b in pairwise(edges)]))
        return self.join(*rebuilt)

    def flat(self, owner: str) -> list[np.ndarray]:
        """Both columns as whole arrays of float64."""
        return [
            np.concatenate([
                read_block(owner, piece, 0, piece.size, column.result_dtype).astype(np.float64)
                for piece in column.pieces
            ])
            for column in self.columns
        ]  # fmt: skip


def read_points(
    owner: str, first: Any, second: Any, *, nulls: Nulls = "error", missing: tuple[float, float] = (0.0, 0.0)
) -> PointColumns:
    """Two columns, or one container of two: an array of shape (n, 2), a data frame, a table, a dict.

    Under a public null stands its part of ``missing``.
    """
    join: Callable[[Any, Any], Any] = _pair
    if second is None:
        first, second, join = _open(owner, first)
    one, other = (
        _read(owner, values, nulls, here) for values, here in zip((first, second), missing, strict=True)
    )  # fmt: skip
    if one.size != other.size:
        raise SchemaError(f"{owner}: the two columns must have the same length")
    return PointColumns((one, other), join)


def _pair(first: Any, second: Any) -> tuple[Any, Any]:
    return first, second


def _open(owner: str, points: Any) -> tuple[Any, Any, Callable[[Any, Any], Any]]:
    """The two columns of a container, and how two columns of results become such a container."""
    wrong = SchemaError(f"{owner}: give two columns, or one array of shape (n, 2) or one table of exactly two columns")
    if isinstance(points, np.ndarray) and not isinstance(points, np.ma.MaskedArray):
        if points.ndim != 2 or points.shape[1] != 2:
            raise wrong
        return points[:, 0], points[:, 1], lambda x, y: np.stack((x, y), axis=1)
    table = unwrap_table(owner, points)
    if table is None or len(table[0]) != 2 or table[0][0][0] == table[0][1][0]:
        raise wrong
    ((one, x), (other, y)), rewrap = table
    return x, y, lambda a, b: rewrap({one: a, other: b})


def _read(owner: str, values: Any, nulls: Nulls, missing: float) -> NumericColumn:
    plain, rewrap = unwrap(owner, values)
    column = read_numeric(owner, plain, "float", nulls=nulls)
    if missing and "pyarrow" in sys.modules:
        import pyarrow as pa

        if isinstance(plain, pa.Array | pa.ChunkedArray) and plain.null_count:
            chunks = plain.chunks if isinstance(plain, pa.ChunkedArray) else [plain]
            absent = [show_nulls(chunk).is_null().to_numpy(zero_copy_only=False) for chunk in chunks]
            pieces = [np.where(here, missing, piece) for here, piece in zip(absent, column.pieces, strict=True)]
            column = replace(column, pieces=pieces)
    return column.wrapped(plain, rewrap)
