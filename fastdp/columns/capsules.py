"""Columns of whatever speaks the Arrow PyCapsule interface, and results as the same kind of object.

A table, batch or reader stands for its only column, and comes back as one with a column of the same name. Kinds that
this module does not know how to make come back as pyarrow arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

Column = Any
"""A pyarrow Array or ChunkedArray."""


def read_capsule(values: Any) -> tuple[Column, Callable[[Column], Any]]:
    """One array, and how an array of results becomes what was given."""
    import pyarrow as pa

    is_stream = hasattr(type(values), "__arrow_c_stream__")
    array = pa.chunked_array(values) if is_stream else pa.array(values)
    name = None
    if pa.types.is_struct(array.type) and array.type.num_fields == 1:
        name = array.type.field(0).name
        (array,) = array.flatten()
    return array, _find_way_back(values, name)


def _find_way_back(values: Any, name: str | None) -> Callable[[Column], Any]:
    import pyarrow as pa

    kind = type(values)
    if name is not None:
        make = {pa.Table: _table, pa.RecordBatch: _batch, pa.RecordBatchReader: _reader}.get(kind)
        if make is not None:
            return lambda results: make(name, results)
    library = kind.__module__.partition(".")[0]
    if library == "arro3" and hasattr(kind, "from_arrow"):
        return lambda results: kind.from_arrow(_for_arro3(kind.__name__, name, results))
    if library == "nanoarrow" and kind.__name__ in {"Array", "ArrayStream"}:
        way: Callable[[Column], Any] = getattr(sys.modules["nanoarrow"], kind.__name__)
        return way
    return lambda results: results


def _for_arro3(kind: str, name: str | None, results: Column) -> Any:
    """Results as pyarrow has what arro3 calls by the same name."""
    if name is None or kind in {"Array", "ChunkedArray"}:
        return results
    return _batch(name, results) if kind == "RecordBatch" else _table(name, results)


def _table(name: str, results: Column) -> pa.Table:
    import pyarrow as pa

    return pa.table({name: results})


def _batch(name: str, results: Column) -> pa.RecordBatch:
    import pyarrow as pa

    if isinstance(results, pa.ChunkedArray):
        results = results.chunk(0) if results.num_chunks == 1 else results.combine_chunks()
    return pa.record_batch({name: results})


def _reader(name: str, results: Column) -> pa.RecordBatchReader:
    return _table(name, results).to_reader()
