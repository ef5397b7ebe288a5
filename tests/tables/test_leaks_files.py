"""Marked values over many tables and formats: nothing that a job leaves or says holds one.

What is searched: outputs and receipts as bytes and as whole buffers, standard output and error, tracebacks, temporary
files while they are in use, and folders afterwards.
"""

from __future__ import annotations

import io
import tempfile
import traceback
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import fastdp as fd
from fastdp.cli import main
from fastdp.io.csv import source as csv_files
from fastdp.plans.plan import Plan
from fastdp.tables.sanitizing import columns, job, shuffle
from tests.tables.files import read, write
from tests.tables.test_leaks import (
    CANARY,
    DOUBLE,
    GEOMETRIC,
    KRR,
    LAPLACE,
    MARKS,
    NUMBER,
    PAYLOAD,
    _toml,
    as_ipc,
    raw,
    under_nulls,
)  # fmt: skip

ALL_MARKS = (*MARKS, str(NUMBER).encode(), repr(DOUBLE).encode())
OTHERS = KRR | {"out_of_domain": "a"}


def hidden_integers(source, rows):
    values = source.integers(0, 9, rows)
    values[::3] = NUMBER
    return under_nulls(values, pa.int64())


def hidden_floats(source, rows):
    values = source.random(rows)
    values[::3] = DOUBLE
    return under_nulls(values, pa.float64())


def payloads(source, rows):
    values = source.random(rows)
    values[1::3] = np.frombuffer(PAYLOAD, np.float64)[0]
    return pa.array(values)


def unused_label(source, rows):
    return pa.DictionaryArray.from_arrays(pa.array(source.integers(0, 2, rows)), ["a", "b", CANARY])


def cut_off(kind):
    """Text of the rows before and after is in the same buffer."""
    return lambda _source, rows: pa.array([CANARY, *["a", "b"] * rows, CANARY], kind)[1 : rows + 1]


def cut_off_list(_source, rows):
    return pa.array([[CANARY], *[["a"]] * rows, [CANARY]])[1 : rows + 1]


def hidden_in_structs(source, rows):
    """Every third struct is null, with its parts still there."""
    valid = pa.py_buffer(np.packbits(np.arange(rows) % 3 != 0, bitorder="little"))
    numbers, texts = source.integers(0, 9, rows), np.full(rows, "a", object)
    numbers[::3], texts[::3] = NUMBER, CANARY
    kind = pa.struct([("n", pa.int64()), ("t", pa.string())])
    return pa.Array.from_buffers(kind, rows, [valid], children=[pa.array(numbers), pa.array(texts, pa.string())])


def hidden_in_lists(source, rows):
    return pa.ListArray.from_arrays(pa.array(np.arange(rows + 1), pa.int32()), hidden_in_structs(source, rows))


def hidden_in_pairs(source, rows):
    valid = pa.py_buffer(np.packbits(np.arange(rows) % 3 != 0, bitorder="little"))
    values = source.random(2 * rows)
    values[::3] = np.frombuffer(PAYLOAD, np.float64)[0]
    values[::6] = values[1::6] = DOUBLE
    return pa.Array.from_buffers(pa.list_(pa.float64(), 2), rows, [valid], children=[pa.array(values)])


def payloads_in_structs(source, rows):
    return pa.StructArray.from_arrays([payloads(source, rows)], ["x"])


def cut_off_runs(_source, rows):
    ends = pa.array([1, rows + 1, rows + 2], pa.int32())
    return pa.RunEndEncodedArray.from_arrays(ends, pa.array([CANARY, "a", CANARY]))[1 : rows + 1]


def everywhere(_source, rows):
    return pa.array([CANARY] * rows)


def beyond(_source, rows):
    return pa.array([NUMBER] * rows)


def undeclared(source, rows):
    return pa.array(np.array(["a", "b", CANARY])[source.integers(0, 3, rows)])


COLUMNS = [
    (everywhere, "drop"), (beyond, "drop"), (everywhere, OTHERS), (undeclared, OTHERS), (beyond, GEOMETRIC),
    (hidden_integers, GEOMETRIC), (hidden_integers, "keep"), (hidden_floats, LAPLACE), (hidden_floats, "keep"),
    (payloads, LAPLACE), (payloads, "keep"), (unused_label, KRR), (unused_label, "keep"), (cut_off_list, "keep"),
    *((cut_off(kind), entry) for kind in (pa.string(), pa.large_string(), pa.string_view()) for entry in (KRR, "keep")),
    *((make, "keep") for make in (hidden_in_structs, hidden_in_lists, hidden_in_pairs, payloads_in_structs)),
    *((cut_off_runs, entry) for entry in (KRR, "keep")),
]  # fmt: skip
BAD = [(undeclared, KRR), (everywhere, LAPLACE), (everywhere, KRR)]


def make(choice, rows, seed):
    """A table with an index as pandas leaves it, and marks in all its metadata; and its plan."""
    source = np.random.default_rng(seed)
    made = {f"c{number}": make(source, rows) for number, (make, _) in enumerate(choice)}
    plan = {f"c{number}": entry for number, (_, entry) in enumerate(choice)}
    made["__index_level_0__"], plan["__index_level_0__"] = everywhere(source, rows), "drop"
    made["public"], plan["public"] = pa.array(["a"] * rows), "keep"
    fields = [pa.field(name, array.type, metadata={CANARY: CANARY}) for name, array in made.items()]
    return pa.table(list(made.values()), pa.schema(fields, metadata={"pandas": CANARY, CANARY: CANARY})), plan


def storable(table: pa.Table, plan: dict, kind: str) -> tuple[pa.Table, dict]:
    """What the format can hold: no lists or dictionaries in CSV, no views or runs in Parquet."""
    names = [field.name for field in table.schema if not (kind == "csv" and pa.types.is_nested(field.type))]
    table = table.select(names)
    for index, field in enumerate(table.schema):
        if pa.types.is_run_end_encoded(field.type):
            plain = pa.chunked_array([pa.compute.run_end_decode(chunk) for chunk in table.column(index).chunks])
            table = table.set_column(index, field.name, plain)
        elif (kind == "csv" and pa.types.is_dictionary(field.type)) or pa.types.is_string_view(field.type):
            table = table.set_column(index, field.name, table.column(index).cast(pa.string()))
    return table, {name: plan[name] for name in names}


@contextmanager
def spied(found: list[bytes]):
    """Temporary files are looked at when they are closed, and made for any number of rows."""

    class Spied(io.BytesIO):
        def close(self):
            if not self.closed:
                found.append(self.getvalue())
            super().close()

    with patch.object(shuffle, "MEMORY", 500), patch.object(shuffle.tempfile, "TemporaryFile", lambda **_: Spied()):
        yield


def release(choice, rows, seed, source, output, *, shuffled=False, batch=None) -> tuple[int, list[bytes]]:
    """The exit status of a job, and everything that it left or said."""
    table, plan = make(choice, rows, seed)
    if source != "table" or output == "csv":
        table, plan = storable(table, plan, "csv" if output == "csv" else source)
    found: list[bytes] = []
    with tempfile.TemporaryDirectory() as place, spied(found):
        folder = Path(place) / "made"
        folder.mkdir()
        name = {"folder": f"{folder}/o/", "table": None, "-": "-"}.get(output, f"{folder}/o.{output}")
        options = {"rng": None, "shuffle": shuffled, "batch_rows": batch}
        if source == "table" or output == "table":
            given = table if source == "table" else write(table, Path(place) / "in", source)
            code = in_python(given, Plan(columns=plan), name, options, found)
        else:
            (Path(place) / "plan.toml").write_text("".join(_toml(*item) for item in as_tables(plan)))
            arguments = ["sanitize", write(table, Path(place) / "in", source), "-o", str(name), "-v"]
            arguments += ["-p", f"{place}/plan.toml", *(["--shuffle"] if shuffled else [])]
            done = CliRunner().invoke(main, arguments)
            code = done.exit_code
            found += [done.stdout_bytes, done.stderr.encode()]
        paths = [path for path in folder.rglob("*") if path.is_file()]
        found += [path.read_bytes() for path in paths] + [str(path).encode() for path in paths]
        if code == 0 and name not in {None, "-"}:
            result = read(str(name))
            found += [raw(result), as_ipc(result)]
        elif code:
            assert not paths
    return code, found


def as_tables(plan):
    return [(name, {"action": entry} if isinstance(entry, str) else entry) for name, entry in plan.items()]


def in_python(given, plan, name, options, found) -> int:
    said = io.TextIOWrapper(io.BytesIO())
    try:
        with patch("sys.stdout", said):
            result = fd.sanitize(given, plan, name, **options)
    except fd.FastDPError as error:
        found.append("".join(traceback.format_exception(error)).encode())
        return 3
    finally:
        found.append(said.buffer.getvalue())
    if name is None:
        found += [raw(result), as_ipc(result)]
    return 0


def marks_in(found: list[bytes]) -> list[bytes]:
    return [mark for mark in ALL_MARKS if any(mark in content for content in found)]


SOURCES = ("table", "parquet", "arrow", "arrows", "csv", "folder")
OUTPUTS = ("table", "parquet", "arrow", "arrows", "csv", "folder", "-")


@settings(max_examples=40)
@given(
    st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=6),
    st.integers(3, 60), st.integers(0, 99), st.sampled_from(SOURCES), st.sampled_from(OUTPUTS), st.booleans(),
    st.sampled_from([None, 1, 7]),
)  # fmt: skip
def test_releases__hold_no_mark(choice, rows, seed, source, output, shuffled, batch):
    code, found = release(choice, rows, seed, source, output, shuffled=shuffled, batch=batch)
    assert code == 0, found
    assert not marks_in(found)


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from(COLUMNS), max_size=2), st.sampled_from(BAD), st.integers(6, 60),
    st.sampled_from(SOURCES), st.sampled_from(OUTPUTS),
)  # fmt: skip
def test_errors__hold_no_mark(choice, bad, rows, source, output):
    code, found = release([*choice, bad], rows, 1, source, output)
    assert code == 3, found
    assert not marks_in(found)


class TestSearch:
    """It finds what leaks: each of these mutants is caught."""

    def test_raw_buffers(self, monkeypatch):
        for index in (6, 8, 10, 13, 15):  # columns that are kept
            assert not marks_in(release([COLUMNS[index]], 30, 1, "arrow", "arrows")[1])
        monkeypatch.setattr(columns, "keep", lambda _owner, _name, values, copy: values)
        for index in (6, 8, 10, -6, -5, -4, -3):
            assert marks_in(release([COLUMNS[index]], 30, 1, "arrow", "arrows")[1]), index

    def test_spilled_raw_buffers(self, monkeypatch):
        """Rows that are spilled are looked at too."""
        monkeypatch.setattr(shuffle._Spill, "write", lambda spill, batch: spill._file.write(CANARY.encode()))
        monkeypatch.setattr(shuffle._Spill, "batches", lambda _: iter(()))
        assert marks_in(release([COLUMNS[5]], 60, 1, "arrow", "arrows", shuffled=True)[1])

    def test_metadata(self, monkeypatch):
        real = job.Job.__init__

        def careless(job, source, plan, **options):
            real(job, source, plan, **options)
            job.schema = job.schema.with_metadata({CANARY: CANARY})

        monkeypatch.setattr(job.Job, "__init__", careless)
        assert marks_in(release([COLUMNS[5]], 30, 1, "table", "parquet")[1])

    def test_messages(self, monkeypatch):
        @contextmanager
        def careless(_owner, name, _columns, _dialect):
            try:
                yield
            except pa.ArrowInvalid as error:
                raise fd.InputCorruptError(f"{name}: {error}") from None

        assert not marks_in(release([BAD[1]], 9, 1, "csv", "-")[1])
        monkeypatch.setattr(csv_files, "_readable", careless)
        code, found = release([BAD[1]], 9, 1, "csv", "-")
        assert code == 3
        assert marks_in(found)

    def test_values_that_are_not_randomized(self):
        assert marks_in(release([(beyond, "keep")], 9, 1, "csv", "csv")[1])
        assert marks_in(release([(everywhere, "keep")], 9, 1, "parquet", "-")[1])
        assert marks_in(release([(everywhere, "keep")], 9, 1, "folder", "folder")[1])


@pytest.mark.parametrize("source", [kind for kind in SOURCES if kind not in {"table", "csv"}])
def test_marks__are_in_the_inputs(source):
    """The formats that hold them carry them in."""
    table, plan = storable(*make(COLUMNS[:11], 30, 1), source)
    with tempfile.TemporaryDirectory() as place:
        written = Path(write(table, Path(place) / "in", source))
        files = [path for path in ([written] if written.is_file() else written.rglob("*")) if path.is_file()]
        assert CANARY.encode() in marks_in([path.read_bytes() for path in files])
        assert plan
