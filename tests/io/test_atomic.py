"""Killed at any point, or fed a broken file: never a partial output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastdp as fd
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize
from tests.patience import PATIENCE
from tests.tables.people import COLUMNS, people

KILL = """
import os, signal, sys
import pyarrow.parquet as pq
from fastdp.io import atomic
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize
from tests.tables.people import COLUMNS

point, source, output = sys.argv[1:]
left = 2 if point == "second commit" else 1

def die(*_, **__):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*_, **__)

owner, name = {
    "write": (pq.ParquetWriter, "write_table"),
    "flush": (atomic.AtomicFile, "flush"),
    "commit": (atomic.AtomicFile, "commit"),
    "second commit": (atomic.AtomicFile, "commit"),
}[point]
real = getattr(owner, name)
setattr(owner, name, die)
sanitize(source, Plan(columns=COLUMNS), output, batch_rows=1000)
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(people(), path)
    return path


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
@pytest.mark.parametrize("point", ["write", "flush", "commit", "second commit"])
def test_kill__leaves_no_partial_file(file, tmp_path, point):
    """At the final path there is nothing, or all of it with its receipt inside; a rerun succeeds."""
    out = tmp_path / "out.parquet"
    done = subprocess.run([sys.executable, "-c", KILL, point, str(file), str(out)], timeout=PATIENCE, cwd=Path.cwd())
    assert done.returncode == -signal.SIGKILL
    if point == "second commit":
        assert pq.read_table(out).num_rows == 5000
        assert b"fastdp.receipt" in pq.read_metadata(out).metadata
    else:
        assert not out.exists()
    sanitize(file, Plan(columns=COLUMNS), out, force=point == "second commit")
    assert pq.read_table(out).num_rows == 5000


def test_truncated_files__are_refused(file, tmp_path):
    content = file.read_bytes()
    for size in (0, 3, 8, len(content) // 2, len(content) - 1):
        file.write_bytes(content[:size])
        with pytest.raises(fd.InputCorruptError, match="contradicts its own format"):
            sanitize(file, Plan(columns=COLUMNS), tmp_path / "out.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["people.parquet"]


def test_truncated_arrow_files__are_refused(tmp_path):
    path = tmp_path / "people.arrow"
    with pa.ipc.new_file(path, people(500).schema) as writer:
        writer.write_table(people(500))
    content = path.read_bytes()
    for size in (6, 20, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        with pytest.raises(fd.InputCorruptError, match="contradicts its own format"):
            sanitize(path, Plan(columns=COLUMNS), tmp_path / "out.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["people.arrow"]


def test_flipped_bits__are_refused_or_harmless(tmp_path):
    """With page checksums no flip gives other data; without a readable footer there is no data at all."""
    path, out = tmp_path / "people.parquet", tmp_path / "out.parquet"
    pq.write_table(people(500), path, write_page_checksum=True)
    content, source = path.read_bytes(), np.random.default_rng(3)
    refused = 0
    for place in source.integers(4, len(content) - 8, 60):
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(source.integers(8))
        path.write_bytes(flipped)
        try:
            sanitize(path, Plan(columns=COLUMNS), out, force=True)
        except (fd.InputCorruptError, fd.SchemaError):
            refused += 1
    assert refused > 20
    assert not list(tmp_path.glob(".*.partial"))


def broken(kind: str) -> pa.Array:
    if kind == "utf-8 in a dictionary":
        return pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), broken("utf-8"))
    if kind == "index":
        return pa.DictionaryArray.from_arrays(pa.array([0, 9_999], pa.int32()), ["cold", "flu"], safe=False)
    return pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
    )


POLICIES = ({"nulls": "category", "null_label": "flu"}, {"out_of_domain": "uniform"}, {"out_of_domain": "flu"},
            {"nulls": "public"}, {"nulls": "drop"})  # fmt: skip


@pytest.mark.parametrize("kind", ["index", "utf-8", "utf-8 in a dictionary"])
@pytest.mark.parametrize("entry", ["keep", COLUMNS["disease"], *(COLUMNS["disease"] | more for more in POLICIES)])
def test_arrays_that_lie__are_refused(kind, entry):
    """Bad dictionary indices and invalid text, before anything follows them."""
    with pytest.raises(fd.InputCorruptError, match="'x'"):
        sanitize(pa.table({"x": broken(kind)}), Plan(columns={"x": entry}))


@pytest.mark.parametrize("kind", ["index", "utf-8", "utf-8 in a dictionary"])
@pytest.mark.parametrize("more", [{}, {"nulls": "public"}])
def test_reports_that_lie__are_refused(kind, more):
    with pytest.raises(fd.InputCorruptError, match="'x'"):
        fd.estimate_table(pa.table({"x": broken(kind)}), Plan(columns={"x": COLUMNS["disease"] | more}))


@pytest.mark.parametrize(
    ("values", "entry", "way_out"),
    [
        (["cold", "S3CRET"], "disease", "out_of_domain"),
        (["cold", None], "disease", "nulls"),
        ([1.0, float("nan")], "income", "nan"),
    ],
)
def test_errors__say_what_a_plan_can_do_about_it(values, entry, way_out):
    with pytest.raises(fd.DomainError, match=f"plan say what becomes of them: .*{way_out}") as caught:
        sanitize(pa.table({"x": values}), Plan(columns={"x": COLUMNS[entry]}))
    assert "S3CRET" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes by name here")
def test_pipes__are_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "o.csv")
    with pytest.raises(fd.OutputExistsError, match="device or a pipe"):
        sanitize(people(9), Plan(columns=COLUMNS), tmp_path / "o.csv", force=True)
    assert (tmp_path / "o.csv").is_fifo()
    assert len(list(tmp_path.iterdir())) == 1
