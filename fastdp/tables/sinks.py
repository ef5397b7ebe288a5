"""Where batches go: a table in memory, or a file that appears when it is complete."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from fastdp.errors import SchemaError
from fastdp.tables.atomic import AtomicFile
from fastdp.tables.receipt import METADATA_KEY, Receipt

if TYPE_CHECKING:
    import pyarrow as pa


class Sink(Protocol):
    """Takes batches in order; nothing of them is visible until ``finish``."""

    keeps_buffers: bool

    def write(self, batch: pa.RecordBatch) -> None: ...

    def finish(self, receipt: Receipt) -> None: ...

    def discard(self) -> None: ...


class TableSink:
    """A table in memory, its receipt in its metadata."""

    keeps_buffers = True

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._batches: list[pa.RecordBatch] = []
        self.table: pa.Table | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        self._batches.append(batch)

    def finish(self, receipt: Receipt) -> None:
        import pyarrow as pa

        table = pa.Table.from_batches(self._batches, self._schema)
        self.table = table.replace_schema_metadata({METADATA_KEY: receipt.to_json()})

    def discard(self) -> None:
        self._batches.clear()


class FileSink:
    """A file with its receipt beside it; both appear when both are complete."""

    keeps_buffers = False

    def __init__(self, path: Path, open_writer: Callable[[IO[bytes]], Any], *, force: bool) -> None:
        import pyarrow as pa

        self._writer: Any = None
        self._receipt: AtomicFile | None = None
        self._output = AtomicFile(path, force=force)
        try:
            self._receipt = AtomicFile(receipt_path(path), force=force)
            self._writer = open_writer(self._output.file)
        except BaseException as error:
            self.discard()
            if isinstance(error, pa.ArrowException):
                raise SchemaError(
                    "sanitize: the output's format has no type for a column; drop or convert it"
                ) from None
            raise

    def write(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        try:
            self._writer.write_batch(batch)
        except pa.ArrowException:  # its message may hold a value
            raise SchemaError("sanitize: the output's format cannot hold the values of a column") from None

    def finish(self, receipt: Receipt) -> None:
        assert self._receipt is not None
        self._close(receipt)
        self._receipt.file.write(receipt.to_json().encode())
        for file in (self._output, self._receipt):
            file.flush()
        for file in (self._output, self._receipt):
            file.commit()

    def _close(self, receipt: Receipt) -> None:  # noqa: ARG002 - formats with a footer write it there
        self._writer.close()

    def _abandon(self) -> None:
        """Close a writer whose file goes away."""
        self._writer.close()

    def discard(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(Exception):  # the file goes away whether or not it can still be closed
                self._abandon()
        for file in (self._output, self._receipt):
            if file is not None:
                file.discard()


class ParquetSink(FileSink):
    """A Parquet file with its receipt in its metadata too.

    Statistics are those of what is written. ``plain`` columns, noised floats and packed reports, hardly ever repeat, so
    a dictionary of their values would only be built and thrown away.
    """

    def __init__(self, path: Path, schema: pa.Schema, plain: set[str], *, force: bool) -> None:
        import pyarrow.parquet as pq

        encoded = [field.name for field in schema if field.name not in plain]

        def open_writer(file: IO[bytes]) -> Any:
            return pq.ParquetWriter(file, schema, use_dictionary=encoded, write_page_checksum=True)

        super().__init__(path, open_writer, force=force)

    def _close(self, receipt: Receipt) -> None:
        self._writer.add_key_value_metadata({METADATA_KEY: receipt.to_json()})
        self._writer.close()

    def _abandon(self) -> None:
        try:
            self._writer.close()
        finally:
            self._writer.is_open = False  # else it would try again, loudly, when it is collected


def receipt_path(path: Path) -> Path:
    """Beside the output, under its name."""
    return path.with_name(path.name + ".receipt.json")
