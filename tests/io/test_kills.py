"""Killed at any point, or on a disk that fails: never a partial output, whatever its format."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fastdp.io.csv import CsvSink
from fastdp.io.folders import FolderSink
from fastdp.io.ipc import IpcSink
from fastdp.io.parquet import ParquetSink
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize
from tests.patience import PATIENCE
from tests.tables.files import KINDS, path_for, read, write
from tests.tables.people import COLUMNS, people
from tests.tables.people import PLAN as PEOPLE

PLAN = Plan(columns=COLUMNS)
ROWS = 5000

KILL = """
import os, signal, sys
import pyarrow as pa, pyarrow.csv, pyarrow.parquet
from fastdp.io import atomic
from fastdp.io import folders
from fastdp.tables.sanitizing import shuffle
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize
from tests.tables.people import COLUMNS

source, output, place, left = *sys.argv[1:4], int(sys.argv[4])
POINTS = {
    "spill": (shuffle._Spill, "write"),
    "sort": (shuffle.Shuffler, "batches"),
    "flush": (os, "fsync"),
    "link": (os, "link"),
    "rename": (type(folders.Path()), "rename"),
    "folder": (folders, "flush_folder"),
    "commit": (atomic.AtomicFile, "commit"),
}
owner, name = POINTS[place]
real = getattr(owner, name)

def die(*given, **named):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*given, **named)

setattr(owner, name, die)
shuffle.MEMORY = 10_000
sanitize(source, Plan(columns=COLUMNS), output, batch_rows=1000, shuffle=True)
"""


def is_whole_or_absent(output: str) -> bool:
    """At the final path there is nothing, or all of it."""
    return not Path(output).exists() or read(output).num_rows == ROWS


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
@pytest.mark.parametrize(
    ("kind", "place", "left"),
    [
        ("csv", "spill", 3), ("csv", "link", 2), ("folder", "rename", 1), ("folder", "commit", 1),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in (
            ("csv", "link", 1), ("arrows", "sort", 1), ("folder", "flush", 1), ("folder", "folder", 2),
        )),
    ],
)  # fmt: skip
def test_kill__leaves_no_partial_output(tmp_path, kind, place, left):
    """Nothing of the spilled rows is left either, and a rerun succeeds."""
    source, output = write(people(ROWS), tmp_path / "in", "parquet"), path_for(tmp_path / "out", kind)
    command = [sys.executable, "-c", KILL, source, output, place, str(left)]
    done = subprocess.run(command, timeout=PATIENCE, cwd=Path.cwd(), capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert is_whole_or_absent(output)
    left_over = {path.name for path in tmp_path.iterdir()} - {"in.parquet", "out", "out.csv", "out.arrows"}
    assert all(name.endswith((".partial", ".receipt.json")) for name in left_over)
    again = path_for(tmp_path / "again", kind)
    sanitize(source, PLAN, again)
    assert read(again).num_rows == ROWS


RANDOM = """
import itertools, os, sys
from fastdp.io import folders
from fastdp.tables.sanitizing import shuffle
from fastdp.io.csv import CsvSink
from fastdp.io.folders import FolderSink
from fastdp.io.ipc import IpcSink
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize
from fastdp.io.parquet import ParquetSink
from tests.tables.people import COLUMNS

def say(word):
    os.write(1, word)

def announce(owner, name):
    real = getattr(owner, name)
    def called(*given, **named):
        say(b".")
        return real(*given, **named)
    setattr(owner, name, called)

for owner in (CsvSink, FolderSink, IpcSink, ParquetSink):
    announce(owner, "write")
for owner, name in ((os, "fsync"), (os, "link"), (folders.Path, "rename"), (shuffle._Spill, "write")):
    announce(owner, name)
plan = Plan(columns=COLUMNS)
for index in itertools.count():
    sanitize(sys.argv[1], plan, sys.argv[2].replace("NUMBER", str(index)), batch_rows=500, shuffle=index % 2 == 1)
    say(b"!")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
@pytest.mark.parametrize(
    ("kind", "kills"),
    [("csv", 1), ("folder", 1), *(pytest.param(kind, 12, marks=pytest.mark.slow) for kind in KINDS)],
)
def test_kill_at_random_times__leaves_no_partial_output(tmp_path, kind, kills):
    """Release after release until the process is killed: each is whole, or not there.

    It is killed after one whole release and some further writes, flushes and renames, which it announces, and so at
    another point every time; how fast it is does not matter.
    """
    source, steps = write(people(ROWS), tmp_path / "in", "parquet"), random.Random(kind)
    for attempt in range(kills):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        command = [sys.executable, "-c", RANDOM, source, path_for(folder / "NUMBER", kind)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0, cwd=Path.cwd()) as process:
            while (said := process.stdout.read(1)) == b".":
                pass
            for _ in range(steps.randrange(40)):
                process.stdout.read(1)
            process.kill()
        assert said == b"!"
        assert process.returncode == -signal.SIGKILL
        made = [path for path in folder.iterdir() if not path.name.endswith((".partial", ".receipt.json"))]
        assert made
        for path in made:
            assert read(f"{path}/" if path.is_dir() else str(path)).num_rows == ROWS


def test_kill_check__sees_a_partial_output(tmp_path):
    """The mutant: a file that is written where it is to be."""
    whole = write(people(ROWS), tmp_path / "whole", "csv")
    (tmp_path / "part.csv").write_bytes(Path(whole).read_bytes()[:100_000].rpartition(b"\n")[0])
    assert is_whole_or_absent(whole)
    assert not is_whole_or_absent(str(tmp_path / "part.csv"))


WRITERS = {"csv": CsvSink, "arrow": IpcSink, "arrows": IpcSink, "parquet": ParquetSink, "folder": FolderSink}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("point", "left"), [("write", 1), ("write", 2), *(("fsync", left) for left in (1, 2, 3, 4))])
def test_failing_disk__leaves_nothing(tmp_path, monkeypatch, kind, point, left):
    """Full while rows are written; or any flush fails: of the file, its receipt, or the folder that got their names."""
    source = write(people(ROWS), tmp_path / "in", "parquet")
    owner, name = (WRITERS[kind], "write") if point == "write" else (os, "fsync")
    real = getattr(owner, name)

    def fail(*given, **named):
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(28, "No space left on device")
        return real(*given, **named)

    monkeypatch.setattr(owner, name, fail)
    with pytest.raises(OSError, match="No space left"):
        sanitize(source, PLAN, path_for(tmp_path / "out", kind), batch_rows=1000)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")
@pytest.mark.parametrize("to", ["csv", "arrow"])
def test_full_standard_output__is_an_error(tmp_path, to):
    source = write(people(ROWS), tmp_path / "in", "parquet")
    (tmp_path / "plan.toml").write_text(PEOPLE)
    command = [sys.executable, "-c", "from fastdp.cli import main; main()"]
    command += ["sanitize", source, "-p", str(tmp_path / "plan.toml"), "-o", "-", "--to", to]
    command += ["--receipt", str(tmp_path / "r")]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE)
    assert done.returncode == 5
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr
    assert not (tmp_path / "r").exists()
