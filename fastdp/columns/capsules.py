"""Columns and tables of whatever speaks the Arrow PyCapsule interface, and results as the same kind of object.

A table, batch or reader stands for its only column where one column is wanted, and comes back as one with a column of
the same name. A DuckDB relation comes back on DuckDB's default connection, a DataFusion data frame in a session of its
own. Kinds that this module does not know how to make come back as pyarrow arrays and tables.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

Column = Any
"""A pyarrow Array or ChunkedArray."""
Maker = Callable[[Any], Any]


def read_capsule(values: object) -> tuple[Column, Maker]:
    """One array, and how an array of results becomes what was given."""
    import pyarrow as pa

    is_stream = hasattr(type(values), "__arrow_c_stream__")
    array = pa.chunked_array(values) if is_stream else pa.array(values)
    if pa.types.is_struct(array.type) and array.type.num_fields == 1:
        name = array.type.field(0).name
        (array,) = array.flatten()
        make = table_maker(values)
        if make is not None:
            return array, lambda results: make(pa.table({name: results}))
    return array, _column_maker(values)


def read_table(source: object) -> pa.Table:
    """All columns of a table, batch or stream; an error of its library goes through."""
    import pyarrow as pa

    return pa.table(source)


def _column_maker(values: Any) -> Maker:
    kind = type(values)
    library = kind.__module__.partition(".")[0]
    make: Maker = _as_it_is
    if library == "arro3" and hasattr(kind, "from_arrow"):
        make = kind.from_arrow
    elif library == "nanoarrow" and kind.__name__ in {"Array", "ArrayStream"}:
        make = getattr(sys.modules["nanoarrow"], kind.__name__)
    return make


def table_maker(like: object) -> Maker | None:
    """How a pyarrow table becomes the kind of table that ``like`` is; None for kinds that cannot be made."""
    import pyarrow as pa

    kind: Any = type(like)
    known: dict[Any, Maker] = {pa.Table: _as_it_is, pa.RecordBatch: _batch, pa.RecordBatchReader: pa.Table.to_reader}
    make = known.get(kind)
    library, name = kind.__module__.lstrip("_").partition(".")[0], kind.__name__
    if library == "arro3" and name in {"Table", "RecordBatchReader"}:
        make = kind.from_arrow
    elif library == "arro3" and name == "RecordBatch":
        make = lambda table: kind.from_arrow(_batch(table))  # noqa: E731
    elif library == "nanoarrow" and name in {"Array", "ArrayStream"}:
        make = getattr(sys.modules["nanoarrow"], name)
    elif library == "duckdb" and name == "DuckDBPyRelation":
        make = sys.modules["duckdb"].from_arrow
    elif library == "datafusion" and name == "DataFrame":
        make = sys.modules["datafusion"].SessionContext().from_arrow
    return make


def _as_it_is(results: Any) -> Any:
    return results


def _batch(table: pa.Table) -> pa.RecordBatch:
    import pyarrow as pa

    columns = [
        column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
        for column in table.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)
