"""Tables and streams of batches in memory, in and out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fastdp.io.base import intact, suitable_rows
from fastdp.io.stamps import METADATA_KEY, Stamp

if TYPE_CHECKING:
    import pyarrow as pa


class TableSource:
    """A table in memory."""

    def __init__(self, table: pa.Table, path: Path | None = None) -> None:
        self.table, self.path = table, path
        self.schema: pa.Schema = table.schema
        self.rows = int(table.num_rows)

    def batches(self, columns: list[str], rows: int | None, encoded: list[str]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        table = self.table.select(columns)
        return iter(table.to_batches(max_chunksize=rows or suitable_rows(table.schema)))


@dataclass(frozen=True, slots=True)
class ReaderSource:
    """A stream of batches; each is cut to the size that is asked for."""

    owner: str
    reader: pa.RecordBatchReader
    rows: int | None = None
    path: Path | None = None

    @property
    def schema(self) -> pa.Schema:
        return self.reader.schema

    def batches(self, columns: list[str], rows: int | None, encoded: list[str]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        rows = rows or suitable_rows(self.schema)
        while True:
            with intact(self.owner, "the stream"):
                try:
                    batch = self.reader.read_next_batch()
                except StopIteration:
                    return
            batch = batch.select(columns)
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


class TableSink:
    """A table in memory, its receipt in its metadata."""

    keeps_buffers = True

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._batches: list[pa.RecordBatch] = []
        self.table: pa.Table | None = None

    def write(self, batch: pa.RecordBatch | pa.Table) -> None:
        import pyarrow as pa

        self._batches += batch.to_batches() if isinstance(batch, pa.Table) else [batch]

    def finish(self, receipt: Stamp) -> Stamp:
        import pyarrow as pa

        table = pa.Table.from_batches(self._batches, self._schema)
        self.table = table.replace_schema_metadata({METADATA_KEY: receipt.to_json()})
        return receipt

    def discard(self) -> None:
        self._batches.clear()
