"""Whole tables: whatever holds several columns as a pyarrow table, and a pyarrow table as the same kind again.

| source | results |
| --- | --- |
| dict of columns | a dict, each column of its own kind: numpy, pyarrow, pandas, polars, a list |
| numpy structured array | a structured array |
| pandas DataFrame | a DataFrame whose rows are numbered afresh; columns keep their kind of type |
| polars DataFrame | a DataFrame |
| pyarrow Table, RecordBatch, reader; arro3 and nanoarrow tables; DuckDB relation; DataFusion data frame | the same |
| anything else with an Arrow stream or array | a pyarrow Table |

:func:`unwrap_table` gives the columns as they are, for results row by row. Unlike those, a table that is sanitized may
lose rows and columns on the way, so no index is kept. numpy has no nulls: None in an array of objects is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.columns.capsules import read_table, table_maker
from fastdp.columns.containers import Rewrap, as_pandas, guarded, is_of, is_pandas_array, unwrap
from fastdp.errors import DomainError, SchemaError

if TYPE_CHECKING:
    import pyarrow as pa


def unwrap_table(owner: str, table: object) -> tuple[list[tuple[Any, Any]], Rewrap] | None:
    """Names and columns, and how a dict of results becomes the caller's kind of table; None if it is no table.

    Kinds that only offer a stream or an array, and that nobody here knows how to make, come back as pyarrow tables. The
    columns of a dict may be of any kind.
    """
    if isinstance(table, Mapping):
        return list(table.items()), dict
    if is_of(table, "pandas", ("DataFrame",)):
        return list(table.items()), lambda results: _to_frame(results, table)
    if is_of(table, "polars", ("DataFrame",)):
        return [(column.name, column) for column in table.get_columns()], type(table)
    if is_of(table, "pyarrow", ("Table", "RecordBatch")):
        return list(zip(table.schema.names, table.columns, strict=True)), type(table).from_pydict
    if not (hasattr(type(table), "__arrow_c_stream__") or hasattr(type(table), "__arrow_c_array__")):
        return None
    read, make = guarded(owner, table, lambda given: (read_table(given), table_maker(given)))
    columns = list(zip(read.schema.names, read.columns, strict=True))
    return columns, lambda results: _to_table(results) if make is None else make(_to_table(results))


def _to_table(results: dict[str, Any]) -> pa.Table:
    import pyarrow as pa

    return pa.table(results)


def _to_frame(results: dict[str, Any], like: Any) -> Any:
    """By position: an index may hold a label twice."""
    columns = {name: getattr(column, "array", column) for name, column in results.items()}
    return sys.modules["pandas"].DataFrame(columns, index=like.index)


def is_columns(source: object) -> bool:
    """Whether it is a dict of columns or a structured array, which no arrow interface reads, or a frame of no rows.

    pandas' own stream has no type for a column of objects that holds none.
    """
    if is_of(source, "pandas", ("DataFrame",)):
        return not len(source)
    return isinstance(source, Mapping) or (isinstance(source, np.ndarray) and source.dtype.names is not None)


def read_columns(owner: str, source: Any) -> pa.Table:
    """A dict of columns, a structured array or a data frame as a table."""
    import pyarrow as pa

    if isinstance(source, np.ndarray):
        if source.ndim != 1 or isinstance(source, np.ma.MaskedArray):
            raise SchemaError(f"{owner}: a structured array must have one dimension and no mask")
        source = {name: source[name] for name in source.dtype.names or ()}
    elif not isinstance(source, Mapping):
        source = dict(source.items())
    if not all(isinstance(name, str) for name in source):
        raise SchemaError(f"{owner}: the names of columns must be strings")
    columns = {name: _to_arrow(owner, name, values) for name, values in source.items()}
    if len({len(column) for column in columns.values()}) > 1:
        raise SchemaError(f"{owner}: the columns have different lengths")
    return pa.table(columns)


def _to_arrow(owner: str, name: str, values: Any) -> pa.Array | pa.ChunkedArray:
    import pyarrow as pa

    plain, _ = unwrap(owner, values)
    if isinstance(plain, pa.Array | pa.ChunkedArray):
        return plain
    is_numpy = isinstance(plain, np.ndarray) and not isinstance(plain, np.ma.MaskedArray) and plain.ndim == 1
    if not is_numpy and not isinstance(plain, list | tuple):
        raise SchemaError(f"{owner}: column {name!r} is no array, series or list of one dimension")
    try:
        array = pa.array(plain.astype(plain.dtype.newbyteorder("="), copy=False) if is_numpy else plain)
        if is_numpy and plain.dtype.kind == "O" and not plain.size:
            array = array.cast(pa.string())
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # whose message may hold a value
        raise SchemaError(
            f"{owner}: column {name!r} holds values of several types, or of none that arrow has"
        ) from None
    if is_numpy and array.null_count:
        raise DomainError(f"{owner}: column {name!r} holds None, for which numpy has no type; pass a pyarrow array")
    return array


def same_kind(table: pa.Table, source: object) -> Any:
    """The table as the kind of table that the source is."""
    if isinstance(source, Mapping):
        return {name: _like_column(table.column(name), source[name]) for name in table.column_names}
    if isinstance(source, np.ndarray):
        return _structured({name: _to_numpy(table.column(name), source[name]) for name in table.column_names})
    if is_of(source, "pandas", ("DataFrame",)):
        columns = {name: _like_series(table.column(name), source[name]) for name in table.column_names}
        return sys.modules["pandas"].DataFrame(columns)
    if is_of(source, "polars", ("DataFrame",)):
        return sys.modules["polars"].DataFrame(table.replace_schema_metadata(None))
    make = table_maker(source)
    return table if make is None else make(table)


def _like_column(column: pa.ChunkedArray, like: Any) -> Any:
    import pyarrow as pa

    if isinstance(like, np.ndarray):
        return _to_numpy(column, like)
    if isinstance(like, list | tuple):
        return type(like)(column.to_pylist())
    if is_of(like, "pandas", ("Series",)):
        return sys.modules["pandas"].Series(_like_series(column, like), name=like.name)
    if is_pandas_array(like):
        return _like_series(column, like)
    if is_of(like, "polars", ("Series",)):
        return sys.modules["polars"].Series(like.name, column)
    return column.combine_chunks() if isinstance(like, pa.Array) else column


def _like_series(column: pa.ChunkedArray, like: Any) -> Any:
    """A column of the same kind of type: numpy, nullable or arrow."""
    pd = sys.modules["pandas"]
    arrow = isinstance(like.dtype, pd.ArrowDtype | pd.StringDtype) or hasattr(like.dtype, "numpy_dtype")
    return as_pandas(column, like.dtype) if arrow else column.to_pandas().array


def _to_numpy(column: pa.ChunkedArray, like: np.ndarray) -> np.ndarray:
    """Numbers, text as it came, packed bits as rows of bytes, records as a structured array."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_struct(kind):
        parts = {kind.field(i).name: _to_numpy(part, like) for i, part in enumerate(column.flatten())}
        return _structured(parts)
    if pa.types.is_fixed_size_binary(kind):
        chunks = [_bytes_of(chunk).reshape(len(chunk), kind.byte_width) for chunk in column.chunks]
        return np.concatenate(chunks or [np.zeros((0, kind.byte_width), np.uint8)])
    if pa.types.is_fixed_size_list(kind):
        lists: np.ndarray = column.combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(-1, kind.list_size)
        return lists
    plain = column.to_numpy()
    texts: np.ndarray = plain.astype(like.dtype if like.dtype.kind == "T" else str) if _is_text(like, plain) else plain
    return texts


def _is_text(like: np.ndarray, plain: np.ndarray) -> bool:
    return like.dtype.kind in "UT" and plain.dtype.kind == "O"


def _bytes_of(chunk: pa.Array) -> np.ndarray:
    body, width = chunk.buffers()[1], chunk.type.byte_width
    flat = np.zeros(0, np.uint8) if body is None else np.frombuffer(body, np.uint8)
    return flat[chunk.offset * width : (chunk.offset + len(chunk)) * width]


def _structured(columns: dict[str, np.ndarray]) -> np.ndarray:
    first = next(iter(columns.values()))
    made = np.empty(len(first), [(name, column.dtype, column.shape[1:]) for name, column in columns.items()])
    for name, column in columns.items():
        made[name] = column
    return made
