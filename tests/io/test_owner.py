"""Errors of files name the operation that reads or writes them, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import fastdp as fd
import fastdp.io
from fastdp.cli.main import main
from fastdp.io.atomic import check_apart, check_free
from fastdp.io.csv import CsvSink
from fastdp.io.formats import check_format, output_kind
from fastdp.io.open import open_source
from fastdp.io.outputs import Output
from fastdp.io.sinks import Target, writable
from fastdp.locations import Grid
from fastdp.locations.survey import survey

PLAN = fd.Plan(columns={name: {"mechanism": "laplace", "epsilon": 1.0, "bounds": [-180, 180]} for name in ("x", "y")})
TOML = "".join(f'[columns.{name}]\nmechanism = "laplace"\nepsilon = 1.0\nbounds = [-180, 180]\n' for name in ("x", "y"))
GRID = Grid(x=(0, 10), y=(0, 10), cell=1)
MAP = ["--x", "x", "--y", "y", "--region", "0,10,0,10", "--cell", "1m", "--epsilon", "1/m", "--json"]
TABLE = pa.table({"x": [1.0, 2.0] * 500, "y": [3.0, 4.0] * 500})


def broken_page(folder):
    path = folder / "page.parquet"
    pq.write_table(TABLE, path, write_page_checksum=True, use_dictionary=False, compression="none")
    content = bytearray(path.read_bytes())
    content[200:220] = bytes(20)
    path.write_bytes(content)
    return path


def unfinished_stream(folder):
    path = folder / "unfinished.arrows"
    with path.open("wb") as file, pa.ipc.new_stream(file, TABLE.schema) as writer:
        writer.write_table(TABLE)
        file.flush()
        content = path.read_bytes()
    path.write_bytes(content)
    return path


def text(folder, name, content):
    path = folder / name
    path.write_text(content)
    return path


def mixed_folder(folder):
    path = folder / "mixed"
    path.mkdir()
    pq.write_table(TABLE, path / "a.parquet")
    pq.write_table(TABLE.rename_columns(["x", "z"]), path / "b.parquet")
    return path


def empty_folder(folder):
    path = folder / "empty"
    path.mkdir()
    return path


UNREADABLE = {
    "not Parquet": lambda folder: text(folder, "bad.parquet", "PAR1 and nothing else"),
    "not Arrow": lambda folder: text(folder, "bad.arrow", "ARROW1 and nothing else"),
    "no format": lambda folder: text(folder, "data.txt", "x,y\n1,2\n"),
    "no header": lambda folder: text(folder, "none.csv", ""),
    "empty folder": empty_folder,
    "two tables in a folder": mixed_folder,
}
"""Refused when they are opened."""
BROKEN = {
    "broken page": broken_page,
    "unfinished stream": unfinished_stream,
    "open quote": lambda folder: text(folder, "quote.csv", 'x,y\n1,2\n3,"4\n'),
    "odd row": lambda folder: text(folder, "row.csv", "x,y\n1,2\n3\n"),
    "text for a number": lambda folder: text(folder, "word.csv", "x,y\n1,2\n3,four\n"),
}
"""Refused when their rows are read."""
READERS = {
    "sanitize": lambda source: fd.sanitize(source, PLAN),
    "estimate": lambda source: fd.estimate_table(source, PLAN),
    "survey": lambda source: survey(source, GRID, epsilon=1.0, columns=("x", "y"), curve=False),
}


@pytest.mark.parametrize("owner", READERS)
@pytest.mark.parametrize("bad", [*UNREADABLE, *BROKEN])
def test_bad_file__is_refused_by_the_one_who_reads_it(bad, owner, tmp_path):
    path = (UNREADABLE | BROKEN)[bad](tmp_path)
    with pytest.raises(fd.FastDPError, match=f"^{owner}: (?!.*(sanitize|estimate|survey): )"):
        READERS[owner](path)


@pytest.mark.parametrize("owner", READERS)
@pytest.mark.parametrize("thing", [object(), {"x": [1.0], "y": [1.0, 2.0]}])
def test_thing_that_is_no_table__is_refused_by_the_one_who_reads_it(thing, owner):
    with pytest.raises(fd.FastDPError, match=f"^{owner}: "):
        READERS[owner](thing)


@pytest.mark.parametrize(
    ("command", "owner"),
    [
        (["plan", "init", "{bad}"], "plan"),
        (["plan", "check", "{plan}", "{bad}"], "plan"),
        (["estimate", "{bad}", "-p", "{plan}"], "estimate"),
        (["geo", "{bad}", *MAP], "survey"),
        (["sanitize", "{bad}", "-p", "{plan}", "-o", "{out}"], "sanitize"),
    ],
)
@pytest.mark.parametrize("bad", UNREADABLE)
def test_command__names_itself(command, owner, bad, tmp_path):
    places = {
        "bad": UNREADABLE[bad](tmp_path), "plan": text(tmp_path, "plan.toml", TOML), "out": tmp_path / "out.parquet"
    }  # fmt: skip
    done = CliRunner().invoke(main, [word.format(**places) for word in command], env={"COLUMNS": "200"})
    assert done.exit_code != 0
    said = re.findall(r"\b(sanitize|estimate|survey|geo|plan): ", done.output)
    assert said == [owner]


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        ("x\n1\n", [":5: y: is not in the file"]),
        ("x,y,z\n1,2,3\n", [": z: is not in the plan"]),
        ("x,x,y\n1,2,3\n", [":1: x: appears 2 times in the file"]),
        ("z,x,x,z\n1,2,3,4\n", [
            ": z: appears 2 times in the file", ":1: x: appears 2 times in the file", ": z: is not in the plan",
            ":5: y: is not in the file",
        ]),
    ],
)  # fmt: skip
def test_plan_check__names_the_plan_where_columns_do_not_fit(content, problems, tmp_path):
    plan = text(tmp_path, "plan.toml", TOML)
    done = CliRunner().invoke(main, ["plan", "check", str(plan), str(text(tmp_path, "data.csv", content))])
    assert done.exit_code == 3
    listed = [line for line in done.output.splitlines() if line.startswith(f"{plan}:")]
    assert len(listed) == len(problems)
    for line, problem in zip(listed, problems, strict=True):
        assert line.startswith(f"{plan}{problem}")
    assert "sanitize: " not in done.output


@pytest.mark.parametrize("kind", [pa.string(), pa.list_(pa.float64())])
def test_plan_check__names_the_plan_where_types_do_not_fit(kind, tmp_path):
    pq.write_table(pa.table({"x": pa.nulls(3, kind), "y": [1.0, 2.0, 3.0]}), tmp_path / "data.parquet")
    plan = text(tmp_path, "plan.toml", TOML)
    done = CliRunner().invoke(main, ["plan", "check", str(plan), str(tmp_path / "data.parquet")])
    assert done.exit_code == 3
    assert f"{plan}:1: x: Laplace: " in done.output
    assert "sanitize: " not in done.output


def test_outputs__are_refused_by_the_one_who_writes_them(tmp_path):
    taken, schema = text(tmp_path, "taken.csv", ""), pa.schema([("x", pa.list_(pa.int64()))])
    source = open_source("query", TABLE)

    def spoil():
        with writable("query"):
            raise pa.ArrowInvalid("a value")

    for refused in (
        lambda: check_free(taken, force=False, owner="query"),
        lambda: check_apart(taken, taken, owner="query"),
        lambda: check_format("query", "output_format", "xml"),
        lambda: output_kind("query", None, "parquet", None),
        lambda: Output("query", source, taken),
        lambda: Output("query", source, f"{tmp_path}/"),
        lambda: Output("query", source, tmp_path / "same.csv", receipt=tmp_path / "same.csv"),
        lambda: CsvSink(Target("query", tmp_path / "lists.csv", None), schema),
        spoil,
    ):
        with pytest.raises(fd.FastDPError, match="^query: "):
            refused()


def test_source__of_fastdp_io_names_no_operation():
    """Whatever reads or writes says on whose behalf; no file there has a name of its own choice."""
    for path in Path(fastdp.io.__path__[0]).glob("*.py"):
        assert not re.search(r"\b(sanitize|estimate|survey|geo): ", path.read_text()), path.name
