"""Comma-separated text, and its relatives with other separators.

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

from fastdp.columns.numeric import EXACT_INTEGER
from fastdp.errors import DomainError, InputCorruptError, ParameterError
from fastdp.io.base import intact, suitable_rows
from fastdp.io.byte_stream import ByteStream
from fastdp.io.csv.dialect import Dialect
from fastdp.io.csv.encodings import decoded

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 4 << 20
"""Bytes parsed at once; a row must be shorter."""
HEADER = 1 << 20
"""Bytes that the row of names may have."""
SEPARATORS = ";\t|"
"""What else separates fields, in files that are called CSV."""
_CONVERSION = re.compile(
    r"In CSV column #(?P<column>\d+): (?:Row #\d+: )?CSV conversion error to (?P<kind>\w+).*?: (?P<bytes>invalid UTF8)?"
)
_DECIMAL = {",": re.compile(r"invalid value '[-+]?\d*\.\d+'"), ".": re.compile(r"invalid value '[-+]?\d*,\d+'")}
"""Numbers in Arrow's errors that have the other decimal mark."""


class CsvSource:
    """A CSV file or stream, of which a few blocks are in memory at a time."""

    rows: int | None = None
    unbounded: frozenset[str] = frozenset()
    """Columns of floats in which numbers of 2**53 or more are refused."""

    def __init__(
        self,
        owner: str,
        stream: ByteStream,
        path: Path | None,
        types: Mapping[str, pa.DataType],
        options: Mapping[str, Any] | None = None,
    ) -> None:
        import pyarrow as pa

        self.path = path
        self.dialect = Dialect.read(owner, options)
        self._owner, self._stream = owner, decoded(owner, stream, self.dialect.encoding)
        with intact(owner, stream.name):
            names = _take_header(owner, self._stream, self.dialect)
        if (options or {}).get("delimiter") is None:
            _check_separated(owner, stream.name, names)
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
        text = _Quoted(self._stream, self.dialect.quote)
        with self._errors():
            reader = self._open(text, columns, encoded)
        try:
            while True:
                with self._errors():
                    try:
                        batch: pa.RecordBatch = reader.read_next_batch()
                    except StopIteration:
                        break
                self._refuse_rounded(batch)
                for start in range(0, batch.num_rows, rows):
                    yield batch.slice(start, rows)
        finally:
            self._stream.leave()  # where Arrow's own thread reads ahead
        if text.quotes % 2:
            raise InputCorruptError(f"{self._owner}: {self._stream.name} has a quote that is not closed (--quote)")

    def _open(self, text: _Quoted, columns: list[str], encoded: list[str]) -> Any:
        import pyarrow as pa
        import pyarrow.csv as pc

        types = {name: self.schema.field(name).type for name in columns}
        several = len(self.schema) > 1  # in a single column, an empty line is a null
        types |= {name: pa.dictionary(pa.int32(), pa.string()) for name in encoded}
        return pc.open_csv(
            pa.PythonFile(text, mode="r"),
            read_options=pc.ReadOptions(block_size=BLOCK, column_names=self.schema.names),
            parse_options=pc.ParseOptions(
                newlines_in_values=True, ignore_empty_lines=several, delimiter=self.dialect.delimiter,
                quote_char=self.dialect.quote,
            ),
            convert_options=pc.ConvertOptions(
                decimal_point=self.dialect.decimal, include_columns=columns, column_types=types, null_values=[""],
                strings_can_be_null=True, quoted_strings_can_be_null=False,
            ),
        )  # fmt: skip

    def _refuse_rounded(self, batch: pa.RecordBatch) -> None:
        """Refuse numbers so large that the text of two of them 1 apart may be read as floats 2 apart."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for name in self.unbounded.intersection(batch.schema.names):
            column = batch.column(name)
            large = pc.and_(pc.is_finite(column), pc.greater_equal(pc.abs(column), pa.scalar(float(EXACT_INTEGER))))
            if pc.any(large).as_py():
                raise DomainError(
                    f"{self._owner}: column {name!r} holds numbers of 2**53 or more, whose text has no exact float64; "
                    "declare bounds, or use an integer mechanism"
                )

    def _errors(self) -> AbstractContextManager[None]:
        return _readable(self._owner, self._stream.name, self.schema.names, self.dialect)


class _Quoted:
    """A stream whose quotes are counted: an odd number of them leaves one open, and rows inside it unread."""

    closed = False

    def __init__(self, stream: ByteStream, quote: str) -> None:
        self._stream, self._quote = stream, quote.encode()
        self.quotes = 0

    def read(self, count: int = -1) -> bytes:
        text = self._stream.read(count)
        self.quotes += text.count(self._quote)
        return text

    def close(self) -> None:
        self._stream.close()


@contextmanager
def _readable(owner: str, name: str, columns: list[str], dialect: Dialect) -> Iterator[None]:
    """Arrow's errors as ours: they print values, ours name the column."""
    import pyarrow as pa

    with intact(owner, name):
        try:
            yield
        except pa.ArrowInvalid as error:
            found = _CONVERSION.match(str(error))
            if found is None:
                raise InputCorruptError(
                    f"{owner}: {name} is no CSV file: a row has more or fewer fields than the first, "
                    f"or is longer than {BLOCK >> 20} MiB; fields are separated by {dialect.delimiter!r} (--delimiter) "
                    f"and quoted by {dialect.quote} (--quote)"
                ) from None
            column = columns[int(found["column"])]
            if found["bytes"]:
                raise InputCorruptError(
                    f"{owner}: column {column!r} holds bytes that are not UTF-8 text; say which encoding they are in "
                    '(encoding="latin-1", --encoding latin-1)'
                ) from None
            mark = "." if dialect.decimal == "," else ","
            way = f' (decimal="{mark}", --decimal "{mark}"?)' if _DECIMAL[dialect.decimal].search(str(error)) else ""
            raise DomainError(
                f"{owner}: column {column!r} holds text that is no {found['kind']}, which its mechanism takes{way}; "
                "values withheld"
            ) from None


def _check_separated(owner: str, name: str, names: list[str]) -> None:
    """Refuse a single column whose name looks like several."""
    marks = [mark for mark in SEPARATORS if mark in names[0]]
    if len(names) == 1 and marks:
        word = "tab" if marks[0] == "\t" else marks[0]
        raise ParameterError(
            f'{owner}: the first row of {name} has one field, with {marks[0]!r} in it; say delimiter="{word}" '
            f"(--delimiter '{word}') if that separates fields, or delimiter=\",\" if it does not"
        )


def _take_header(owner: str, stream: ByteStream, dialect: Dialect) -> list[str]:
    """The names in the first row, which is taken off the stream."""
    start = stream.read(HEADER)
    try:
        text = start.decode("utf-8", "surrogateescape")
        lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
        names = next(csv.reader(lines, strict=True, delimiter=dialect.delimiter, quotechar=dialect.quote), None)
        if not names:
            raise InputCorruptError(f"{owner}: {stream.name} has no row with the names of its columns")
        rest = text.removeprefix("\ufeff")[lines.tell() :]
        if not rest and len(start) == HEADER:
            raise InputCorruptError(f"{owner}: the first row of {stream.name} is longer than {HEADER >> 20} MiB")
        "".join(names).encode()
    except (csv.Error, UnicodeEncodeError):
        raise InputCorruptError(
            f"{owner}: the first row of {stream.name} is no row of names in {dialect.encoding.upper()} "
            "(--encoding, --quote)"
        ) from None
    stream.give_back(rest.encode("utf-8", "surrogateescape"))
    return names
