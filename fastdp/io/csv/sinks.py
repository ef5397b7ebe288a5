"""Batches as rows of text, in a file or on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.errors import SchemaError
from fastdp.io.byte_stream import standard_output
from fastdp.io.compression import BorrowedFile, Compressed
from fastdp.io.csv.dialect import Dialect
from fastdp.io.csv.encodings import EncodedFile
from fastdp.io.formats import Compression
from fastdp.io.sinks import FileSink, StreamSink, Target

if TYPE_CHECKING:
    import pyarrow as pa

PLAIN = Dialect()
ROWS_AT_ONCE = 1 << 14
"""Rows that the writer turns into text at once."""


class CsvSink(FileSink):
    """A CSV file; its receipt is beside it only."""

    def __init__(
        self, target: Target, schema: pa.Schema, dialect: Dialect = PLAIN, compression: Compression | None = None
    ) -> None:
        _check_types(target.owner, schema)
        super().__init__(target, lambda file: CsvWriter(target.owner, file, schema, dialect, compression))


class CsvStreamSink(StreamSink):
    """CSV on standard output; where it ends early, only the exit status tells."""

    def __init__(self, target: Target, schema: pa.Schema, dialect: Dialect = PLAIN) -> None:
        _check_types(target.owner, schema)
        file = standard_output(target.owner, "csv")
        super().__init__(target, file, lambda hashed: CsvWriter(target.owner, hashed, schema, dialect))


class CsvWriter:
    """Arrow's writer, in a dialect and compressed.

    Arrow quotes with '"' alone. For another quote the two characters are exchanged in the values before they are
    written, and in all that is written afterwards: no character of UTF-8 but themselves has these bytes.
    """

    def __init__(
        self, owner: str, file: Any, schema: pa.Schema, dialect: Dialect, compression: Compression | None = None
    ) -> None:
        import pyarrow.csv as pc

        self._decimal, self._exchange = dialect.decimal == ",", _exchange(dialect.quote)
        self._layers: list[Any] = []
        if compression is not None:
            self._layers.append(file := Compressed(file, compression))
        if not dialect.is_utf8:
            self._layers.append(file := EncodedFile(owner, file, dialect.encoding))
        if self._exchange is not None:
            file = _Exchanged(file, self._exchange)
        options = pc.WriteOptions(batch_size=ROWS_AT_ONCE, delimiter=dialect.delimiter)
        self._schema = self._written_schema(schema)
        self._writer = pc.CSVWriter(file, self._schema, write_options=options)

    def _written_schema(self, schema: pa.Schema) -> pa.Schema:
        """The types that Arrow writes; decimals with commas are text by then."""
        import pyarrow as pa

        def name(text: str) -> str:
            return text if self._exchange is None else text.encode().translate(self._exchange.tobytes()).decode()

        return pa.schema([
            (name(field.name), pa.string() if self._decimal and _has_decimals(field.type) else field.type)
            for field in schema
        ])  # fmt: skip

    def write(self, batch: pa.RecordBatch | pa.Table) -> None:
        import pyarrow as pa

        if self._decimal or self._exchange is not None:
            batches = batch.to_batches() if isinstance(batch, pa.Table) else [batch]
            batch = pa.Table.from_batches(
                [
                    pa.RecordBatch.from_arrays([self._translate(column) for column in one.columns], schema=self._schema)
                    for one in batches
                ],
                self._schema,
            )
        self._writer.write(batch)

    def _translate(self, column: pa.Array) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._decimal and _has_decimals(column.type):
            return pc.replace_substring(column.cast(pa.string()), ".", ",")
        if self._exchange is None:
            return column
        if pa.types.is_dictionary(column.type):
            return pa.DictionaryArray.from_arrays(column.indices, self._translate(column.dictionary))
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            return column
        validity, ends, content = column.buffers()
        body = b"" if content is None else self._exchange[np.frombuffer(content, np.uint8)].tobytes()
        return pa.Array.from_buffers(
            column.type, len(column), [validity, ends, pa.py_buffer(body)], offset=column.offset
        )

    def close(self) -> None:
        self._writer.close()
        for layer in reversed(self._layers):
            layer.close()


class _Exchanged(BorrowedFile):
    """A file with two characters exchanged in all that is written."""

    def __init__(self, file: Any, table: np.ndarray) -> None:
        super().__init__(file)
        self._table = table.tobytes()

    def write(self, data: Any) -> int:
        self._file.write(bytes(data).translate(self._table))
        return len(data)


def _exchange(quote: str) -> np.ndarray | None:
    """The byte for each byte, with '"' and another quote exchanged."""
    if quote == '"':
        return None
    table = np.arange(256, dtype=np.uint8)
    table[[ord('"'), ord(quote)]] = ord(quote), ord('"')
    return table


def _has_decimals(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _check_types(owner: str, schema: pa.Schema) -> None:
    import pyarrow as pa

    types = pa.types
    for field in schema:
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
        if types.is_nested(kind) or binary:
            raise SchemaError(
                f"{owner}: column {field.name!r} has arrow type {field.type}, which CSV cannot hold; "
                "write Parquet or Arrow"
            )
