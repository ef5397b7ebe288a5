"""``fastdp synthesize``: explain, rows, receipt, page, ledger."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import fastdp as fd
from fastdp.cli.main import main

PLAN = """
[budget]
epsilon = 2
delta = 1e-6
[columns]
city = ["Oslo", "Rome"]
income = {bins = 3, bounds = [0, 90]}
[model]
rounds = 4
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    source = np.random.default_rng(1)
    city = source.integers(0, 2, 1000)
    table = pa.table({"city": np.array(["Oslo", "Rome"])[city], "income": source.random(1000) * 90})
    pq.write_table(table, tmp_path / "people.parquet")
    pa.csv.write_csv(table, tmp_path / "people.csv")
    (tmp_path / "synth.toml").write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fastdp(*arguments, code=0):
    done = CliRunner().invoke(main, ["synthesize", *arguments])
    assert done.exit_code == code, done.output
    return done.output


def test_explain__spends_nothing(folder):
    assert "epsilon 2" in fastdp("people.parquet", "-p", "synth.toml", "--explain")
    said = json.loads(fastdp("people.parquet", "-p", "synth.toml", "--explain", "--json"))
    assert [line["cells"] for line in said["marginals"]] == [6]
    assert {path.name for path in folder.iterdir()} == {"people.parquet", "people.csv", "synth.toml"}


@pytest.mark.parametrize("source", ["people.parquet", "people.csv"])
def test_run__writes_rows_receipt_and_page(folder, source):
    ledger = fd.Ledger.create("people.ledger", epsilon=3.0, delta=1e-5)
    outputs = ("-o", "rows.parquet", "--rows", "300", "--html", "page.html", "--ledger", "people.ledger")
    text = fastdp(source, "-p", "synth.toml", *outputs)
    assert "not people" in text
    assert pq.read_table("rows.parquet").num_rows == 300
    receipt = json.loads((folder / "rows.parquet.receipt.json").read_text())
    assert receipt["kind"] == "synthesis"
    assert receipt["rows"] == 300
    assert "Noisy and fitted marginals" in (folder / "page.html").read_text()
    assert "epsilon 2 " in repr(ledger)
    assert "exist" in fastdp(source, "-p", "synth.toml", *outputs, code=5)
    assert "epsilon 2 " in repr(ledger)
    again = ("-o", "more.csv", "--ledger", "people.ledger")
    fastdp(source, "-p", "synth.toml", *again, code=4)
    assert not (folder / "more.csv").exists()


def test_run__needs_somewhere_to_write(folder):
    assert "-o OUT" in fastdp("people.parquet", "-p", "synth.toml", code=2)
