"""``fastdp sanitize`` in pipes and folders: data on standard output, everything else on standard error."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from fastdp.cli import main
from fastdp.io.stamps import METADATA_KEY
from fastdp.tables.chunks import CHUNK
from tests.patience import PATIENCE
from tests.tables.files import read, write
from tests.tables.people import PLAN, people

fcntl, termios = (importlib.import_module(name) if os.name == "posix" else None for name in ("fcntl", "termios"))

FASTDP = [sys.executable, "-c", "from fastdp.cli import main; main()"]
END = b"\xff\xff\xff\xff\0\0\0\0"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for kind in ("parquet", "arrow", "arrows", "csv", "folder"):
        write(people(2000), tmp_path / "people", kind)
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: str, given: bytes | None = None):
    return CliRunner().invoke(main, ["sanitize", *arguments, "-p", "plan.toml"], input=given)


@pytest.mark.parametrize("kind", ["arrow", "arrows", "csv"])
@pytest.mark.parametrize("to", [None, "arrow", "csv"])
def test_pipes__data_on_stdout_and_words_on_stderr(folder, kind, to):
    """By default CSV for CSV, else an Arrow stream, with its receipt but for what is known at the end."""
    content = (folder / f"people.{kind}").read_bytes()
    done = call("-", "-o", "-", *(["--to", to] if to else []), "--receipt", "r.json", given=content)
    assert done.exit_code == 0, done.stderr
    assert "2,000 records written to standard output" in done.stderr
    receipt = json.loads((folder / "r.json").read_text())
    assert receipt["rows"] == 2000
    if (to or kind) == "csv":
        table = pc.read_csv(io.BytesIO(done.stdout_bytes))
    else:
        assert done.stdout_bytes.endswith(END)
        table = pa.ipc.open_stream(done.stdout_bytes).read_all()
        inside = json.loads(table.schema.metadata[METADATA_KEY.encode()])
        assert receipt["job"].keys() == {"key", "versions", "root"}
        del receipt["release"], receipt["job"]["versions"], receipt["job"]["root"]
        assert inside == receipt | {"rows": None}
    assert table.num_rows == 2000
    assert table.column_names == ["region", "disease", "income", "age", "ill"]


def test_json_receipt__is_not_mixed_into_the_data(folder):
    done = call("people.csv", "-o", "-", "--json", "-q")
    assert json.loads(done.stderr)["rows"] == 2000
    assert done.stdout.startswith('"region"')
    assert (
        call("people.csv", "-o", "o.csv", "--json", "-q").stdout_bytes == (folder / "o.csv.receipt.json").read_bytes()
    )


@pytest.mark.parametrize(
    ("kind", "given"), [("csv", "csv"), ("arrows", "arrow"), ("arrow", "arrow"), ("parquet", "parquet")]
)
def test_formats__may_be_said_where_names_do_not_tell(folder, kind, given):
    (folder / f"people.{kind}").rename("people.dat")
    assert call("people.dat", "-o", "o.dat", "--from", given, "--to", "csv").exit_code == 0
    assert pc.read_csv("o.dat").num_rows == 2000
    (folder / "text.dat").write_text("x\n1\n")
    assert "content nor its ending" in call("text.dat", "-o", "o.csv").stderr


def test_content__tells_more_than_the_ending(folder):
    (folder / "people.arrows").rename("x.csv")
    assert call("x.csv", "-o", "o.parquet").exit_code == 0
    assert pq.read_table("o.parquet").num_rows == 2000


def test_folders_and_shuffle(folder):
    assert call("people/", "-o", "private/", "--shuffle").exit_code == 0
    assert [path.name for path in Path("private").iterdir()] == ["part-00000.parquet"]
    assert (folder / "private.receipt.json").exists()


def test_verbose__says_what_is_done_and_quiet_contradicts_it(folder):
    done = call("people.parquet", "-o", "o.parquet", "-v")
    for said in ("reading people.parquet", "'disease': KRR", "writing parquet", "2,000 rows sanitized", "in place"):
        assert said in done.stderr
    assert done.stdout == ""
    assert call("people.parquet", "-o", "p.parquet", "-v", "-q").exit_code == 2
    assert call("people.parquet", "-o", "q.parquet", "-q").output == ""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("-", "-o", "o.csv"), 2, "Parquet cannot be read from a pipe"),
        (("people.csv", "-o", "-", "--to", "parquet"), 2, "cannot be written to standard output"),
        (("people.csv", "-o", "o.xlsx"), 2, "tells no format"),
        (("people.csv", "-o", "o.csv", "--receipt", "o.csv"), 2, "same name"),
        (("people.csv", "-o", "o.csv", "--receipt", "plan.toml"), 5, "the output is the plan"),
        (("people.csv", "-o", "o.csv", "--receipt", "people.csv", "--force"), 5, "the output is the input"),
    ],
)
def test_what_cannot_be__is_said(folder, arguments, code, said):
    before = sorted(folder.iterdir())
    done = call(*arguments, given=(folder / "people.parquet").read_bytes())
    assert done.exit_code == code
    assert said in done.stderr
    assert done.stdout == ""
    assert sorted(folder.iterdir()) == before


def run(*arguments: str, stdin=None, **options):
    return subprocess.run(
        [*FASTDP, "sanitize", *arguments], stdin=stdin, capture_output=True, timeout=PATIENCE, **options
    )


class TestEndsEarly:
    """What is wrong halfway cannot be taken back, but it can be noticed."""

    def test_arrow__has_no_end_marker(self, folder):
        write(people(6 * CHUNK), folder / "many", "arrows")  # so that some chunks are through before the error
        content = (folder / "many.arrows").read_bytes()
        done = call("-", "-o", "-", "--receipt", "r.json", given=content[: len(content) * 3 // 4])
        assert done.exit_code == 3
        assert pa.ipc.open_stream(done.stdout_bytes).schema.names[0] == "region"
        assert not done.stdout_bytes.endswith(END)
        assert not (folder / "r.json").exists()
        again = call("-", "-o", "again.parquet", given=done.stdout_bytes)
        assert again.exit_code == 3

    def test_reader_gone__is_no_traceback(self, folder):
        """As when the output goes to ``head``."""
        write(people(100_000), folder / "many", "csv")
        command = [*FASTDP, "sanitize", "many.csv", "-p", "plan.toml", "-o", "-"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout.read(10)
            process.stdout.close()
            said = process.stderr.read().decode()
            assert process.wait(PATIENCE) == 1
        assert said == ""


def wait_for(process: subprocess.Popen, what, patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not what():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)


def unread(pipe) -> int:
    """Bytes of a pipe that its reader has not taken yet."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.skipif(fcntl is None, reason="no such signals here")
class TestSignals:
    """Ctrl-C and its kin leave nothing behind, also while standard input says nothing."""

    @pytest.mark.parametrize(
        ("output", "number", "code"),
        [
            ("o.parquet", signal.SIGINT, 130), ("o.csv", signal.SIGINT, 130), ("o/", signal.SIGINT, 130),
            ("o.arrow", signal.SIGTERM, 143),
        ],
    )  # fmt: skip
    def test_interrupted__leaves_nothing(self, folder, output, number, code):
        before = sorted(folder.rglob("*"))
        command = [*FASTDP, "sanitize", "-", "-p", "plan.toml", "-o", output, "--shuffle"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdin.write((folder / "people.arrows").read_bytes()[:-8])
            process.stdin.flush()
            wait_for(process, lambda: list(folder.glob(".*.partial")))
            process.send_signal(number)
            said = process.stderr.read().decode()
            assert process.wait(PATIENCE) == code, said
        assert "Traceback" not in said
        assert sorted(folder.rglob("*")) == before

    @pytest.mark.parametrize("kind", ["csv", "arrows"])
    def test_estimates__are_interrupted_too(self, folder, kind):
        assert run("people.csv", "-p", "plan.toml", "-o", f"o.{kind}").returncode == 0
        command = [*FASTDP, "estimate", "-", "-p", "plan.toml"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdin.write((folder / f"o.{kind}").read_bytes()[:-8])
            process.stdin.flush()
            wait_for(process, lambda: unread(process.stdin) == 0)
            process.send_signal(signal.SIGINT)
            said = process.stderr.read().decode()
            assert process.wait(PATIENCE) == 130, said
        assert "Traceback" not in said

    def test_bad_rows__end_a_stream_that_goes_on(self, folder):
        """With an exit status, not by a signal, though Arrow's own thread waits for more."""
        with subprocess.Popen(
            [*FASTDP, "sanitize", "-", "-p", "plan.toml", "-o", "o.csv"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            text = (folder / "people.csv").read_bytes()
            names, rest = text.split(b"\n", 1)
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(names + b'\n"x","1","nothing",1,1,\n' + rest * (1 + (20 << 20) // len(rest)))
                process.stdin.flush()
            said = process.stderr.read().decode()
            assert process.wait(PATIENCE) == 3, said
        assert "outside its declared domain" in said
        assert not list(folder.glob("*o.csv*"))

    @pytest.mark.slow
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_interrupted_at_any_time__leaves_nothing(self, folder, number):
        """Or, where the signal came when all was done, the whole of it."""
        write(people(300_000), folder / "many", "csv")
        before = sorted(folder.rglob("*"))
        for step in range(25):
            output = ("o.parquet", "o.csv", "o/", "o.arrows")[step % 4]
            command = [*FASTDP, "sanitize", "many.csv", "-p", "plan.toml", "-o", output, "--shuffle"]
            with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
                wait_for(process, lambda: list(folder.glob(".*.partial")))
                time.sleep(0.03 * step)  # so that it is at another point every time; any will do
                process.send_signal(number)
                said = process.stderr.read().decode()
                done = process.wait(PATIENCE)
            assert "Traceback" not in said
            assert done in {0, -number, 128 + number}, said
            if sorted(folder.rglob("*")) == before:
                continue
            assert not list(folder.glob(".*")), said
            assert read(output).num_rows == 300_000
            assert (folder / f"{output.rstrip('/')}.receipt.json").exists()
            for made in folder.glob("o*"):
                subprocess.run(["rm", "-r", str(made)], check=True)


def test_large_pipe__in_a_shell(folder):
    """Two of them after each other; the second keeps what the first made."""
    keep = "".join(f'[columns.{name}]\naction = "keep"\n' for name in ("region", "disease", "income", "age", "ill"))
    (folder / "keep.toml").write_text(keep)
    with Path("people.csv").open("rb") as file:
        first = run("-", "-p", "plan.toml", "-o", "-", stdin=file)
    second = subprocess.run(
        [*FASTDP, "sanitize", "-", "-p", "keep.toml", "-o", "-"],
        input=first.stdout,
        capture_output=True,
        timeout=PATIENCE,
    )
    assert (first.returncode, second.returncode) == (0, 0)
    values = [pc.read_csv(io.BytesIO(done.stdout)) for done in (first, second)]
    assert values[0].equals(values[1])
