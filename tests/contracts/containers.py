"""Every container of another library, listed once; the contract tests run over this list."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest


@dataclass(frozen=True)
class Container:
    """How an arrow array gets into a container, and what its results are."""

    name: str
    wrap: Callable[[pa.Array], Any]
    gives: Callable[[Any, Any], bool] = lambda results, _given: isinstance(results, pa.ChunkedArray)
    """Whether results are of the kind that belongs to what was given."""
    library: str | None = None
    takes_nulls: bool = True
    takes_reports: bool = True
    """Holds binaries, lists and structs as well as numbers."""
    once: bool = False
    """Can be read once, and so can its results."""

    def __str__(self) -> str:
        return self.name


class OnlyArray:
    """An object that offers one array and nothing else."""

    def __init__(self, array: pa.Array) -> None:
        self._array = array

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self._array.__arrow_c_array__(requested_schema)


class OnlyStream:
    """An object that offers a stream and nothing else."""

    def __init__(self, array: pa.ChunkedArray) -> None:
        self._array = array

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._array.__arrow_c_stream__(requested_schema)


def _numpy_series(values: pa.Array) -> Any:
    import pandas as pd

    plain = values.to_numpy(zero_copy_only=False)
    return pd.Series(plain, name="answers", index=pd.RangeIndex(5, 5 + len(values)))


def _column_of_many(values: pa.Array) -> Any:
    """A Series whose numbers do not lie next to each other."""
    import pandas as pd

    plain = values.to_numpy(zero_copy_only=False)
    return pd.DataFrame(np.stack([plain, plain[::-1]], axis=1), columns=["answers", "other"])["answers"]


def _nullable(values: pa.Array) -> Any:
    import pandas as pd

    from fastdp.columns.containers import NULLABLE

    name = "string" if pa.types.is_string(values.type) else NULLABLE[str(values.type)]
    return pd.Series(pd.api.types.pandas_dtype(name).__from_arrow__(values), name="answers")


def _arrow_series(values: pa.Array) -> Any:
    import pandas as pd

    half = len(values) // 2
    chunks = pa.chunked_array([values[:half], values[half:]])
    index = pd.Index([f"row {i}" for i in range(len(values))])
    return pd.Series(pd.arrays.ArrowExtensionArray(chunks), name="answers", index=index)


def _sliced_series(values: pa.Array) -> Any:
    return _arrow_series(pa.concat_arrays([values[:3], values]))[3:]


def _polars(values: pa.Array) -> Any:
    import polars as pl

    return pl.Series("answers", values)


def _polars_chunks(values: pa.Array) -> Any:
    import polars as pl

    whole = _polars(pa.concat_arrays([values[:3], values]))[3:]
    return pl.concat([whole[:5], whole[5:]], rechunk=False)


def _is_series(results: Any, given: Any) -> bool:
    return type(results) is type(given) and results.name == given.name


def _is_pandas(results: Any, given: Any) -> bool:
    return _is_series(results, given) and results.index.equals(given.index)


def _is_array(results: Any, _given: Any) -> bool:
    return isinstance(results, pa.Array)


def _nanoarrow(values: pa.Array) -> Any:
    import nanoarrow

    return nanoarrow.Array(values)


def _nanoarrow_stream(values: pa.Array) -> Any:
    import nanoarrow

    return nanoarrow.ArrayStream(pa.chunked_array([values[:4], values[4:]]))


def _arro3(values: pa.Array) -> Any:
    import arro3.core

    return arro3.core.Array.from_arrow(values)


def _arro3_chunks(values: pa.Array) -> Any:
    import arro3.core

    return arro3.core.ChunkedArray.from_arrow(pa.chunked_array([values[:4], values[4:]]))


def _duckdb(values: pa.Array) -> Any:
    import duckdb

    return duckdb.from_arrow(pa.table({"answers": values}))


def _datafusion(values: pa.Array) -> Any:
    import datafusion

    return datafusion.SessionContext().from_arrow(pa.table({"answers": values}))


def _nanoarrow_table(values: pa.Array) -> Any:
    import nanoarrow

    return nanoarrow.Array(pa.table({"answers": values}))


def _same_schema(results: Any, given: Any) -> bool:
    return type(results) is type(given) and results.schema().names == ["answers"]


def _same_type(results: Any, given: Any) -> bool:
    return type(results) is type(given)


def _same_column(results: Any, given: Any) -> bool:
    return type(results) is type(given) and pa.schema(results.schema).names == ["answers"]


def _same_frame(results: Any, given: Any) -> bool:
    return type(results) is type(given) and list(results.columns) == ["answers"]


def _pandas_frame(values: pa.Array) -> Any:
    return _arrow_series(values).to_frame()


def _polars_frame(values: pa.Array) -> Any:
    return _polars(values).to_frame()


def _arro3_table(values: pa.Array) -> Any:
    import arro3.core

    return arro3.core.Table.from_arrow(pa.table({"answers": values}))


def _arro3_batch(values: pa.Array) -> Any:
    import arro3.core

    return arro3.core.RecordBatch.from_arrow(pa.record_batch({"answers": values}))


def _arro3_reader(values: pa.Array) -> Any:
    import arro3.core

    return arro3.core.RecordBatchReader.from_arrow(pa.table({"answers": values}).to_reader(7))


CONTAINERS = [
    Container("pandas", _numpy_series, _is_pandas, "pandas", takes_nulls=False, takes_reports=False),
    Container("pandas-strided", _column_of_many, _is_pandas, "pandas", takes_nulls=False, takes_reports=False),
    Container("pandas-nullable", _nullable, _is_pandas, "pandas", takes_reports=False),
    Container("pandas-arrow", _arrow_series, _is_pandas, "pandas"),
    Container("pandas-sliced", _sliced_series, _is_pandas, "pandas"),
    Container("polars", _polars, _is_series, "polars"),
    Container("polars-chunked", _polars_chunks, _is_series, "polars"),
    Container("pandas-frame", _pandas_frame, _same_frame, "pandas"),
    Container("polars-frame", _polars_frame, _same_frame, "polars"),
    Container("nanoarrow", _nanoarrow, _same_type, "nanoarrow"),
    Container("nanoarrow-stream", _nanoarrow_stream, _same_type, "nanoarrow", once=True),
    Container("arro3", _arro3, _same_type, "arro3.core"),
    Container("arro3-chunked", _arro3_chunks, _same_type, "arro3.core"),
    Container("arro3-table", _arro3_table, _same_column, "arro3.core"),
    Container("arro3-batch", _arro3_batch, _same_column, "arro3.core"),
    Container("arro3-reader", _arro3_reader, _same_column, "arro3.core", once=True),
    Container("nanoarrow-table", _nanoarrow_table, _same_type, "nanoarrow"),
    Container("duckdb", _duckdb, _same_frame, "duckdb"),
    Container("datafusion", _datafusion, _same_schema, "datafusion"),
    Container("c-array", OnlyArray, _is_array),
    Container("c-stream", lambda values: OnlyStream(pa.chunked_array([values[:0], values[:9], values[9:]]))),
    Container("table", lambda values: pa.table({"answers": values}), _same_column),
    Container("batch", lambda values: pa.record_batch({"answers": values}), _same_column),
    Container("reader", lambda values: pa.table({"answers": values}).to_reader(7), _same_column, once=True),
]


def _is_installed(library: str | None) -> bool:
    try:
        return library is None or importlib.util.find_spec(library) is not None
    except ModuleNotFoundError:  # the package that it is part of
        return False


def each_container(containers: list[Container]) -> Any:
    """Parametrised over containers, those of libraries that are not installed skipped."""
    return pytest.mark.parametrize(
        "container",
        [
            pytest.param(
                container,
                id=container.name,
                marks=pytest.mark.skipif(
                    not _is_installed(container.library),
                    reason=f"{container.library} is not installed",
                ),
            )
            for container in containers
        ],
    )


@contextlib.contextmanager
def about(name: str) -> Iterator[None]:
    """Name the case of a loop in the report of a failure."""
    try:
        yield
    except BaseException as error:  # pytest's own failures are no exceptions
        error.add_note(f"with {name}")
        raise


def to_arrow(results: Any) -> pa.Array:
    """Results of any container as one arrow array; a reader or stream is empty then."""
    library = type(results).__module__.partition(".")[0]
    if library in {"pandas", "polars"} and type(results).__name__ == "DataFrame":
        results = results["answers"]
    elif library in {"arro3", "nanoarrow", "duckdb", "_duckdb", "datafusion"} or isinstance(
        results, pa.Table | pa.RecordBatch | pa.RecordBatchReader
    ):
        is_stream = hasattr(type(results), "__arrow_c_stream__")
        results = pa.chunked_array(results) if is_stream else pa.array(results)
        if (
            pa.types.is_struct(results.type)
            and results.type.num_fields == 1
            and results.type.field(0).name == "answers"
        ):
            (results,) = results.flatten()
    if isinstance(results, pa.Array):
        return results
    if isinstance(results, pa.ChunkedArray):
        return results.combine_chunks()
    if hasattr(results, "to_arrow"):  # polars
        return results.to_arrow()
    array = results.array
    array = array.__arrow_array__() if hasattr(array, "__arrow_array__") else pa.array(array)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
