"""Where batches go: a table in memory, a file that appears when it is complete, or standard output."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fastdp.errors import SchemaError
from fastdp.tables.atomic import AtomicFile
from fastdp.tables.receipt import METADATA_KEY, Receipt

if TYPE_CHECKING:
    import pyarrow as pa


ARROW_SCHEMA = "ARROW:schema"
"""Where Arrow's Parquet readers look for the types of columns."""


class Sink(Protocol):
    """Takes batches in order; nothing of them is visible until ``finish``, unless it is a stream."""

    keeps_buffers: bool

    def write(self, batch: pa.RecordBatch) -> None: ...

    def finish(self, receipt: Receipt) -> None: ...

    def discard(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Target:
    """Where output and receipt go; no path is standard output, no receipt none but what the format itself holds."""

    path: Path | None
    receipt: Path | None
    force: bool = False

    def files(self) -> list[Path]:
        """What will be written."""
        return [path for path in (self.path, self.receipt) if path is not None]


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


@contextlib.contextmanager
def writable() -> Any:
    """Arrow's errors as ours, for its messages may hold a value."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowException:
        raise SchemaError("sanitize: the output's format cannot hold a column; drop or convert it") from None


class FileSink:
    """A file with its receipt beside it; both appear when both are complete."""

    keeps_buffers = False

    def __init__(self, target: Target, open_writer: Callable[[Any], Any]) -> None:
        assert target.path is not None
        self._writer: Any = None
        self._files: list[AtomicFile] = []
        try:
            for path in target.files():
                self._files.append(AtomicFile(path, force=target.force))  # one by one: what is open is discarded
            with writable():
                self._writer = open_writer(self._files[0].file)
        except BaseException:
            self.discard()
            raise

    def write(self, batch: pa.RecordBatch) -> None:
        with writable():
            self._writer.write_batch(batch)

    def finish(self, receipt: Receipt) -> None:
        self._close(receipt)
        for file in self._files[1:]:
            file.file.write(receipt.to_json().encode())
        for file in self._files:
            file.flush()
        for file in self._files:
            file.commit()
        for file in self._files:
            file.settle()

    def _close(self, receipt: Receipt) -> None:  # noqa: ARG002 - formats with a footer write it there
        self._writer.close()

    def _abandon(self) -> None:
        """Close a writer whose file goes away."""
        self._writer.close()

    def discard(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(Exception):  # the file goes away whether or not it can still be closed
                self._abandon()
        for file in self._files:
            file.discard()


class ParquetSink(FileSink):
    """A Parquet file with its receipt in its metadata too.

    Statistics are those of what is written. ``plain`` columns, noised floats and packed reports, hardly ever repeat, so
    a dictionary of their values would only be built and thrown away.
    """

    def __init__(self, target: Target, schema: pa.Schema, plain: set[str], stated: pa.Schema | None = None) -> None:
        """``stated`` are the types that readers will see, where text is written from dictionaries."""
        self._stated = stated
        super().__init__(target, lambda file: open_parquet(file, schema, plain, store_schema=stated is None))

    def _close(self, receipt: Receipt) -> None:
        metadata = {METADATA_KEY: receipt.to_json()}
        if self._stated is not None:
            metadata[ARROW_SCHEMA] = base64.b64encode(self._stated.serialize().to_pybytes()).decode()
        self._writer.add_key_value_metadata(metadata)
        self._writer.close()

    def _abandon(self) -> None:
        abandon_parquet(self._writer)


def open_parquet(file: Any, schema: pa.Schema, plain: set[str], *, store_schema: bool = True) -> Any:
    """A writer with checksums, and without dictionaries for ``plain`` columns."""
    import pyarrow.parquet as pq

    encoded = [field.name for field in schema if field.name not in plain]
    return pq.ParquetWriter(file, schema, use_dictionary=encoded, write_page_checksum=True, store_schema=store_schema)


def abandon_parquet(writer: Any) -> None:
    """Close a writer whose file goes away."""
    try:
        writer.close()
    finally:
        writer.is_open = False  # else it would try again, loudly, when it is collected


class StreamSink:
    """Standard output, with a receipt where its target names one.

    What was written cannot be taken back: on an error the stream just ends, without the end marker where its format has
    one, and no receipt appears.
    """

    keeps_buffers = False

    def __init__(self, target: Target, file: Any, open_writer: Callable[[], Any]) -> None:
        self._file = file
        self._receipt = None if target.receipt is None else AtomicFile(target.receipt, force=target.force)
        try:
            with writable():
                self._writer = open_writer()
        except BaseException:
            self.discard()
            raise

    def write(self, batch: pa.RecordBatch) -> None:
        with writable():
            self._writer.write_batch(batch)

    def finish(self, receipt: Receipt) -> None:
        self._writer.close()
        self._file.flush()
        if self._receipt is not None:
            self._receipt.file.write(receipt.to_json().encode())
            self._receipt.flush()
            self._receipt.commit()
            self._receipt.settle()

    def discard(self) -> None:
        if self._receipt is not None:
            self._receipt.discard()


def receipt_path(path: Path) -> Path:
    """Beside the output, under its name."""
    return path.with_name(path.name + ".receipt.json")
