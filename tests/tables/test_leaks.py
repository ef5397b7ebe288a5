"""Marked values, planted wherever data hide, are found nowhere in what is released."""

from __future__ import annotations

import io
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import fastdp as fd
from fastdp.cli import main
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize

CANARY = "canary-5f3c"
NUMBER = 0x5A5B5C5D5E5F6061
DOUBLE = struct.unpack("<d", struct.pack("<q", NUMBER))[0]
PAYLOAD = struct.pack("<Q", 0x7FF8_5A5B_5C5D_5E5F)

KRR = {"mechanism": "krr", "epsilon": 1.0, "domain": ["a", "b"], "nulls": "public"}
GEOMETRIC = {"mechanism": "geometric", "epsilon": 1.0, "bounds": [0, 9], "nulls": "public"}
LAPLACE = {"mechanism": "laplace", "epsilon": 1.0, "bounds": [0, 9], "nulls": "public", "nan": "lower"}


def bits_of(array: np.ndarray) -> np.ndarray:
    return np.packbits(array, bitorder="little")


def under_nulls(values: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Every third value is null, with the marked number still in its slot."""
    valid = np.arange(values.size) % 3 != 0
    return pa.Array.from_buffers(kind, values.size, [pa.py_buffer(bits_of(valid)), pa.py_buffer(values)])


def planted(rows: int, seed: int) -> pa.Table:
    source = np.random.default_rng(seed)
    integers = source.integers(0, 9, rows)
    integers[::3] = NUMBER
    floats = source.random(rows)
    floats[::3] = DOUBLE
    nans = source.random(rows)
    nans[1::3] = np.frombuffer(PAYLOAD, np.float64)[0]
    labels = pa.DictionaryArray.from_arrays(pa.array(source.integers(0, 2, rows)), ["a", "b", CANARY])
    text = pa.array([CANARY, *["a", "b"] * rows])[1 : rows + 1]
    nested = pa.array([[CANARY], *[["a"]] * rows])[1:]
    columns = {
        "dropped": pa.array([CANARY] * rows),
        "label": labels,
        "public_label": labels,
        "text": text,
        "public_text": text,
        "public_list": nested,
        "integer": under_nulls(integers, pa.int64()),
        "public_integer": under_nulls(integers, pa.int64()),
        "float": under_nulls(floats, pa.float64()),
        "public_float": under_nulls(floats, pa.float64()),
        "nan": pa.array(nans),
        "public_nan": pa.array(nans),
    }
    fields = [pa.field(name, array.type, metadata={CANARY: CANARY}) for name, array in columns.items()]
    return pa.table(list(columns.values()), pa.schema(fields, metadata={"pandas": CANARY, CANARY: CANARY}))


PLAN = Plan(columns={
    "dropped": "drop", "label": KRR, "public_label": "keep", "text": KRR, "public_text": "keep", "public_list": "keep",
    "integer": GEOMETRIC, "public_integer": "keep", "float": LAPLACE, "public_float": "keep",
    "nan": LAPLACE, "public_nan": "keep",
})  # fmt: skip
MARKS = (CANARY.encode(), struct.pack("<q", NUMBER), PAYLOAD)


def assert_clean(content: bytes) -> None:
    for mark in MARKS:
        assert mark not in content


def as_ipc(table: pa.Table) -> bytes:
    """Every byte of every buffer, as another program would get it."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def raw(table: pa.Table) -> bytes:
    """Whole buffers, also what lies beyond a slice."""
    chunks = [chunk for column in table.columns for chunk in column.chunks]
    dictionaries = [chunk.dictionary for chunk in chunks if isinstance(chunk, pa.DictionaryArray)]
    buffers = [buffer for array in chunks + dictionaries for buffer in array.buffers() if buffer is not None]
    return b"".join(buffer.to_pybytes() for buffer in buffers)


def test_marks__are_in_the_input():
    """The search can find them."""
    table = planted(30, 0)
    with pytest.raises(AssertionError):
        assert_clean(raw(table))
    for mark in MARKS:
        assert mark in raw(table) + as_ipc(table)


@given(st.integers(1, 400), st.integers(0, 99), st.integers(1, 400), st.integers(0, 50))
def test_tables__hold_no_mark(rows, seed, batch, start):
    table = planted(rows, seed).slice(start)
    result = sanitize(table, PLAN, batch_rows=batch)
    assert_clean(raw(result) + as_ipc(result))
    assert result.schema.metadata.keys() == {b"fastdp.receipt"}
    assert all(field.metadata is None for field in result.schema)


@pytest.mark.parametrize("start", [0, 7])
def test_arrow_files__hold_no_mark(tmp_path, start):
    """Arrow files hold whole buffers, so hidden values would go in and come out."""
    table, folder = planted(2000, 1).slice(start), tmp_path / "out"
    folder.mkdir()
    with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(AssertionError):
        assert_clean((tmp_path / "in.arrow").read_bytes())
    sanitize(tmp_path / "in.arrow", PLAN, folder / "out.arrow", batch_rows=333)
    for path in folder.iterdir():
        assert_clean(path.read_bytes())
    assert pa.ipc.open_file(folder / "out.arrow").read_all().num_rows == table.num_rows


@pytest.mark.parametrize("options", [{}, {"compression": "none", "use_dictionary": False}, {"version": "1.0"}])
def test_files__hold_no_mark(tmp_path, options):
    """Uncompressed, so that a mark would be seen; then all that lies in the folder."""
    source, folder = tmp_path / "in.parquet", tmp_path / "out"
    folder.mkdir()
    pq.write_table(planted(5000, 1), source, **options)
    sanitize(source, PLAN, folder / "out.parquet", batch_rows=999)
    for path in folder.iterdir():
        assert_clean(path.read_bytes())
    result = pq.read_table(folder / "out.parquet")
    assert_clean(raw(result) + as_ipc(result))
    metadata = pq.read_metadata(folder / "out.parquet")
    assert set(metadata.metadata) == {b"ARROW:schema", b"fastdp.receipt"}
    assert metadata.row_group(0).sorting_columns == ()


@pytest.mark.parametrize("column", ["text", "label", "float"])
def test_errors__hold_no_mark(tmp_path, column, monkeypatch):
    """Neither on the terminal nor in a traceback, and no file is left."""
    bad = {"text": [CANARY], "label": pa.array([CANARY]).dictionary_encode(), "float": [CANARY]}
    table = planted(1, 0)
    table = table.set_column(
        table.column_names.index(column), column, pa.array(bad[column]) if column != "label" else bad[column]
    )
    pq.write_table(table, tmp_path / "in.parquet")
    text = "".join(_toml(name, dict(entry.given)) for name, entry in PLAN.columns.items())
    (tmp_path / "plan.toml").write_text(text)
    arguments = ["sanitize", str(tmp_path / "in.parquet"), "-p", str(tmp_path / "plan.toml"), "-o", str(tmp_path / "o")]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 3
    assert f"'{column}'" in done.output
    assert_clean(done.output.encode())
    assert {path.name for path in tmp_path.iterdir()} == {"in.parquet", "plan.toml"}
    with pytest.raises(fd.FastDPError) as caught:
        sanitize(table, PLAN)
    import traceback

    assert_clean("".join(traceback.format_exception(caught.value)).encode())


def _toml(name: str, given: dict) -> str:
    import json

    return f"[columns.{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in given.items())
