"""Where batches come from: tables and streams in memory, Parquet files; other formats in their own modules."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from fastdp.columns.frames import is_columns, read_columns
from fastdp.errors import InputCorruptError, ParameterError, SchemaError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

BATCH_BYTES = 16 << 20
"""Bytes that a batch aims at; a few of them are in flight at once."""
LEAST_ROWS, MOST_ROWS = 1 << 10, 1 << 20
STANDARD = "-"
"""The name of standard input and standard output."""
Progress = Callable[[int, int | None], None]
"""``progress(rows done, rows in all)``, after every batch; the second is an estimate where no one knows it yet."""
READ_AHEAD = 1 << 20
"""Bytes of a column that are read from a file at once, so that a row group of any size stays on the disk."""


class Source(Protocol):
    """A table that is read once, batch by batch."""

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known."""

    @property
    def path(self) -> Path | None: ...

    def batches(self, columns: list[str], rows: int | None, encoded: list[str]) -> Iterator[pa.RecordBatch]:
        """All rows of these columns, at most ``rows`` at once; text that is ``encoded`` may come in dictionaries."""


@runtime_checkable
class Cancellable(Protocol):
    """A source that may wait for bytes that never come."""

    def cancel(self) -> None:
        """Let no read wait any longer, on any thread."""


@runtime_checkable
class Measured(Protocol):
    """A source that knows how much of it has been read."""

    @property
    def part(self) -> float | None:
        """The share of its bytes or batches; None where nobody knows how many there are."""


def expected_rows(source: Source, seen: int) -> int | None:
    """How many rows a source has, or as many as it would have if the rest were like what was ``seen``."""
    part = source.part if source.rows is None and isinstance(source, Measured) else None
    return round(seen / part) if part else source.rows


def open_source(
    source: Any, *, input_format: str | None = None, types: Mapping[str, pa.DataType] | None = None
) -> Source:
    """Any supported table, reader, file or folder of Parquet files; "-" is standard input.

    The format of a file is told by its first bytes, else by its ending; ``input_format`` says it where neither does.
    ``types`` are those of columns that a format without types, CSV, does not state; others are text there.
    """
    opened = _open(source, input_format, types or {})
    with intact("the schema"):
        _ = opened.schema.names  # decoded here, where names that are no text are an error like any other
    return opened


def _open(source: Any, input_format: str | None, types: Mapping[str, pa.DataType]) -> Source:
    import pyarrow as pa

    if isinstance(source, str | os.PathLike):
        return _open_named(os.fspath(source), input_format, types)
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return TableSource(source)
    if isinstance(source, pa.RecordBatchReader):
        return ReaderSource(source)
    if is_columns(source):
        return TableSource(read_columns("sanitize", source))
    try:
        if hasattr(type(source), "__arrow_c_stream__"):
            return ReaderSource(pa.RecordBatchReader.from_stream(source))
        if hasattr(type(source), "__arrow_c_array__"):
            return TableSource(pa.Table.from_batches([pa.record_batch(source)]))
    except Exception:  # noqa: BLE001 - another library's, which may show a value
        raise SchemaError(f"sanitize: a {type(source).__name__} could not be read as an arrow stream") from None
    raise SchemaError(
        f"sanitize: cannot read a {type(source).__name__}; pass a table, a data frame, or the path of a file"
    )


def _open_named(name: str, input_format: str | None, types: Mapping[str, pa.DataType]) -> Source:
    from fastdp.tables.csv_files import CsvSource
    from fastdp.tables.folders import FolderSource
    from fastdp.tables.formats import SNIFFED, input_kind
    from fastdp.tables.ipc import IpcSource, IpcStreamSource
    from fastdp.tables.streams import ByteStream

    path = None if name == STANDARD else Path(name)
    if path is not None and path.is_dir():
        return FolderSource(path)
    stream = ByteStream.standard_input() if path is None else ByteStream.of_path(path)
    if path is not None and not path.is_file():  # a pipe can be read once, and has no place to jump to
        path = None
    with intact(stream.name):
        start = stream.peek(SNIFFED)
    kind = input_kind(start, path, input_format)
    if kind == "csv":
        return CsvSource(stream, path, types)
    if kind == "arrows" or (kind == "arrow" and path is None):
        return IpcStreamSource(stream, path, in_file=kind == "arrow")
    if path is None:
        raise ParameterError("sanitize: Parquet cannot be read from a pipe or standard input; name a file")
    stream.close()
    return IpcSource(path) if kind == "arrow" else ParquetSource(path)


def suitable_rows(schema: pa.Schema, bytes_per_row: float = 0.0) -> int:
    """Rows of a batch of about BATCH_BYTES."""
    width = max(bytes_per_row, sum(_width(field.type) for field in schema), 1.0)
    return int(min(max(BATCH_BYTES // width, LEAST_ROWS), MOST_ROWS))


def _width(kind: pa.DataType) -> float:
    try:
        return float(kind.bit_width) / 8
    except ValueError:  # text, lists
        return 16.0


@contextmanager
def intact(what: str) -> Iterator[None]:
    """Arrow's errors as ours, without the values that they print."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, f"cannot read {what}: {os.strerror(error.errno)}") from None
        raise InputCorruptError(f"sanitize: {what} contradicts its own format") from None


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table in memory."""

    table: pa.Table
    path: Path | None = None

    @property
    def schema(self) -> pa.Schema:
        return self.table.schema

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    def batches(self, columns: list[str], rows: int | None, encoded: list[str]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        table = self.table.select(columns)
        return iter(table.to_batches(max_chunksize=rows or suitable_rows(table.schema)))


@dataclass(frozen=True, slots=True)
class ReaderSource:
    """A stream of batches; each is cut to the size that is asked for."""

    reader: pa.RecordBatchReader
    rows: int | None = None
    path: Path | None = None

    @property
    def schema(self) -> pa.Schema:
        return self.reader.schema

    def batches(self, columns: list[str], rows: int | None, encoded: list[str]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        rows = rows or suitable_rows(self.schema)
        while True:
            with intact("the stream"):
                try:
                    batch = self.reader.read_next_batch()
                except StopIteration:
                    return
            batch = batch.select(columns)
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


class ParquetSource:
    """A Parquet file, of which only a few pages are in memory at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.path: Path | None = path
        self._name = repr(str(path))
        self._file = self._open(path)
        with intact(self._name):
            self.schema: pa.Schema = self._file.schema_arrow

    def _open(self, path: Path, **options: Any) -> pq.ParquetFile:
        import pyarrow.parquet as pq

        with intact(self._name):
            return pq.ParquetFile(
                path, pre_buffer=False, buffer_size=READ_AHEAD, page_checksum_verification=True,
                arrow_extensions_enabled=False, **options,
            )  # fmt: skip

    @property
    def rows(self) -> int:
        return int(self._file.metadata.num_rows)

    def batches(self, columns: list[str], rows: int | None, encoded: list[str]) -> Iterator[pa.RecordBatch]:
        """Text in dictionaries is half the work to read, and its labels are looked up once per dictionary."""
        metadata = self._file.metadata
        stored = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
        rows = rows or suitable_rows(self.schema, stored / max(1, metadata.num_rows))
        seen = 0
        with intact(self._name):
            file = self._open(self._path, metadata=metadata, read_dictionary=encoded)
            stream = file.iter_batches(batch_size=rows, columns=columns)
        while True:
            with intact(self._name):
                try:
                    batch: pa.RecordBatch = next(stream)
                except StopIteration:
                    break
            seen += batch.num_rows
            yield batch.select(columns)
        if seen != self.rows:
            raise InputCorruptError(f"sanitize: {self._name} contradicts its own format")
