"""Tables as coded rows: whole where they are in memory, else batch by batch, reduced to distinct rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.anonymity.coding.codes import Codes, Rows, code_type
from fastdp.anonymity.coding.encoding import (
    NULLS,
    check_nulls,
    drop_nulls,
    encode,
    from_dictionary,
    is_text,
    plain_column,
    reduce_rows,
    value_type,
)
from fastdp.columns.arrow import is_encoded
from fastdp.errors import ParameterError, SchemaError
from fastdp.io.memory import ReaderSource, TableSource
from fastdp.io.open import open_source

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.io.base import Source


Names = Sequence[str] | str
"""Names of columns, or one."""
PENDING = 1 << 22
"""Rows that are held before they are reduced to distinct ones."""


def check_names(
    owner: str, source: Source, quasi: Names, sensitive: Names | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the columns, once each and all of them in the table."""
    groups = []
    for what, given in (("quasi", quasi), ("sensitive", sensitive)):
        names = (given,) if isinstance(given, str) else tuple(given or ())
        if not all(isinstance(name, str) for name in names):
            raise ParameterError(f"{owner}: {what} must be names of columns")
        groups.append(names)
    if not groups[0]:
        raise ParameterError(f"{owner}: quasi must name at least one column")
    every = [*groups[0], *groups[1]]
    for name in every:
        if every.count(name) > 1:
            raise SchemaError(f"{owner}: column {name!r} is named twice among quasi and sensitive")
        found = source.schema.names.count(name)
        if not found:
            raise SchemaError(f"{owner}: {validation.unknown('column', name, tuple(source.schema.names))}")
        if found > 1:
            raise SchemaError(f"{owner}: the table has several columns named {name!r}")
    return groups[0], groups[1]


def open_table(owner: str, table: object, input_format: str | None = None) -> Source:
    """Any table, file or folder; CSV columns are text. Data frames are in memory already, and stay so."""
    import pyarrow as pa

    source = open_source(owner, table, input_format=input_format)
    if isinstance(source, ReaderSource) and not isinstance(table, pa.RecordBatchReader):
        return load_table(source, source.schema.names)
    return source


def load_table(source: Source, names: Sequence[str]) -> TableSource:
    """Some columns of a source, in memory."""
    import pyarrow as pa

    if isinstance(source, TableSource):
        return source
    batches = list(source.batches(list(names), None, []))
    return TableSource(pa.Table.from_batches(batches, pa.schema([source.schema.field(name) for name in names])))


def read_rows(owner: str, source: Source, names: Sequence[str], nulls: str, *, guess: bool = False) -> Rows:
    """The coded rows of these columns; a table in memory is coded whole, anything else batch by batch.

    With ``guess``, sizes of columns of bytes may be those of their first rows.
    """
    validation.one_of(owner, "nulls", nulls, NULLS)
    if isinstance(source, TableSource):
        if not source.table.num_rows:
            raise ParameterError(f"{owner}: there are no rows")
        columns = [source.table.column(name) for name in names]
        return drop_nulls(
            owner, [encode(owner, name, c, nulls, guess=guess) for name, c in zip(names, columns, strict=True)], nulls
        )
    texts = [name for name in names if is_text(source.schema.field(name).type)]
    return read_batches(owner, source.batches(list(names), None, texts), names, source.schema, nulls)


class _Growing:
    """The codes of a column that comes in batches: values are numbered as they appear, a missing one too."""

    def __init__(self, name: str, kind: pa.DataType) -> None:
        self.name, self.kind = name, value_type(kind)
        self.numbers: dict[Any, int] = {}

    def encode(self, owner: str, array: pa.Array, nulls: str) -> np.ndarray:
        import pyarrow as pa

        column = plain_column(owner, self.name, pa.chunked_array([array]))
        check_nulls(owner, self.name, bool(column.null_count), nulls)
        if not is_encoded(column.type):
            column = column.dictionary_encode()
        codes, values = from_dictionary(column)
        found = [*values.to_pylist(), None] if column.null_count else values.to_pylist()
        numbers = self.numbers
        places = np.fromiter((numbers.setdefault(value, len(numbers)) for value in found), np.uint32, len(found))
        return np.asarray(places[codes])

    def finish(self, codes: np.ndarray) -> Codes:
        import pyarrow as pa

        null = None in self.numbers
        if null:
            last, at = len(self.numbers) - 1, self.numbers.pop(None)
            places = np.arange(last + 1, dtype=np.uint32)
            places[at], places[at + 1 :] = last, np.arange(at, last)
            codes = places[codes]
        values = pa.array(list(self.numbers), self.kind)
        size = len(values) + null
        return Codes(self.name, codes.astype(code_type(size)), size, values, self.kind, null)


def read_batches(owner: str, batches: Iterable[Any], names: Sequence[str], schema: pa.Schema, nulls: str) -> Rows:
    growing = [_Growing(name, schema.field(name).type) for name in names]
    held: list[list[np.ndarray]] = []
    weights: list[np.ndarray] = []
    count = dropped = pending = 0

    def reduce_held() -> Rows:
        columns = [np.concatenate(parts) for parts in zip(*held, strict=True)]
        coded = tuple(
            Codes(one.name, codes, len(one.numbers), 0, one.kind) for one, codes in zip(growing, columns, strict=True)
        )
        return reduce_rows(Rows(coded, np.concatenate(weights), count))

    for batch in batches:
        codes = [one.encode(owner, batch.column(name), nulls) for name, one in zip(names, growing, strict=True)]
        if nulls == "drop":
            kept = np.ones(batch.num_rows, bool)
            for one, column in zip(growing, codes, strict=True):
                kept &= column != one.numbers.get(None, -1)
            dropped += int((~kept).sum())
            codes = [column[kept] for column in codes]
        held.append(codes)
        weights.append(np.ones(codes[0].size, np.int64))
        count, pending = count + codes[0].size, pending + codes[0].size
        if pending >= PENDING:
            reduced = reduce_held()
            held, weights = [[column.codes for column in reduced.columns]], [reduced.weights]  # type: ignore[list-item]
            pending = 0 if 2 * weights[0].size < PENDING else -2 * weights[0].size
    if not count:
        raise ParameterError(f"{owner}: there are no rows")
    reduced = reduce_held()
    finish = _without_null if nulls == "drop" else _Growing.finish
    columns = tuple(finish(one, column.codes) for one, column in zip(growing, reduced.columns, strict=True))
    return Rows(columns, reduced.weights, count, dropped)


def _without_null(one: _Growing, codes: np.ndarray) -> Codes:
    """The codes where rows with a missing value were left out."""
    finished = one.finish(codes)
    return replace(finished, size=finished.size - finished.null, null=False)
