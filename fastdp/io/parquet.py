"""Parquet files, in and out."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from fastdp.errors import InputCorruptError
from fastdp.io.base import intact, suitable_rows
from fastdp.io.sinks import FileSink, Target
from fastdp.io.stamps import METADATA_KEY

if TYPE_CHECKING:
    from io import BufferedWriter

    import pyarrow as pa
    import pyarrow.parquet as pq

READ_AHEAD = 1 << 20
"""Bytes of a column that are read from a file at once, so that a row group of any size stays on the disk."""
ARROW_SCHEMA = "ARROW:schema"
"""Where Arrow's Parquet readers look for the types of columns."""


class ParquetSource:
    """A Parquet file, of which only a few pages are in memory at a time."""

    def __init__(self, owner: str, path: Path) -> None:
        self._owner, self._path = owner, path
        self.path: Path | None = path
        self._name = repr(str(path))
        with intact(self._owner, self._name):
            self._file = self._open(path)
            self.schema: pa.Schema = self._file.schema_arrow
        self.rows: int = int(self._file.metadata.num_rows)
        self.places: list[tuple[tuple[int, int], int]] = []
        self._stored = 0
        for number in range(self._file.metadata.num_row_groups):
            group = self._file.metadata.row_group(number)
            self.places.append(((0, number), group.num_rows))
            self._stored += group.total_byte_size

    def _open(self, path: Path, **options: Any) -> pq.ParquetFile:
        import pyarrow.parquet as pq

        return pq.ParquetFile(
            path, pre_buffer=False, buffer_size=READ_AHEAD, page_checksum_verification=True,
            arrow_extensions_enabled=False, **options,
        )  # fmt: skip

    def batches(self, columns: list[str], rows: int | None, encoded: list[str]) -> Iterator[pa.RecordBatch]:
        """Text in dictionaries is half the work to read, and its labels are looked up once per dictionary."""
        rows = rows or suitable_rows(self.schema, self._stored / max(1, self.rows))
        seen = 0
        with intact(self._owner, self._name):
            file = self._open(self._path, metadata=self._file.metadata, read_dictionary=encoded)
            for batch in file.iter_batches(batch_size=rows, columns=columns):
                seen += batch.num_rows
                yield batch.select(columns)
        if seen != self.rows:
            raise InputCorruptError(f"{self._owner}: {self._name} contradicts its own format")


class ParquetSink(FileSink):
    """A Parquet file with its receipt in its metadata too.

    Statistics are those of what is written. ``plain`` columns, noised floats and packed reports, hardly ever repeat, so
    a dictionary of their values would only be built and thrown away.
    """

    def __init__(self, target: Target, schema: pa.Schema, plain: set[str], stated: pa.Schema | None = None) -> None:
        """``stated`` are the types that readers will see, where text is written from dictionaries."""
        self._stated = stated
        super().__init__(target, partial(open_parquet, schema=schema, plain=plain, store_schema=stated is None))

    def _close(self, receipt: str) -> None:
        metadata = {METADATA_KEY: receipt}
        if self._stated is not None:
            metadata[ARROW_SCHEMA] = base64.b64encode(self._stated.serialize().to_pybytes()).decode()
        self._writer.add_key_value_metadata(metadata)
        self._writer.close()

    def _abandon(self) -> None:
        abandon_parquet(self._writer)


def open_parquet(
    file: BinaryIO | BufferedWriter, schema: pa.Schema, plain: set[str], *, store_schema: bool = True
) -> Any:
    """A writer with checksums, and without dictionaries for ``plain`` columns."""
    import pyarrow.parquet as pq

    encoded = [field.name for field in schema if field.name not in plain]
    return pq.ParquetWriter(file, schema, use_dictionary=encoded, write_page_checksum=True, store_schema=store_schema)


def abandon_parquet(writer: pq.ParquetWriter) -> None:
    """Close a writer whose file goes away."""
    try:
        writer.close()
    finally:
        writer.is_open = False  # else it would try again, loudly, when it is collected
