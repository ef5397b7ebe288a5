"""Files that are cut, flipped or lie: exit status 3, no output, no signal, no traceback, whatever the format."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import fastdp as fd
from fastdp.cli import main
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize
from tests.io.test_atomic import broken
from tests.patience import PATIENCE
from tests.tables.files import read, write
from tests.tables.people import COLUMNS, PLAN, people

FORMATS = ("parquet", "arrow", "arrows", "csv")
ROWS = 600


@pytest.fixture
def file(tmp_path):
    """Makes a file in a format; gives its path, its bytes and a function that runs sanitize on other bytes."""
    (tmp_path / "plan.toml").write_text(PLAN)

    def make(kind: str):
        path = Path(write(people(ROWS), tmp_path / "in", kind))

        def check(content: bytes) -> bool:
            """Whether it is refused; if not, the output is whole."""
            path.write_bytes(content)
            arguments = ["sanitize", str(path), "-p", str(tmp_path / "plan.toml"), "-o", str(tmp_path / "o.arrows")]
            done = CliRunner().invoke(main, [*arguments, "--from", "arrow" if kind == "arrows" else kind])
            assert done.exit_code in {0, 3}, (done.exit_code, done.stderr)
            assert "Traceback" not in done.output
            names = {found.name for found in tmp_path.iterdir()} - {path.name, "plan.toml"}
            if done.exit_code == 3:
                assert not names
                return True
            assert names == {"o.arrows", "o.arrows.receipt.json"}
            read(str(tmp_path / "o.arrows")).validate(full=True)
            for name in names:
                (tmp_path / name).unlink()
            return False

        return path.read_bytes(), check

    return make


@pytest.mark.parametrize("kind", FORMATS)
def test_cut_files__are_refused(file, kind):
    """CSV has no end: it is refused where a row or a quote is cut."""
    content, check = file(kind)
    sizes = np.random.default_rng(2).integers(1, len(content) - 1, 25).tolist()
    for size in [0, 1, 4, 7, 8, len(content) // 2, len(content) - 1, *sizes]:
        cut = content[:size]
        whole_rows = kind == "csv" and cut.count(b"\n") and cut.rpartition(b"\n")[2].count(b",") == 5
        last_quote_closed = cut.count(b'"') % 2 == 0
        if kind == "csv" and (cut.endswith(b"\n") or (whole_rows and last_quote_closed)):
            continue
        assert check(cut), size


@pytest.mark.parametrize("kind", FORMATS)
def test_flipped_bits__end_well(file, kind):
    """Refused, or taken as the other data that they now are; never a crash or a partial file."""
    content, check = file(kind)
    source = np.random.default_rng(3)
    refused = 0
    for place in source.integers(0, len(content), 25):
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(source.integers(8))
        refused += check(bytes(flipped))
    assert refused


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_many_flipped_bits__end_no_process(tmp_path, kind):
    """Two thousand files in processes of their own, which would be gone after a signal."""
    code = """
import sys
import numpy as np
import fastdp as fd
from pathlib import Path
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize
from tests.tables.people import COLUMNS
path, kind, plan = Path(sys.argv[1]), sys.argv[2], Plan(columns=COLUMNS)
source = np.random.default_rng(int(sys.argv[3]))
content = path.read_bytes()
for _ in range(500):
    flipped = bytearray(content)
    for place in source.integers(0, len(content), source.integers(1, 20)):
        flipped[place] ^= 1 << int(source.integers(8))
    path.write_bytes(flipped)
    try:
        sanitize(path, plan, input_format=kind)
    except (fd.InputCorruptError, fd.SchemaError, fd.DomainError):
        pass
"""
    write(people(ROWS), tmp_path / "in", kind)
    for seed in range(4):
        asked = "arrow" if kind == "arrows" else kind
        command = [sys.executable, "-c", code, str(tmp_path / f"in.{kind}"), asked, str(seed)]
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE, cwd=Path.cwd())
        assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("kind", ["arrow", "arrows"])
@pytest.mark.parametrize("lie", ["index", "utf-8", "utf-8 in a dictionary"])
@pytest.mark.parametrize("entry", ["keep", COLUMNS["disease"]])
def test_arrays_that_lie__are_refused_in_files(tmp_path, kind, lie, entry):
    path = write(pa.table({"x": broken(lie)}), tmp_path / "in", kind)
    with pytest.raises(fd.InputCorruptError, match="'x'"):
        sanitize(path, Plan(columns={"x": entry}), tmp_path / "o.parquet")
    assert [found.name for found in tmp_path.iterdir()] == [f"in.{kind}"]


@pytest.mark.parametrize("entry", ["keep", COLUMNS["disease"]])
def test_text_that_is_none__is_refused_in_parquet(tmp_path, entry):
    pq.write_table(pa.table({"x": broken("utf-8")}), tmp_path / "in.parquet")
    with pytest.raises(fd.InputCorruptError):
        sanitize(tmp_path / "in.parquet", Plan(columns={"x": entry}), tmp_path / "o.parquet")


def test_end_of_a_stream__must_be_marked(tmp_path):
    """Batches that are missing at its end would not be missed otherwise."""
    path = Path(write(people(ROWS), tmp_path / "in", "arrows", rows=100))
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(fd.InputCorruptError, match="end marker"):
        sanitize(path, Plan(columns=COLUMNS), tmp_path / "o.parquet")
    assert [found.name for found in tmp_path.iterdir()] == ["in.arrows"]


def test_length_that_is_a_lie__takes_no_memory(tmp_path):
    """A stream whose first message claims two gigabytes."""
    (tmp_path / "in.arrows").write_bytes(b"\xff\xff\xff\xff\xff\xff\xff\x7f" + bytes(100))
    with pytest.raises(fd.InputCorruptError):
        sanitize(tmp_path / "in.arrows", Plan(columns=COLUMNS), tmp_path / "o.parquet")
