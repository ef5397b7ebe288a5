"""Text in other dialects: separators, quotes, decimal commas, encodings and compression, in and out."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pytest
from click.testing import CliRunner

import fastdp as fd
from fastdp.cli.main import main
from fastdp.io.csv import Dialect
from fastdp.io.open import open_source
from fastdp.plans.plan import Plan

EURO = {"delimiter": ";", "quote": "'", "encoding": "cp1252", "decimal": ","}
TEXT = "name;paid\n'O''Neill; \"Zoë\"';1,5\nFrançois;0,25\n;2\n"
NAMES = ['O\'Neill; "Zoë"', "François", None]
KEEP = Plan(columns={"name": "keep", "paid": "keep"})
NOISY = Plan(columns={"name": "keep", "paid": {"mechanism": "laplace", "epsilon": 1.0, "bounds": [0, 9]}})


def compress(text: bytes, ending: str) -> bytes:
    return {"": bytes, ".gz": gzip.compress, ".zst": lambda raw: pa.Codec("zstd").compress(raw).to_pybytes()}[ending](
        text
    )


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_dialect__is_read_and_written(tmp_path, ending):
    """What is written is read with the same options, and is bytes of that dialect."""
    path, out = tmp_path / f"in.csv{ending}", tmp_path / f"out.csv{ending}"
    path.write_bytes(compress(TEXT.encode("cp1252"), ending))
    fd.sanitize(path, NOISY, out, csv=EURO, rng=fd.Rng.unsafe_seed(1))
    back = fd.sanitize(path, NOISY, csv=EURO, rng=fd.Rng.unsafe_seed(1))
    assert back["name"].to_pylist() == NAMES
    again = open_source("test", out, csv=EURO, types=lambda: {"paid": pa.float64()})
    assert pa.Table.from_batches(again.batches(["name", "paid"], None, [])).equals(back.replace_schema_metadata(None))
    raw = out.read_bytes()
    if ending:
        raw = pa.input_stream(pa.BufferReader(raw), {".gz": "gzip", ".zst": "zstd"}[ending]).read()
    lines = raw.decode("cp1252").splitlines()
    assert lines[0] == "'name';'paid'"
    assert lines[1].startswith("'O''Neill; \"Zoë\"';'")
    assert not any(field in raw for field in (b'""', b"."))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
@pytest.mark.parametrize("members", [1, 3])
def test_encodings__and_concatenated_members(tmp_path, encoding, members):
    rows = 400_000 // members
    text = "name\n" + "é,\n".replace(",", "") * rows
    body = text.encode(encoding)
    parts = [body[i * len(body) // members : (i + 1) * len(body) // members] for i in range(members)]
    path = tmp_path / "in.csv.gz"
    path.write_bytes(b"".join(map(gzip.compress, parts)))
    found = fd.sanitize(path, Plan(columns={"name": "keep"}), csv={"encoding": encoding})
    assert found["name"].unique().to_pylist() == ["é"]
    assert found.num_rows == rows


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_damaged_compression__is_refused(tmp_path, ending):
    whole = compress(b"x,y\n" + b"1,2\n" * 100_000, ending)
    for number, bad in enumerate((whole[: len(whole) // 2], whole[:60] + b"\xff" * 40 + whole[100:])):
        path = tmp_path / f"{number}.csv{ending}"
        path.write_bytes(bad)
        with pytest.raises(fd.InputCorruptError, match="damaged or cut short|no CSV|fields"):
            fd.sanitize(path, Plan(columns={"x": "keep", "y": "keep"}))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"delimitr": ";"}, "did you mean 'delimiter'"),
        ({"delimiter": ";;"}, "--delimiter"),
        ({"delimiter": "\n"}, "--delimiter"),
        ({"quote": ","}, "--quote"),
        ({"decimal": ","}, "delimiter=.*--delimiter"),
        ({"decimal": ";"}, "--decimal"),
        ({"encoding": "utf-9"}, "'utf-9'.*--encoding"),
        ({"encoding": "hex"}, "--encoding"),
        ({"encoding": 8}, "--encoding"),
        ("csv", "a dict of delimiter"),
    ],
)
def test_bad_options__are_refused(options, said):
    with pytest.raises(fd.ParameterError, match=said):
        fd.sanitize(pa.table({"name": ["a"], "paid": [1.0]}), NOISY, csv=options)


def test_words__stand_for_characters():
    assert Dialect.read("test", {"delimiter": "tab", "quote": None}) == Dialect(delimiter="\t")
    assert Dialect.read("test", {"encoding": "UTF8"}).is_utf8


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("name;paid\na;1\n", None, "--delimiter ';'"),
        ("name\tpaid\na\t1\n", None, "--delimiter 'tab'"),
        ("name,paid\na,1;5\nb,2,3\n", None, "separated by ','.*--delimiter.*--quote"),
        ("name;paid\na;1,5\n", {"delimiter": ";"}, '--decimal ","'),
        ("name;paid\na;1.5\n", {"delimiter": ";", "decimal": ","}, r'--decimal "\."'),
        ("name,paid\n\xe9,1\n", None, "--encoding latin-1"),
        ("name,paid\n\x81,1\n", {"encoding": "cp1252"}, "not text in cp1252.*--encoding"),
    ],
)  # fmt: skip
def test_messages__name_the_option(tmp_path, text, options, said):
    path = tmp_path / "in.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(fd.FastDPError, match=said) as caught:
        fd.sanitize(path, NOISY, csv=options)
    assert "1.5" not in str(caught.value)
    assert "1,5" not in str(caught.value)


def test_text_beyond_the_encoding__is_refused(tmp_path):
    with pytest.raises(fd.SchemaError, match="latin|8859.*--encoding"):
        fd.sanitize(
            pa.table({"x": ["日本"]}), Plan(columns={"x": "keep"}), tmp_path / "o.csv", csv={"encoding": "latin-1"}
        )
    assert not list(tmp_path.iterdir())


def test_only_text__is_compressed_as_a_whole(tmp_path):
    table = pa.table({"x": [1]})
    with pytest.raises(fd.ParameterError, match=r"\.csv\.gz"):
        fd.sanitize(table, Plan(columns={"x": "keep"}), tmp_path / "o.parquet.gz")
    (tmp_path / "i.parquet.gz").write_bytes(gzip.compress(b"PAR1" * 9))
    with pytest.raises(fd.ParameterError, match="compressed Parquet"):
        fd.sanitize(tmp_path / "i.parquet.gz", Plan(columns={"x": "keep"}))


def test_arrow_streams__may_be_compressed(tmp_path):
    table = pa.table({"x": [1, 2, 3]})
    with (
        pa.CompressedOutputStream(str(tmp_path / "i.arrows.zst"), "zstd") as file,
        pa.ipc.new_stream(file, table.schema) as out,
    ):
        out.write(table)
    assert fd.sanitize(tmp_path / "i.arrows.zst", Plan(columns={"x": "keep"}))["x"].to_pylist() == [1, 2, 3]


def test_commands__take_the_options(tmp_path, monkeypatch):
    """From a proposal to an estimate, in one dialect."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{'FM'[i % 2]}ünf;{i % 7},5\n" for i in range(3000))
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(("sex;paid\n" + rows).encode("cp1252")))
    text = ["--delimiter", ";", "--decimal", ",", "--encoding", "cp1252"]

    def run(*arguments):
        done = CliRunner().invoke(main, list(arguments))
        assert done.exit_code == 0, done.output
        return done

    assert "[columns.sex]" in run("plan", "init", "in.csv.gz", *text, "--profile").stdout
    (tmp_path / "plan.toml").write_text(
        'columns.sex = "keep"\n[columns.paid]\nmechanism = "laplace"\nepsilon = 9\nbounds = [0, 10]\n'
    )
    run("plan", "check", "plan.toml", "in.csv.gz", *text)
    run("sanitize", "in.csv.gz", "-p", "plan.toml", "-o", "out.csv.zst", *text)
    run("verify", "out.csv.zst")
    assert "paid: mean" in run("estimate", "out.csv.zst", *text).stdout
    run("report", "out.csv.zst", "-o", "page.html", *text)
