"""Columns of other libraries: pandas and polars series, and whatever speaks the Arrow PyCapsule interface.

They come in as arrow arrays, without a copy where they are arrow inside, and results go back as what came in:

| values | results |
| --- | --- |
| numpy array of StringDType | an array of the same type |
| pandas Series | a Series with the same index and name: an index is the caller's own, and stays as it is |
| pandas Categorical or other array | an array of the same kind |
| polars Series | a Series of the same name |
| pandas or polars DataFrame of one column | a DataFrame of one column |
| pyarrow Table, RecordBatch or reader of one column | the same, its column of the same name |
| arro3 and nanoarrow arrays and streams, arro3 tables, batches and readers of one column | the same |
| DuckDB relation of one column | a relation, on DuckDB's default connection |
| DataFusion DataFrame of one column | a DataFrame, in a session of its own |
| other ``__arrow_c_stream__`` | a pyarrow ChunkedArray |
| other ``__arrow_c_array__`` | a pyarrow Array |

A pandas Series keeps its kind of type: numpy, nullable, arrow or categorical, with the declared labels as categories;
reports that numpy has no type for are of an arrow type. Missing values of nullable, arrow, text and object columns are
nulls; NaN in a column of floats is NaN. Columns are read by position, never aligned by an index. A stream is read
to its end. No library is ever imported here but pyarrow: whoever has its values has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from fastdp.columns.arrow import is_arrow
from fastdp.columns.capsules import read_capsule
from fastdp.errors import SchemaError

if TYPE_CHECKING:
    import pyarrow as pa

Rewrap = Callable[[Any], Any]
"""An arrow array of results as the caller's kind of container."""

NULLABLE = {
    **{f"{sign}int{bits}": f"{sign.upper()}Int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float": "Float32",
    "double": "Float64",
    "bool": "boolean",
}
"""Arrow's names of types, and pandas' of the same with a mask."""
WITHOUT_ARRAYS = ("month_interval", "day_time_interval")


def unwrap(owner: str, values: object) -> tuple[Any, Rewrap | None]:
    """Values as an arrow array, and how results become the caller's container; others as they are, and None."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "T":
        return _unwrap_strings(values)
    if isinstance(values, np.ndarray | np.generic | list | tuple | int | float):
        return values, None
    if is_arrow(values):
        check_known(owner, values.type)
        return values, None
    if is_of(values, "pandas", ("Series",)):
        return guarded(owner, values, _from_pandas), lambda results: _to_pandas(results, values)
    if is_pandas_array(values):
        array, rewrap = unwrap(owner, sys.modules["pandas"].Series(values, copy=False))
        assert rewrap is not None
        return array, lambda results: rewrap(results).array
    if is_of(values, "polars", ("Series",)):
        return guarded(owner, values, _from_polars), lambda results: _to_polars(results, values)
    if (is_of(values, "pandas", ("DataFrame",)) or is_of(values, "polars", ("DataFrame",))) and values.shape[1] == 1:
        return _unwrap_frame(owner, values)
    if hasattr(type(values), "__arrow_c_stream__") or hasattr(type(values), "__arrow_c_array__"):
        array, rewrap = guarded(owner, values, read_capsule)
        return array, rewrap
    return values, None


def is_pandas_array(values: object) -> TypeGuard[Any]:
    """Whether values are what a pandas Series may hold: a Categorical, or an array of nullable or arrow type."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(values, pandas.api.extensions.ExtensionArray)


def _unwrap_strings(values: np.ndarray) -> tuple[np.ndarray, Rewrap]:
    """Strings of any length of numpy as objects, None where one is missing; results that are labels as such strings."""
    plain = values.astype(object)
    if hasattr(values.dtype, "na_object"):
        plain[np.array([not isinstance(value, str) for value in plain.flat], bool).reshape(plain.shape)] = None
    return plain, lambda results: results.astype(values.dtype) if results.dtype.kind in "OU" else results


def check_known(owner: str, kind: pa.DataType) -> None:
    """Refuse a type that pyarrow can name but has no arrays for, also inside another one."""
    import pyarrow as pa

    if str(kind) in WITHOUT_ARRAYS:
        raise SchemaError(f"{owner}: pyarrow has no arrays of arrow type {kind}; drop the column, or convert it first")
    for inner in range(kind.num_fields):
        check_known(owner, kind.field(inner).type)
    if pa.types.is_dictionary(kind):
        check_known(owner, kind.value_type)


def _unwrap_frame(owner: str, frame: Any) -> tuple[Any, Rewrap]:
    """The only column of a data frame, and how results become a data frame."""
    (column,) = (series for _, series in frame.items()) if hasattr(frame, "items") else frame.get_columns()
    array, rewrap = unwrap(owner, column)
    assert rewrap is not None
    return array, lambda results: rewrap(results).to_frame()


def is_of(values: object, library: str, names: tuple[str, ...]) -> TypeGuard[Any]:
    """Whether values are of a library's classes; a library that nobody has imported has no values."""
    module = sys.modules.get(library)
    return any(isinstance(values, getattr(module, name, ())) for name in names)


def guarded(owner: str, values: object, convert: Callable[[Any], Any]) -> Any:
    """The converted values; an error of another library may show them, and is replaced."""
    try:
        return convert(values)
    except Exception:  # noqa: BLE001
        kind = getattr(values, "dtype", None) if hasattr(type(values), "dtype") else None
        name = getattr(kind, "__name__", type(kind).__name__)  # its text may show categories or a fill value
        given = type(values).__name__ + (f" of type {name}" if kind is not None else "")
        raise SchemaError(f"{owner}: a {given} could not be read as an arrow array; convert it first") from None


def _from_pandas(series: Any) -> pa.Array | pa.ChunkedArray:
    import pyarrow as pa

    if not isinstance(series.dtype, np.dtype):
        column = series.array
        array = column.__arrow_array__() if hasattr(column, "__arrow_array__") else pa.array(column)
        if pa.types.is_dictionary(array.type) and pa.types.is_null(array.type.value_type):  # of no categories at all
            array = pa.DictionaryArray.from_arrays(array.indices, pa.array([], pa.string()))
        return array
    plain = series.to_numpy()
    if plain.dtype == np.bool_:  # numpy packs and unpacks faster: a call takes 0.6 ns per value, not 2.1
        return pa.Array.from_buffers(
            pa.bool_(), plain.size, [None, pa.py_buffer(np.packbits(plain, bitorder="little"))]
        )
    if plain.dtype != object:
        return pa.array(plain.astype(plain.dtype.newbyteorder("="), copy=False), from_pandas=False)
    if not plain.size:
        return pa.array([], pa.string())
    array = pa.array(plain, from_pandas=True)
    if pa.types.is_floating(array.type):  # where NaN might be a number or a missing one
        raise TypeError
    return array


def _to_pandas(results: pa.Array | pa.ChunkedArray, like: Any) -> Any:
    content = as_pandas(results, like.dtype)
    kept = like.dtype if content.dtype.kind == "O" and isinstance(content, np.ndarray) else None
    return sys.modules["pandas"].Series(content, index=like.index, name=like.name, dtype=kept, copy=False)


def as_pandas(results: pa.Array | pa.ChunkedArray, dtype: Any) -> Any:
    """What a Series of results holds, of the same kind of type as ``dtype`` where there is one."""
    import pyarrow as pa

    pd, kind = sys.modules["pandas"], results.type
    masked = NULLABLE.get(str(kind))
    if pa.types.is_dictionary(kind) and isinstance(dtype, pd.CategoricalDtype):
        return _to_categorical(_in_one(results), dtype)
    if pa.types.is_large_string(kind) or pa.types.is_string(kind):
        if isinstance(dtype, pd.StringDtype):
            return dtype.__from_arrow__(results)
        return _in_one(results).to_numpy(zero_copy_only=False) if dtype.kind == "O" else _to_arrow_array(results)
    if masked is None or isinstance(dtype, pd.ArrowDtype):
        return _to_arrow_array(results)
    if results.null_count or dtype.name in NULLABLE.values():
        return _to_masked(_in_one(results), pd.api.types.pandas_dtype(masked))
    return _to_numpy(_in_one(results))


def _to_arrow_array(results: pa.Array | pa.ChunkedArray) -> Any:
    return sys.modules["pandas"].arrays.ArrowExtensionArray(results)


def _to_masked(results: pa.Array, dtype: Any) -> Any:
    missing = np.zeros(len(results), np.bool_)
    if results.null_count:
        missing = results.is_null().to_numpy(zero_copy_only=False, writable=True)
        results = results.fill_null(False if dtype.kind == "b" else 0)
    return dtype.construct_array_type()(_to_numpy(results), missing)


def _to_categorical(results: pa.DictionaryArray, like: Any) -> Any:
    """Of the declared labels; in the caller's order only if it is the declared one."""
    pd = sys.modules["pandas"]
    labels = pd.Index(results.dictionary.to_numpy(zero_copy_only=False), dtype=like.categories.dtype)
    dtype = like if like.categories.equals(labels) else pd.CategoricalDtype(labels)
    return pd.Categorical.from_codes(results.indices.fill_null(-1).to_numpy(), dtype=dtype)


def _in_one(results: pa.Array | pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    if isinstance(results, pa.Array):
        return results
    return results.chunk(0) if results.num_chunks == 1 else results.combine_chunks()


def _to_numpy(results: pa.Array) -> np.ndarray:
    """Numbers in their own memory, which may be written to; truth values unpacked."""
    body = results.buffers()[1]
    if results.type.bit_width == 1 and body is not None and not results.offset:
        return np.unpackbits(np.frombuffer(body, np.uint8), count=len(results), bitorder="little").view(np.bool_)
    if body is None or not body.is_mutable or results.type.bit_width == 1:
        copied: np.ndarray = results.to_numpy(zero_copy_only=False, writable=True)
        return copied
    dtype = np.dtype(results.type.to_pandas_dtype())
    return np.frombuffer(body, dtype, len(results), results.offset * dtype.itemsize)


def _from_polars(series: Any) -> pa.Array:
    if series.dtype == sys.modules["polars"].Object:  # whose arrow form is addresses
        raise TypeError
    return series.to_arrow()


def _to_polars(results: pa.Array | pa.ChunkedArray, like: Any) -> Any:
    import pyarrow as pa

    pl = sys.modules["polars"]
    column = pl.Series(like.name, results)
    if like.dtype == pl.Enum and pa.types.is_dictionary(results.type):
        return column.cast(pl.Enum(_in_one(results).dictionary.to_pylist()))
    return column
