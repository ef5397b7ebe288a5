"""Arrow's own format: files (Feather version 2) and streams, in and out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastdp.errors import InputCorruptError
from fastdp.io.base import intact, suitable_rows
from fastdp.io.byte_stream import ByteStream, standard_output
from fastdp.io.sinks import FileSink, StreamSink, Target, writable
from fastdp.io.stamps import METADATA_KEY, Stamp

if TYPE_CHECKING:
    import pyarrow as pa

END = b"\xff\xff\xff\xff\0\0\0\0"
"""What a stream that is complete ends with."""
FILE_START = 8
"""Bytes of an Arrow file before the stream inside it."""


class IpcSource:
    """An Arrow file; one of its own batches is in memory at a time."""

    rows: int | None = None

    def __init__(self, owner: str, path: Path) -> None:
        self.path: Path | None = path
        self._owner, self._path, self._name = owner, path, repr(str(path))
        self.part: float | None = None
        with intact(self._owner, self._name):
            self.schema: pa.Schema = self._open().schema

    def _open(self, **options: Any) -> Any:
        import pyarrow as pa

        return pa.ipc.open_file(pa.OSFile(str(self._path)), options=pa.ipc.IpcReadOptions(**options))

    def batches(self, columns: list[str], rows: int | None, encoded: list[str]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        rows = rows or suitable_rows(self.schema)
        with intact(self._owner, self._name):
            reader = self._open(included_fields=[self.schema.get_field_index(name) for name in columns])
            count = reader.num_record_batches
        for index in range(count):
            with intact(self._owner, self._name):
                batch = reader.get_batch(index).select(columns)
            for start in range(0, batch.num_rows, rows):
                self.part = (index + min(1.0, (start + rows) / batch.num_rows)) / count
                yield batch.slice(start, rows)


class IpcStreamSource:
    """An Arrow stream; one of its own batches is in memory at a time, and its end must be marked as such."""

    rows: int | None = None

    def __init__(self, owner: str, stream: ByteStream, path: Path | None, *, in_file: bool = False) -> None:
        import pyarrow as pa

        self.path = path
        self._owner, self._stream = owner, stream
        if in_file:  # from a pipe, an Arrow file is the stream that it holds
            stream.read(FILE_START)
        with intact(owner, stream.name):
            self._reader = pa.ipc.open_stream(pa.PythonFile(stream, mode="r"))
            self.schema: pa.Schema = self._reader.schema

    @property
    def part(self) -> float | None:
        return self._stream.part

    def cancel(self) -> None:
        self._stream.cancel()

    def batches(self, columns: list[str], rows: int | None, encoded: list[str]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        rows = rows or suitable_rows(self.schema)
        while True:
            with intact(self._owner, self._stream.name):
                try:
                    batch = self._reader.read_next_batch().select(columns)
                except StopIteration:
                    break
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)
        if self._stream.tail != END:
            raise InputCorruptError(
                f"{self._owner}: {self._stream.name} ends without its end marker: its writer did not finish it"
            )


def _schema_with(schema: pa.Schema, receipt: Stamp) -> pa.Schema:
    """The receipt inside stands before the rows, so it cannot know how many there are."""
    return schema.with_metadata({METADATA_KEY: receipt.with_rows(None).to_json()})


class IpcSink(FileSink):
    """An Arrow file or stream; the receipt inside it cannot know the number of rows, the one beside it does."""

    keeps_buffers = True

    def __init__(self, target: Target, schema: pa.Schema, receipt: Stamp, *, stream: bool) -> None:
        import pyarrow as pa

        self._schema = _schema_with(schema, receipt)
        open_writer = pa.ipc.new_stream if stream else pa.ipc.new_file
        super().__init__(target, lambda file: open_writer(file, self._schema))

    def write(self, batch: pa.RecordBatch | pa.Table) -> None:
        with writable(self._owner):
            self._writer.write(batch.replace_schema_metadata(self._schema.metadata))


class IpcStreamSink(StreamSink):
    """An Arrow stream on standard output; unless all went well it has no end marker."""

    keeps_buffers = True

    def __init__(self, target: Target, schema: pa.Schema, receipt: Stamp) -> None:
        import pyarrow as pa

        self._schema = _schema_with(schema, receipt)
        file = standard_output(target.owner, "arrows")
        super().__init__(target, file, lambda hashed: pa.ipc.new_stream(hashed, self._schema))

    def write(self, batch: pa.RecordBatch | pa.Table) -> None:
        with writable(self._owner):
            self._writer.write(batch.replace_schema_metadata(self._schema.metadata))
