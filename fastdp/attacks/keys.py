"""Keys of rows: one integer per combination of some columns, the same in every table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from fastdp.errors import DomainError, ParameterError, SchemaError
from fastdp.typing import Table


def read_table(owner: str, name: str, table: Table) -> pa.Table:
    """A pyarrow table of a table, data frame or dict of columns."""
    if isinstance(table, pa.Table):
        return table
    try:
        return pa.table(table)
    except (TypeError, ValueError, pa.ArrowException):
        raise SchemaError(f"{owner}: {name} must be a table: pyarrow, a data frame, or a dict of columns") from None


def publish(owner: str, release: Callable[[pa.Table], Table], records: Table | None) -> pa.Table:
    """What a release of the caller's makes of the true records."""
    if records is None:
        raise ParameterError(f"{owner}: a callable release needs records, the true table that it is given")
    return read_table(owner, "what the release returns", release(read_table(owner, "records", records)))


def join_keys(owner: str, tables: Sequence[pa.Table], on: Sequence[str]) -> list[np.ndarray]:
    """For each table one integer per row: equal where all columns of ``on`` are equal."""
    if not on or len(set(on)) < len(on):
        raise ParameterError(f"{owner}: give at least one column to compare, each once")
    total: np.ndarray | None = None
    for name in on:
        for table in tables:
            if name not in table.column_names:
                raise SchemaError(f"{owner}: there is no column {name!r}")
            if table[name].null_count:
                raise DomainError(f"{owner}: column {name!r} has nulls; drop or fill them first")
        kinds = {table[name].type for table in tables}
        parts = [table[name].cast(pa.string()) if len(kinds) > 1 else table[name] for table in tables]
        chunks = [chunk for part in parts for chunk in part.chunks]
        encoded = pa.chunked_array(chunks, type=parts[0].type).combine_chunks()
        encoded = encoded if pa.types.is_dictionary(encoded.type) else encoded.dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        codes = np.asarray(encoded.indices).astype(np.int64)
        total = codes if total is None else number(total * (int(codes.max(initial=0)) + 1) + codes)
    assert total is not None
    ends = np.cumsum([len(table) for table in tables])[:-1]
    return list(np.split(number(total), ends))


def number(keys: np.ndarray) -> np.ndarray:
    """Keys numbered from 0."""
    return np.unique(keys, return_inverse=True)[1].astype(np.int64)
