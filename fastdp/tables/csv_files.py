"""Comma-separated text, in and out.

The first row names the columns. Values are text until a plan says more: a column that is randomized is read as what its
mechanism takes, any other stays the text that it is. Nothing is inferred from the data, so no later row can change how
an earlier one is read. An empty field is null, a quoted empty one is the empty text, and both are written so again.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastdp.errors import DomainError, InputCorruptError, SchemaError
from fastdp.tables.sinks import FileSink, StreamSink, Target
from fastdp.tables.sources import intact, suitable_rows
from fastdp.tables.spec import MECHANISMS
from fastdp.tables.streams import ByteStream, standard_output

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.tables.entry import Entry
    from fastdp.tables.plan import Plan

BLOCK = 4 << 20
"""Bytes parsed at once; a row must be shorter."""
HEADER = 1 << 20
"""Bytes that the row of names may have."""
ROWS_AT_ONCE = 1 << 14
"""Rows that the writer turns into text at once."""
_CONVERSION = re.compile(
    r"In CSV column #(?P<column>\d+): (?:Row #\d+: )?CSV conversion error to (?P<kind>\w+).*?: (?P<bytes>invalid UTF8)?"
)


def text_types(plan: Plan) -> dict[str, pa.DataType]:
    """How the columns of a plan that are randomized are read from text."""
    types = {entry.column: _text_type(entry) for entry in plan.randomized}
    for group in plan.groups:
        types |= group.text_types()
    return types


def _text_type(entry: Entry) -> pa.DataType:
    import pyarrow as pa

    spec = MECHANISMS[entry.given["mechanism"]]
    if spec.takes == "categories":
        labels = entry.mechanism.domain.labels
        return pa.string() if labels is not None and isinstance(labels[0], str) else pa.int64()
    if spec.takes == "truths":
        return pa.bool_()
    return pa.int64() if spec.whole or spec.takes == "codes" else pa.float64()


class CsvSource:
    """A CSV file or stream, of which a few blocks are in memory at a time."""

    rows: int | None = None

    def __init__(self, stream: ByteStream, path: Path | None, types: Mapping[str, pa.DataType]) -> None:
        import pyarrow as pa

        self.path = path
        self._stream = stream
        with intact(stream.name):
            names = _take_header(stream)
        self.schema: pa.Schema = pa.schema([(name, types.get(name, pa.string())) for name in names])

    @property
    def part(self) -> float | None:
        return self._stream.part

    def cancel(self) -> None:
        self._stream.cancel()

    def batches(self, columns: list[str], rows: int | None, encoded: list[str]) -> Iterator[pa.RecordBatch]:
        rows = rows or suitable_rows(self.schema)
        if not self._stream.peek(1):
            return
        text = _Quoted(self._stream)
        with self._errors():
            reader = self._open(text, columns, encoded)
        try:
            while True:
                with self._errors():
                    try:
                        batch: pa.RecordBatch = reader.read_next_batch()
                    except StopIteration:
                        break
                for start in range(0, batch.num_rows, rows):
                    yield batch.slice(start, rows)
        finally:
            self._stream.leave()  # where Arrow's own thread reads ahead
        if text.quotes % 2:
            raise InputCorruptError(f"sanitize: {self._stream.name} has a quote that is not closed")

    def _open(self, text: _Quoted, columns: list[str], encoded: list[str]) -> Any:
        import pyarrow as pa
        import pyarrow.csv as pc

        types = {name: self.schema.field(name).type for name in columns}
        several = len(self.schema) > 1  # in a single column, an empty line is a null
        types |= {name: pa.dictionary(pa.int32(), pa.string()) for name in encoded}
        return pc.open_csv(
            pa.PythonFile(text, mode="r"),
            read_options=pc.ReadOptions(block_size=BLOCK, column_names=self.schema.names),
            parse_options=pc.ParseOptions(newlines_in_values=True, ignore_empty_lines=several),
            convert_options=pc.ConvertOptions(
                include_columns=columns, column_types=types, null_values=[""], strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )  # fmt: skip

    def _errors(self) -> AbstractContextManager[None]:
        return _readable(self._stream.name, self.schema.names)


class _Quoted:
    """A stream whose quotes are counted: an odd number of them leaves one open, and rows inside it unread."""

    closed = False

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self.quotes = 0

    def read(self, count: int = -1) -> bytes:
        text = self._stream.read(count)
        self.quotes += text.count(b'"')
        return text

    def close(self) -> None:
        self._stream.close()


@contextmanager
def _readable(name: str, columns: list[str]) -> Iterator[None]:
    """Arrow's errors as ours: they print values, ours name the column."""
    import pyarrow as pa

    with intact(name):
        try:
            yield
        except pa.ArrowInvalid as error:
            found = _CONVERSION.match(str(error))
            if found is None:
                raise InputCorruptError(
                    f"sanitize: {name} is no CSV file: a row has more or fewer fields than the first, "
                    f"or is longer than {BLOCK >> 20} MiB"
                ) from None
            column = columns[int(found["column"])]
            if found["bytes"]:
                raise InputCorruptError(f"sanitize: column {column!r} holds bytes that are not UTF-8 text") from None
            raise DomainError(
                f"sanitize: column {column!r} holds text that is no {found['kind']}, which its mechanism takes; "
                "values withheld"
            ) from None


def _take_header(stream: ByteStream) -> list[str]:
    """The names in the first row, which is taken off the stream."""
    start = stream.read(HEADER)
    try:
        text = start.decode("utf-8", "surrogateescape")
        lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
        names = next(csv.reader(lines, strict=True), None)
        if not names:
            raise InputCorruptError(f"sanitize: {stream.name} has no row with the names of its columns")
        rest = text.removeprefix("\ufeff")[lines.tell() :]
        if not rest and len(start) == HEADER:
            raise InputCorruptError(f"sanitize: the first row of {stream.name} is longer than {HEADER >> 20} MiB")
        "".join(names).encode()
    except (csv.Error, UnicodeEncodeError):
        raise InputCorruptError(f"sanitize: the first row of {stream.name} is no row of names in UTF-8") from None
    stream.give_back(rest.encode("utf-8", "surrogateescape"))
    return names


def _check_types(schema: pa.Schema) -> None:
    import pyarrow as pa

    types = pa.types
    for field in schema:
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
        if types.is_nested(kind) or binary:
            raise SchemaError(
                f"sanitize: column {field.name!r} has arrow type {field.type}, which CSV cannot hold; "
                "write Parquet or Arrow"
            )


def _open_writer(file: Any, schema: pa.Schema) -> Any:
    import pyarrow.csv as pc

    return pc.CSVWriter(file, schema, write_options=pc.WriteOptions(batch_size=ROWS_AT_ONCE))


class CsvSink(FileSink):
    """A CSV file; its receipt is beside it only."""

    def __init__(self, target: Target, schema: pa.Schema) -> None:
        _check_types(schema)
        super().__init__(target, lambda file: _open_writer(file, schema))


class CsvStreamSink(StreamSink):
    """CSV on standard output; where it ends early, only the exit status tells."""

    def __init__(self, target: Target, schema: pa.Schema) -> None:
        _check_types(schema)
        file = standard_output("csv")
        super().__init__(target, file, lambda: _open_writer(file, schema))
