"""Signals in the middle of a stream and disks that are full: never a partial output at its final path."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.counts import LEAST, TRIED
from tests.tables.files import path_for, read, write
from tests.tables.people import PLAN, people

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")]

FORMATS = ("parquet", "arrow", "arrows", "csv")
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL")
ORDERS = ((), ("--shuffle",))
LIMITS = (0, 1, 500, 4096, 16_384)
"""Bytes that a file may have at most: what a disk does that fills up."""
ROWS = 5000
BLOCKS = 3
"""How often the table is sent before the signal, some 12 MB of text: more than pipes and readers hold."""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from fastdp.cli import main; main()", "sanitize", *arguments, "--quiet"]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"plan.toml", "in.parquet", "in.csv"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


@pytest.mark.parametrize("order", ORDERS, ids=["in order", "shuffled"])
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", SIGNALS)
def test_signals__leave_no_partial_output(folder, name, kind, order):
    """The process has read most of what was sent, and waits for more, when the signal comes."""
    text = Path(write(people(100_000), folder / "in", "csv")).read_bytes()
    header, _, rows = text.partition(b"\n")
    output = path_for(folder / "out", kind)
    arguments = command("-", "--from", "csv", "-p", str(folder / "plan.toml"), "-o", output, *order)
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=Path.cwd()) as process:
        process.stdin.write(header + b"\n" + rows * BLOCKS)  # returns once it was read, but for a pipe's worth
        process.stdin.flush()
        assert process.poll() is None
        process.send_signal(getattr(signal, name))
        _, said = process.communicate()
    TRIED["faults"] += 1
    assert process.returncode != 0
    assert b"Traceback" not in said
    assert not Path(output).exists()
    if name != "SIGKILL":  # after which nobody can clean up
        assert not names(folder)


@pytest.mark.parametrize("order", ORDERS, ids=["in order", "shuffled"])
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("limit", LIMITS)
def test_full_disks__leave_no_partial_output(folder, limit, kind, order):
    """Status 5, a message without a traceback, and nothing left behind; without the limit it works."""
    import resource

    source, output = write(people(ROWS), folder / "in", "parquet"), path_for(folder / "out", kind)
    arguments = command(source, "-p", str(folder / "plan.toml"), "-o", output, *order)

    def cap() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(arguments, preexec_fn=cap, capture_output=True, cwd=Path.cwd())
    TRIED["faults"] += 1
    assert done.returncode == 5, (done.returncode, done.stderr)
    assert b"Traceback" not in done.stderr
    assert not names(folder)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("kind", ["arrow", "csv"])
def test_standard_output_that_is_full__is_told(folder, kind):
    source = write(people(ROWS), folder / "in", "parquet")
    arguments = command(source, "-p", str(folder / "plan.toml"), "-o", "-", "--to", kind)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, cwd=Path.cwd())
    TRIED["faults"] += 1
    assert done.returncode == 5, (done.returncode, done.stderr)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("kind", FORMATS)
def test_without_faults__all_is_written(folder, kind):
    """The same command, so that the others do not fail for another reason."""
    source, output = write(people(ROWS), folder / "in", "parquet"), path_for(folder / "out", kind)
    done = subprocess.run(command(source, "-p", str(folder / "plan.toml"), "-o", output), capture_output=True)
    assert done.returncode == 0, done.stderr
    assert read(output).num_rows == ROWS


def test_faults__are_as_many_as_promised():
    signals, disks = len(SIGNALS) * len(FORMATS) * len(ORDERS), len(LIMITS) * len(FORMATS) * len(ORDERS)
    assert signals + disks >= LEAST["faults"]
