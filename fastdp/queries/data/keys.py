"""The groups that a row falls in: one for all rows, the values of columns, or the bins of a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fastdp.errors import ParameterError
from fastdp.queries.data.codes import PairTable, Table, declared_array, make_table, nulls_of, words_of
from fastdp.queries.data.measures import to_floats

if TYPE_CHECKING:
    import pyarrow as pa


class Keys(Protocol):
    """Groups and their codes."""

    @property
    def columns(self) -> list[str]:
        """The columns that say which group a row is in."""

    @property
    def size(self) -> int:
        """Groups so far, or in all where they are declared."""

    @property
    def tags(self) -> np.ndarray:
        """One 64-bit word per group that does not depend on the order of the data."""

    def find(self, batch: pa.RecordBatch) -> np.ndarray:
        """The group of each row as an int32 code, -1 where it has none and is dropped."""

    def labels(self) -> dict[str, pa.Array]:
        """The name of each group, column by column, in the order of codes."""


class OneGroup:
    """All rows together."""

    size = 1
    columns: list[str] = []  # noqa: RUF012 - nobody changes it
    tags = np.zeros(1, np.uint64)

    def find(self, batch: pa.RecordBatch) -> np.ndarray:
        return np.zeros(batch.num_rows, np.int32)

    def labels(self) -> dict[str, pa.Array]:
        return {}


class ColumnKeys:
    """The values of one or several columns; rows with a null in any of them are dropped, and undeclared keys too."""

    def __init__(
        self, owner: str, schema: pa.Schema, columns: Sequence[str], seed: int, declared: Sequence[Any] | None
    ) -> None:
        self.columns = list(columns)
        kinds = [schema.field(name).type for name in columns]
        tables: list[Table] = [
            make_table(owner, name, kind, seed + 97 * number)
            for number, (name, kind) in enumerate(zip(columns, kinds, strict=True))
        ]
        self._table: Any = tables[0] if len(tables) == 1 else PairTable(seed + 7, tables)
        self._is_open = declared is None
        if declared is not None:
            self._declare(owner, kinds, declared)

    def _declare(self, owner: str, kinds: Sequence[pa.DataType], declared: Sequence[Any]) -> None:
        if not len(declared):
            raise ParameterError(f"{owner}: keys must name at least one group")
        if len(self.columns) == 1:
            arrays = [declared_array(owner, self.columns[0], kinds[0], declared)]
        else:
            if any(not isinstance(key, tuple | list) or len(key) != len(kinds) for key in declared):
                raise ParameterError(f"{owner}: each key must give a value for {' and '.join(self.columns)}")
            if len({tuple(key) for key in declared}) < len(declared):
                raise ParameterError(f"{owner}: keys hold one twice")
            arrays = []
            for number, (column, kind) in enumerate(zip(self.columns, kinds, strict=True)):
                values = [key[number] for key in declared]
                distinct = declared_array(owner, column, kind, list(dict.fromkeys(values)))
                places = {value: place for place, value in enumerate(dict.fromkeys(values))}
                arrays.append(distinct.take([places[value] for value in values]))
        words = [words_of(array) for array in arrays]
        self._table.find(words[0] if len(words) == 1 else words, is_open=True)

    @property
    def size(self) -> int:
        return int(self._table.used)

    @property
    def tags(self) -> np.ndarray:
        tags: np.ndarray = self._table.tags
        return tags

    def find(self, batch: pa.RecordBatch) -> np.ndarray:
        arrays = [batch.column(name) for name in self.columns]
        nulls = [absent for absent in map(nulls_of, arrays) if absent is not None]
        if nulls and self._is_open:
            return self._find_present(arrays, np.logical_or.reduce(nulls))
        words = [words_of(array) for array in arrays]
        codes: np.ndarray = self._table.find(words[0] if len(words) == 1 else words, is_open=self._is_open)
        for absent in nulls:
            codes[absent] = -1
        return codes

    def _find_present(self, arrays: list[pa.Array], absent: np.ndarray) -> np.ndarray:
        """What lies under a null is no key, and must not become one."""
        import pyarrow as pa

        present = pa.array(~absent)
        words = [words_of(array.filter(present)) for array in arrays]
        codes = np.full(absent.size, -1, np.int32)
        codes[~absent] = self._table.find(words[0] if len(words) == 1 else words, is_open=True)
        return codes

    def labels(self) -> dict[str, pa.Array]:
        columns = self._table.name_columns() if isinstance(self._table, PairTable) else [self._table.names()]
        return dict(zip(self.columns, columns, strict=True))


class BinKeys:
    """The bins of a number: [edge, next edge), the last one closed; values outside, and NaN, are dropped."""

    def __init__(self, column: str, edges: np.ndarray) -> None:
        self.columns, self._edges = [column], edges
        self.size = edges.size - 1
        self.tags = np.arange(self.size, dtype=np.uint64)

    def find(self, batch: pa.RecordBatch) -> np.ndarray:
        values = to_floats(batch.column(self.columns[0]))
        codes = np.searchsorted(self._edges, values, "right").astype(np.int32) - np.int32(1)
        codes[values == self._edges[-1]] = self.size - 1
        codes[(codes >= self.size) | np.isnan(values)] = -1
        return codes

    def labels(self) -> dict[str, pa.Array]:
        import pyarrow as pa

        return {"left": pa.array(self._edges[:-1]), "right": pa.array(self._edges[1:])}
