"""Columns as codes: a small integer per row, and the value that each stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.kernels.classes.keys import add_weights, count_keys
from fastdp.kernels.fairness.cells import count_cells, largest_code

if TYPE_CHECKING:
    import pyarrow as pa

OWNER = "anonymity"
FEW_CODES = 1 << 8
"""Codes up to which neighbours are often equal, and counted in four lanes."""


@dataclass(frozen=True, slots=True)
class Codes:
    """One code below ``size`` per row; ``values`` has the value of each code, or the first one of a range."""

    name: str
    codes: np.ndarray
    size: int
    values: pa.Array | int
    kind: pa.DataType
    null: bool = False
    """Whether the last code stands for a missing value."""
    guessed: bool = False
    """Whether ``size`` is that of the first rows alone; ``grouping`` finds out, anything else needs :meth:`exact`."""

    def exact(self) -> Codes:
        """The same, with the size of all rows."""
        return replace(self, size=int(largest_code(self.codes)) + 1, guessed=False) if self.guessed else self

    def decoded(self) -> pa.Array:
        """The value of every code, in order."""
        import pyarrow as pa

        if isinstance(self.values, int):
            plain = pa.array(np.arange(self.values, self.values + self.size - self.null, dtype=np.int64))
            integers = pa.int32() if self.kind.bit_width == 32 else pa.int64()
            values = plain.cast(self.kind) if pa.types.is_integer(self.kind) else plain.cast(integers).cast(self.kind)
        else:
            values = self.values
        return pa.concat_arrays([values, pa.nulls(1, values.type)]) if self.null else values


@dataclass(frozen=True, slots=True)
class Rows:
    """The coded rows of a table; with ``weights`` they are distinct ones, and how often each occurs."""

    columns: tuple[Codes, ...]
    weights: np.ndarray | None
    count: int
    dropped: int = 0
    kept: np.ndarray | None = None
    """Which rows of a table in memory were not dropped; None where none was."""

    def of(self, names: Sequence[str]) -> tuple[Codes, ...]:
        """Columns by name."""
        by_name = {column.name: column for column in self.columns}
        return tuple(by_name[name] for name in names)


def code_type(size: int) -> np.dtype[Any]:
    """The smallest unsigned type for codes below ``size``."""
    return np.dtype(np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.uint32)


def present(column: Codes, weights: np.ndarray | None) -> np.ndarray:
    """How many rows have each code."""
    counts = np.zeros(column.size, np.int64)
    if weights is None and column.size <= FEW_CODES:
        lanes = np.zeros((4, column.size), np.int64)
        count_cells(column.codes, lanes)
        counts = lanes.sum(axis=0)
    elif weights is None:
        count_keys(column.codes, counts)
    else:
        add_weights(column.codes, weights, counts)
    return counts


def sort_values(column: Codes, weights: np.ndarray | None) -> tuple[Codes, np.ndarray]:
    """The column coded by the rank of its values among those that occur, and how often each of them does."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column.exact()
    counts = present(column, weights)
    seen = np.flatnonzero(counts)
    if isinstance(column.values, int) and seen.size == column.size and not column.null:
        return column, counts
    null = column.null and bool(counts[-1])
    values = column.decoded().take(pa.array(seen))
    order = pc.sort_indices(values).to_numpy()  # a missing value last
    ranks = np.zeros(column.size, code_type(seen.size))
    ranks[seen[order]] = np.arange(seen.size)
    found = values.take(pa.array(order)).slice(0, seen.size - null)
    return Codes(column.name, ranks[column.codes], seen.size, found, column.kind, null), counts[seen[order]]
