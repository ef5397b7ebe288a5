"""The data of one answer: a table and the name of a column, or a column and that of its persons."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from fastdp.columns.containers import is_of
from fastdp.columns.tables import read_columns
from fastdp.errors import ParameterError

VALUE, PERSON = "value", "person"


def read_data(
    owner: str, data: object, column: str | None, person: object, *, needs_column: bool = True
) -> tuple[Any, str, str | None]:
    """The data as a table, and the names of its column and of its persons."""
    about = f"release.{owner}"
    if _is_table(data):
        if person is not None and not isinstance(person, str):
            raise ParameterError(f"{about}: person must be the name of a column of the table")
        if column is None and needs_column:
            raise ParameterError(f"{about}: which column of the table? column=...")
        return data, column or "", person
    columns = {VALUE: data if not isinstance(data, range) else np.arange(data.start, data.stop, data.step)}
    if isinstance(person, str):
        raise ParameterError(f"{about}: the data are one column; pass the column of persons itself")
    if person is not None:
        columns[PERSON] = person
    return read_columns(about, columns), VALUE, None if person is None else PERSON


def _is_table(data: Any) -> bool:
    if isinstance(data, str | os.PathLike | Mapping):
        return True
    if isinstance(data, np.ndarray):
        return data.dtype.names is not None
    if is_of(data, "pandas", ("Series",)) or is_of(data, "polars", ("Series",)):
        return False
    if is_of(data, "pyarrow", ("Table", "RecordBatch", "RecordBatchReader")):
        return True
    return hasattr(data, "columns") or (
        hasattr(type(data), "__arrow_c_stream__") and not is_of(data, "pyarrow", ("ChunkedArray",))
    )
