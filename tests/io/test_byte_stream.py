"""Bytes that come once: whole reads from pieces, a look ahead, an end to waiting."""

from __future__ import annotations

import io
import os
import threading

import pyarrow.csv as pc
import pytest

import fastdp as fd
from fastdp.io.byte_stream import ByteStream, Cancelled
from fastdp.io.open import open_source
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize
from tests.patience import PATIENCE
from tests.tables.files import write
from tests.tables.people import COLUMNS, people

PLAN = Plan(columns=COLUMNS)


def pieces(size: int, content: bytes) -> ByteStream:
    """A stream that never gives more than ``size`` bytes at once."""
    file = io.BytesIO(content)
    return ByteStream(lambda count, _: file.read(min(count, size)), "x")


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_reads__are_whole_until_the_end(size):
    stream = pieces(size, b"0123456789")
    assert stream.peek(3) == b"012"
    assert stream.peek(5) == b"01234"
    assert stream.peek(2) == b"01"
    assert [stream.read(4), stream.read(4), stream.read(4), stream.read(4)] == [b"0123", b"4567", b"89", b""]
    assert stream.tail == b"23456789"
    stream.give_back(b"ab")
    assert stream.read(3) == b"ab"


def test_cancel__wakes_a_read_that_waits():
    """As a reader on standard input must end when the job does."""
    ours, theirs = os.pipe()
    stream = ByteStream._of_handle(ours, "pipe", owned=True)
    ended = []

    def wait():
        try:
            stream.read(1)
        except Cancelled:
            ended.append(True)

    thread = threading.Thread(target=wait)
    thread.start()
    while not stream._reads:  # until it is in its read
        thread.join(0.01)
    assert thread.is_alive()
    stream.cancel()
    thread.join(PATIENCE)
    os.close(theirs)
    stream.close()
    assert ended == [True]


@pytest.mark.parametrize("kind", ["csv", "arrow", "arrows"])
def test_pipes_by_name__are_read_once(tmp_path, kind):
    """A named pipe has no content to look at twice."""
    content = (tmp_path / write(people(500), tmp_path / "in", kind)).read_bytes()
    os.mkfifo(tmp_path / "pipe")
    thread = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(content))
    thread.start()
    result = sanitize(tmp_path / "pipe", PLAN, rng=fd.Rng.unsafe_seed(1))
    thread.join()
    assert result["income"].equals(sanitize(people(500), PLAN, rng=fd.Rng.unsafe_seed(1))["income"])


def test_standard_input__may_be_an_object(monkeypatch, tmp_path):
    content = (tmp_path / write(people(500), tmp_path / "in", "arrows")).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert open_source("sanitize", "-").schema.names == people(1).column_names


def test_missing_file__is_the_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_source("sanitize", tmp_path / "none.csv")


@pytest.mark.parametrize(("option", "value"), [("input_format", "xml"), ("output_format", "parquett")])
def test_unknown_formats__are_refused(tmp_path, option, value):
    path = write(people(5), tmp_path / "in", "csv")
    with pytest.raises(fd.ParameterError, match=f"{option}: unknown format"):
        sanitize(path, PLAN, tmp_path / "o.csv", **{option: value})


@pytest.mark.parametrize("ending", ["csv", "arrow", "arrows"])
def test_progress__expects_as_many_rows_as_the_rest_would_have(tmp_path, ending):
    """Where no one knows the number, it follows from how much of the file has been read."""
    rows, seen = 200_000, []
    file = write(people(rows), tmp_path / "people", ending, rows=20_000)
    sanitize(file, PLAN, batch_rows=10_000, progress=lambda done, total: seen.append((done, total)))
    assert all(total >= done for done, total in seen)
    assert seen[-1] == (rows, rows)
    if ending != "csv":  # of which Arrow reads a few blocks ahead, and not only a batch or two
        assert 0.6 * rows < seen[len(seen) // 2][1] < 1.1 * rows


def test_progress__of_a_pipe_expects_nothing(monkeypatch):
    text = io.BytesIO()
    pc.write_csv(people(100), text)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.getvalue())))
    seen = []
    sanitize("-", PLAN, progress=lambda *both: seen.append(both))
    assert seen == [(100, None)]
