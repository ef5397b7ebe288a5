"""Files that are cut, flipped, overwritten, of other types, or lie, all from fixed seeds."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from tests.tables.people import people

CANARY = 123_456.789
"""A value of the files that no message may show."""
ROWS = 300


def table() -> pa.Table:
    """A small table of people, one of whom has a marked income."""
    made = people(ROWS)
    incomes = made["income"].to_numpy().copy()
    incomes[7] = CANARY
    return made.set_column(made.schema.get_field_index("income"), "income", pa.array(incomes))


def as_parquet(content: pa.Table, **options: Any) -> bytes:
    buffer = BytesIO()
    pq.write_table(content, buffer, row_group_size=120, **options)
    return buffer.getvalue()


def as_ipc(content: pa.Table, kind: str, compression: str | None = None) -> bytes:
    buffer = BytesIO()
    make = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
    with make(buffer, content.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(content, max_chunksize=120)
    return buffer.getvalue()


def as_csv(content: pa.Table) -> bytes:
    buffer = BytesIO()
    pc.write_csv(content, buffer)
    return buffer.getvalue()


def whole_files() -> dict[str, bytes]:
    """One table in every format, with several encodings each, by name."""
    content = table()
    found = {
        f"{name}.parquet": as_parquet(content, **options)
        for name, options in {
            "plain": {"compression": "none", "use_dictionary": False},
            "snappy": {"compression": "snappy"},
            "zstd": {"compression": "zstd", "data_page_version": "2.0"},
            "gzip": {"compression": "gzip", "use_dictionary": False},
            "checked": {"compression": "lz4", "write_page_checksum": True},
        }.items()
    }
    for kind in ("arrow", "arrows"):
        found |= {f"{code or 'plain'}.{kind}": as_ipc(content, kind, code) for code in (None, "zstd", "lz4")}
    return found | {"people.csv": as_csv(content)}


def spoiled(content: bytes, source: np.random.Generator) -> Iterator[bytes]:
    """The bytes of a file, each time spoiled in another way."""
    size = len(content)
    for end in [0, 1, 4, 8, size - 1, size - 4, *source.integers(1, size, 20).tolist()]:
        yield content[:end]
    for place in source.integers(0, size, 30).tolist() + (size - 1 - source.integers(0, min(400, size), 12)).tolist():
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(source.integers(8))
        yield bytes(flipped)
    for start in source.integers(0, size, 5).tolist():
        length = int(source.integers(1, 200))
        noise = source.bytes(len(content[start : start + length]))
        yield content[:start] + noise + content[start + length :]
        yield content[:start] + bytes(len(noise)) + content[start + length :]
        yield content[:start] + content[start + length :]
        yield content[:start] + content[start : start + length] * 2 + content[start + length :]
    yield content + content
    yield content + source.bytes(100)
    yield source.bytes(100) + content


ODD: dict[str, pa.Array] = {
    "null": pa.nulls(ROWS),
    "float16": pa.array(np.ones(ROWS, np.float16)),
    "decimal": pa.array([decimal.Decimal("1.5")] * ROWS),
    "date": pa.array([dt.date(2020, 1, 1)] * ROWS),
    "timestamp": pa.array([dt.datetime(2020, 1, 1)] * ROWS),
    "time": pa.array([dt.time(1, 2)] * ROWS),
    "duration": pa.array([dt.timedelta(1)] * ROWS),
    "binary": pa.array([b"\xff\xfe"] * ROWS),
    "fixed binary": pa.array([b"abcd"] * ROWS, pa.binary(4)),
    "list": pa.array([[1, 2]] * ROWS),
    "fixed list": pa.array([[1, 2]] * ROWS, pa.list_(pa.int64(), 2)),
    "struct": pa.array([{"a": 1, "b": "x"}] * ROWS),
    "map": pa.array([[("a", 1)]] * ROWS, pa.map_(pa.string(), pa.int64())),
    "nested": pa.array([[{"a": [1]}]] * ROWS),
    "dictionary": pa.array(["cold", "flu", "none"] * (ROWS // 3)).dictionary_encode(),
    "dictionary of numbers": pa.array([1.5, 2.5, 1.5] * (ROWS // 3)).dictionary_encode(),
    "large string": pa.array(["cold"] * ROWS, pa.large_string()),
    "undeclared": pa.array([f"secret {CANARY}"] * ROWS),
    "uint64": pa.array([2**64 - 1] * ROWS, pa.uint64()),
    "int64": pa.array([2**53 + 1] * ROWS),
    "nan": pa.array([float("nan")] * ROWS),
    "infinity": pa.array([float("inf"), -float("inf")] * (ROWS // 2)),
    "all null": pa.array([None] * ROWS, pa.float64()),
    "truth": pa.array([True, False] * (ROWS // 2)),
}
"""Columns of other types, or of values that are refused."""


def odd_tables() -> Iterator[tuple[str, bytes]]:
    """Each randomized column in turn replaced by each odd one, in two formats; where a format has the type."""
    content = table()
    for name in ("disease", "income", "age", "ill"):
        for odd in ODD.values():
            changed = content.set_column(content.schema.get_field_index(name), name, odd)
            try:
                yield "parquet", as_parquet(changed)
            except pa.ArrowException:
                yield "arrow", as_ipc(changed, "arrow")
            yield "arrows", as_ipc(changed, "arrows")


def odd_texts() -> Iterator[tuple[str, bytes]]:
    """CSV files that break one rule each."""
    content = as_csv(table())
    header, _, rows = content.partition(b"\n")
    first = rows.partition(b"\n")[0]
    for text in (
        b"", b"\n", header, header + b"\n", header + b"\n\n\n", b"\xef\xbb\xbf" + content, b"\xff\xfe" + content,
        header + b",income\n" + rows, header.replace(b"age", b"income") + b"\n" + rows, rows,
        content + b'"', content + b'"unclosed,1,2', content + first + b",extra\n", content + b"a,b\n",
        content + b"\0\n",
        content.replace(b"\n", b"\r"), content.replace(b",", b";"), content.replace(b",", b"\t"),
        content + b'"x","1","\xff\xff",1,1,true\n',
        content + b",,,,,\n", content.replace(b".", b","), header + b"\n" + b"9" * 5_000_000, content.upper(),
        header + b"\n" + b"x,1,cold,1e999,1,true\n", header + b"\n" + b"x,1,cold,1,99999999999999999999,true\n",
        header + b"\n" + b"x,1,cold,123456.789x,1,true\n", header + b"\n" + b"x,1,cold,1,1.5,true\n",
    ):  # fmt: skip
        yield "csv", text


def all_files() -> Iterator[tuple[str, bytes]]:
    """Formats and contents, the same in every run."""
    source = np.random.default_rng(796)
    for name, content in whole_files().items():
        for other in spoiled(content, source):
            yield name.rpartition(".")[2], other
    yield from odd_tables()
    yield from odd_texts()
