"""Where batches go: a table in memory, a Parquet file that appears when it is complete."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

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


class ParquetSink:
    """A Parquet file with its receipt beside it and inside it.

    Statistics are those of what is written. ``plain`` columns, noised floats and packed reports, hardly ever repeat, so
    a dictionary of their values would only be built and thrown away.
    """

    keeps_buffers = False

    def __init__(self, path: Path, schema: pa.Schema, plain: set[str], *, force: bool) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._receipt: AtomicFile | None = None
        self._writer: Any = None
        self._output = AtomicFile(path, force=force)
        try:
            self._receipt = AtomicFile(receipt_path(path), force=force)
            self._writer = pq.ParquetWriter(
                self._output.file,
                schema,
                use_dictionary=[field.name for field in schema if field.name not in plain],
                write_page_checksum=True,
            )
        except BaseException as error:
            self.discard()
            if isinstance(error, pa.ArrowException):
                raise SchemaError(
                    "sanitize: Parquet has no type for a column that is kept; drop or convert it"
                ) from None
            raise

    def write(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        try:
            self._writer.write_batch(batch)
        except pa.ArrowException:  # its message may hold a value
            raise SchemaError("sanitize: Parquet cannot hold the values of a column that is kept") from None

    def finish(self, receipt: Receipt) -> None:
        assert self._receipt is not None
        text = receipt.to_json()
        self._writer.add_key_value_metadata({METADATA_KEY: text})
        self._writer.close()
        self._receipt.file.write(text.encode())
        for file in (self._output, self._receipt):
            file.flush()
        for file in (self._output, self._receipt):
            file.commit()

    def discard(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(Exception):  # the file goes away whether or not it can still be closed
                self._writer.close()
            self._writer.is_open = False  # else it would try again, loudly, when it is collected
        for file in (self._output, self._receipt):
            if file is not None:
                file.discard()


def receipt_path(path: Path) -> Path:
    """Beside the output, under its name."""
    return path.with_name(path.name + ".receipt.json")
