"""Comma-separated text: types by the plan, text kept as it is, errors that name the column."""

from __future__ import annotations

import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.io.csv import source as csv_files
from fastdp.io.open import open_source
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize

LAPLACE = {"mechanism": "laplace", "epsilon": 1.0, "bounds": [0, 9]}
GEOMETRIC = {"mechanism": "geometric", "epsilon": 1.0, "bounds": [0, 9]}
KRR = {"mechanism": "krr", "epsilon": 1.0, "domain": ["a", "b"]}
KEEP = Plan(columns={"x": "keep", "y": "keep"})
TRICKY = 'x,y\n0012,\n"","say ""hi"", he said"\n1.50,"line\nbreak"\nNA,null\n" a ","é\r\n"\n'


@pytest.fixture
def file(tmp_path):
    def make(content: str | bytes) -> str:
        path = tmp_path / "in.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return make


def test_kept_text__is_unchanged(file, tmp_path):
    """Zeros in front, quotes, line breaks, what looks like null elsewhere; a null is an empty field."""
    kept = sanitize(file(TRICKY), KEEP)
    assert kept["x"].to_pylist() == ["0012", "", "1.50", "NA", " a "]
    assert kept["y"].to_pylist() == [None, 'say "hi", he said', "line\nbreak", "null", "é\r\n"]
    sanitize(file(TRICKY), KEEP, tmp_path / "out.csv")
    assert sanitize(tmp_path / "out.csv", KEEP).equals(kept)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("last", ["", "END"])
def test_line_ends_and_marks__are_understood(file, end, mark, last):
    text = mark + '"x\n1",y\n1,2\n3,4\n'.replace("\n", end) + ("" if last else "5,6")
    result = sanitize(file(text), Plan(columns={f"x{end}1": "keep", "y": "keep"}))
    assert result["y"].to_pylist() == ["2", "4"] + ([] if last else ["6"])


def test_single_column__has_its_nulls(file):
    result = sanitize(file("x\n1\n\n3\n"), Plan(columns={"x": GEOMETRIC | {"nulls": "public"}}))
    assert result["x"].is_null().to_pylist() == [False, True, False]


def test_types__come_from_the_plan(file):
    """A column of whole numbers is one of floats if its mechanism takes floats, and so on."""
    plan = Plan(columns={
        "f": LAPLACE, "i": GEOMETRIC, "b": {"mechanism": "randomized_response", "epsilon": 1.0}, "l": KRR, "k": "keep",
        "n": {"mechanism": "krr", "epsilon": 1.0, "domain": [3, 5]},
    })  # fmt: skip
    path = file("f,i,b,l,k,n\n1,1,true,a,1,3\n2.5,2,0,b,2,5\n")
    kinds = [pa.float64(), pa.int64(), pa.bool_(), pa.string(), pa.string(), pa.int64()]
    assert sanitize(path, plan).schema.types == kinds
    assert open_source("sanitize", path).schema.types == [pa.string()] * 6


def test_no_rows__give_no_rows(file, tmp_path):
    for text in ("x,y", "x,y\n"):
        assert sanitize(file(text), KEEP).num_rows == 0
    sanitize(file("x,y\n"), KEEP, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == '"x","y"\n'


BAD = "canary-7"


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        (f"x,y\n1,1\n{BAD},2\n", fd.DomainError, "column 'x' holds text that is no double"),
        (f"x,y\n1,1\n2,{BAD}\n", fd.DomainError, "column 'y' holds text that is no int64"),
        ("x,y\n1,1\n2,1.5\n", fd.DomainError, "column 'y'"),
        ("x,y\n1,1\n2,99999999999999999999\n", fd.DomainError, "column 'y'"),
        ("x,y\n1,1\nnan,2\n", fd.DomainError, "column 'x'"),
        ("x,y\n1,1\n,2\n", fd.DomainError, "column 'x'.*nulls"),
        (f"x,y\n1,1\n2,3,{BAD}\n", fd.InputCorruptError, "more or fewer fields"),
        (f"x,y\n1,1\n{BAD}\n", fd.InputCorruptError, "more or fewer fields"),
        ('x,y\n1,"1\n2,3\n', fd.DomainError, "column 'y'"),
        ("", fd.InputCorruptError, "no row with the names"),
        ("\n", fd.InputCorruptError, "no row with the names"),
        ('"x,y\n1,2\n', fd.InputCorruptError, "no row of names"),
        (b"x,\xff\n1,2\n", fd.InputCorruptError, "no row of names"),
        ("x,x\n1,2\n", fd.SchemaError, "more than once"),
        ("x,z\n1,2\n", fd.SchemaError, "'z' is not in the plan"),
    ],
)
def test_bad_text__is_refused_and_withheld(file, tmp_path, text, error, said):
    plan = Plan(columns={"x": LAPLACE, "y": GEOMETRIC})
    with pytest.raises(error, match=said) as caught:
        sanitize(file(text), plan, tmp_path / "out.csv")
    assert BAD not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


@pytest.mark.parametrize("entry", ["keep", KRR])
def test_bytes_that_are_no_text__name_the_column(file, entry):
    with pytest.raises(fd.InputCorruptError, match="column 'y' holds bytes that are not UTF-8"):
        sanitize(file(b"x,y\n1,a\n2,\xff\xfe\n"), Plan(columns={"x": "keep", "y": entry}))


def test_open_quote__is_refused(file):
    """It would swallow the rows after it."""
    with pytest.raises(fd.InputCorruptError, match="quote that is not closed"):
        sanitize(file('x,y\n1,2\n3,"4\n5,6\n'), KEEP)


def test_long_rows__are_refused(file, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK", 1 << 10)
    with pytest.raises(fd.InputCorruptError, match="longer than"):
        sanitize(file("x,y\n1,1\n" + "z" * 5000 + ",1\n"), KEEP)
    monkeypatch.setattr(csv_files, "HEADER", 1 << 10)
    with pytest.raises(fd.InputCorruptError, match="first row.*is longer than"):
        sanitize(file("x" * 2000 + ",y\n"), KEEP)


@pytest.mark.parametrize("kind", [pa.list_(pa.int8()), pa.binary(), pa.struct([("a", pa.int8())]), pa.binary(3)])
def test_types_without_text__are_refused(tmp_path, kind):
    with pytest.raises(fd.SchemaError, match="'x' has arrow type .* CSV cannot hold"):
        sanitize(pa.table({"x": pa.nulls(2, kind)}), Plan(columns={"x": "keep"}), tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


def test_other_types__are_written_as_text(tmp_path):
    table = pa.table({"x": pa.array(["a", "b"]).dictionary_encode(), "y": pa.array([1, None], pa.timestamp("s"))})
    sanitize(table, Plan(columns={"x": KRR, "y": "keep"}), tmp_path / "out.csv")
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == '"x","y"'
    assert [line.partition(",")[2] for line in lines[1:]] == ["1970-01-01 00:00:01", ""]
