"""Arrow IPC files (Feather version 2), in and out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastdp.tables.receipt import METADATA_KEY, Receipt
from fastdp.tables.sinks import FileSink
from fastdp.tables.sources import intact, suitable_rows

if TYPE_CHECKING:
    import pyarrow as pa


class IpcSource:
    """An Arrow file; one of its own batches is in memory at a time."""

    rows: int | None = None

    def __init__(self, path: Path) -> None:
        self.path: Path | None = path
        self._path, self._name = path, repr(str(path))
        with intact(self._name):
            self.schema: pa.Schema = self._open().schema

    def _open(self, **options: Any) -> Any:
        import pyarrow as pa

        return pa.ipc.open_file(pa.OSFile(str(self._path)), options=pa.ipc.IpcReadOptions(**options))

    def batches(self, columns: list[str], rows: int | None, encoded: list[str]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        rows = rows or suitable_rows(self.schema)
        with intact(self._name):
            reader = self._open(included_fields=[self.schema.get_field_index(name) for name in columns])
            count = reader.num_record_batches
        for index in range(count):
            with intact(self._name):
                batch = reader.get_batch(index).select(columns)
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


class IpcSink(FileSink):
    """An Arrow file; the receipt inside it cannot know the number of rows, the one beside it does."""

    keeps_buffers = True

    def __init__(self, path: Path, schema: pa.Schema, receipt: Receipt, *, force: bool) -> None:
        import pyarrow as pa

        text = replace(receipt, rows=None).to_json()
        self._schema = schema.with_metadata({METADATA_KEY: text})
        super().__init__(path, lambda file: pa.ipc.new_file(file, self._schema), force=force)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch.replace_schema_metadata(self._schema.metadata))

    def _abandon(self) -> None:
        self._writer.close()
