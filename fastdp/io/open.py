"""Open whatever holds a table: an object in memory, a file of any format, a folder, standard input."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastdp.columns.tables import is_columns, read_columns
from fastdp.errors import ParameterError, SchemaError
from fastdp.io.base import STANDARD, Source, intact
from fastdp.io.byte_stream import ByteStream
from fastdp.io.compression import decompressed
from fastdp.io.csv import CsvSource, Dialect
from fastdp.io.folders import FolderSource
from fastdp.io.formats import SNIFFED, compression_of, input_kind
from fastdp.io.ipc import IpcSource, IpcStreamSource
from fastdp.io.memory import ReaderSource, TableSource
from fastdp.io.parquet import ParquetSource

if TYPE_CHECKING:
    import pyarrow as pa

Types = Mapping[str, "pa.DataType"]
"""Of columns, by their names."""


def open_source(
    owner: str,
    source: object,
    *,
    input_format: str | None = None,
    types: Callable[[], Types] = dict,
    csv: Mapping[str, Any] | None = None,
) -> Source:
    """Any supported table, reader, file or folder of Parquet files; "-" is standard input.

    The format of a file is detected from its first bytes, else from its extension; ``input_format`` names it otherwise.
    A format without types, CSV, asks ``types`` for those of its columns; others are text there. ``csv`` are the options
    of its `Dialect`. CSV and Arrow streams may be compressed (gzip, zstd). Errors, now and while it is read, name the
    ``owner`` of the operation.
    """
    if csv is not None:
        Dialect.read(owner, csv)  # refused before anything is opened, also where it would not be used
    opened = _open(owner, source, input_format, types, csv)
    with intact(owner, "the schema"):
        _ = opened.schema.names  # decoded here, where names that are no text are an error like any other
    return opened


def _open(
    owner: str, source: Any, input_format: str | None, types: Callable[[], Types], csv: Mapping[str, Any] | None
) -> Source:
    import pyarrow as pa

    if isinstance(source, str | os.PathLike):
        return _open_named(owner, os.fspath(source), input_format, types, csv)
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return TableSource(source)
    if isinstance(source, pa.RecordBatchReader):
        return ReaderSource(owner, source)
    if is_columns(source):
        return TableSource(read_columns(owner, source))
    try:
        if hasattr(type(source), "__arrow_c_stream__"):
            return ReaderSource(owner, pa.RecordBatchReader.from_stream(source))
        if hasattr(type(source), "__arrow_c_array__"):
            return TableSource(pa.Table.from_batches([pa.record_batch(source)]))
    except Exception:  # noqa: BLE001 - another library's, which may show a value
        raise SchemaError(f"{owner}: a {type(source).__name__} could not be read as an arrow stream") from None
    raise SchemaError(
        f"{owner}: cannot read a {type(source).__name__}; pass a table, a data frame, or the path of a file"
    )


def _open_named(
    owner: str, name: str, input_format: str | None, types: Callable[[], Types], csv: Mapping[str, Any] | None
) -> Source:
    path = None if name == STANDARD else Path(name)
    if path is not None and path.is_dir():
        return FolderSource(owner, path)
    stream = ByteStream.standard_input() if path is None else ByteStream.of_path(path)
    if path is not None and not path.is_file():  # a pipe can be read once, and has no place to jump to
        path = None
    with intact(owner, stream.name):
        start = stream.peek(SNIFFED)
        compression = compression_of(start)
        if compression is not None:
            stream = decompressed(owner, stream, compression)
            start = stream.peek(SNIFFED)
    kind = input_kind(owner, start, path, input_format)
    if compression is not None and kind == "parquet":
        raise ParameterError(f"{owner}: {stream.name} is compressed Parquet, which is read in no order; decompress it")
    if kind == "csv":
        return CsvSource(owner, stream, path, types(), csv)
    if kind == "arrows" or (kind == "arrow" and (path is None or compression is not None)):
        return IpcStreamSource(owner, stream, path, in_file=kind == "arrow")
    if path is None:
        raise ParameterError(f"{owner}: Parquet cannot be read from a pipe or standard input; name a file")
    stream.close()
    return IpcSource(owner, path) if kind == "arrow" else ParquetSource(owner, path)
