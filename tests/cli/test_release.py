"""``fastdp release``: init, explain, run, outputs, ledger."""

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
[source]
person = "user"
max_groups = 1
max_rows = 4
[budget]
epsilon = 4
delta = 1e-6
[columns.income]
bounds = [0, 100]
[[queries]]
name = "cities"
group_by = ["city"]
keys = "select"
answers = ["count", "mean(income)"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    source = np.random.default_rng(1)
    users = source.integers(0, 800, 3000)
    table = pa.table(
        {"user": users, "city": [("Oslo", "Rome")[u % 2] for u in users], "income": source.random(3000) * 90}
    )
    pq.write_table(table, tmp_path / "visits.parquet")
    pa.csv.write_csv(table, tmp_path / "visits.csv")
    (tmp_path / "release.toml").write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fastdp(*arguments, code=0):
    done = CliRunner().invoke(main, ["release", *arguments])
    assert done.exit_code == code, done.output
    return done.output


def test_init__prints_a_plan_of_names_and_types(folder):
    text = fastdp("init", "visits.parquet")
    assert '[columns."income"]' in text
    for value in ("Oslo", "Rome"):
        assert value not in text
    filled = text.replace("# epsilon = 1.0", "epsilon = 1.0")
    assert fd.ReleasePlan.loads(filled).run("visits.parquet")["all"]["count"].value > 2900


def test_explain__spends_nothing(folder):
    ledger = fd.Ledger.create("people.ledger", epsilon=5.0, delta=1e-5, unit="person")
    text = fastdp("visits.parquet", "-p", "release.toml", "--explain", "--ledger", "people.ledger")
    assert "nothing was spent" in text
    assert "mean_income" in text
    assert len(ledger.entries()) == 1
    said = json.loads(fastdp("visits.parquet", "-p", "release.toml", "--explain", "--json"))
    assert said["guarantee"]["epsilon"] <= 4


def test_run__writes_answers_receipt_and_page(folder):
    ledger = fd.Ledger.create("people.ledger", epsilon=5.0, delta=1e-5, unit="person")
    outputs = ["-o", "answers.parquet", "--html", "page.html", "--ledger", "people.ledger", "--name", "visits"]
    text = fastdp("visits.parquet", "-p", "release.toml", *outputs, "--chart")
    assert "Oslo" in text
    table = pq.read_table("answers.parquet")
    assert table.column_names == ["query", "key", "answer", "value", "std_error", "low", "high"]
    assert table.num_rows == 4
    receipt = json.loads((folder / "answers.parquet.receipt.json").read_text())
    ledger.verify([receipt["ledger"]])
    page = (folder / "page.html").read_text()
    assert "Oslo" in page
    assert "<script" not in page
    # A second one is beyond the budget, and leaves nothing behind.
    before = sorted(folder.iterdir())
    again = ["-o", "again.parquet", "--ledger", "people.ledger"]
    assert "remains; nothing was released" in fastdp("visits.parquet", "-p", "release.toml", *again, code=4)
    assert sorted(folder.iterdir()) == before


def test_run__checks_outputs_before_it_spends(folder):
    ledger = fd.Ledger.create("people.ledger", epsilon=5.0, delta=1e-5, unit="person")
    (folder / "taken.csv").write_text("mine")
    for output, said in (("taken.csv", "exists"), ("answers.xlsx", "ending"), ("visits.parquet", "input")):
        done = CliRunner().invoke(main, ["release", "visits.parquet", "-p", "release.toml", "-o", output, "--ledger",
                                         "people.ledger"])  # fmt: skip
        assert done.exit_code in (2, 5)
        assert said in done.output
    assert len(ledger.entries()) == 1
    assert (folder / "taken.csv").read_text() == "mine"


def test_run__json_and_csv_and_sql(folder):
    said = json.loads(fastdp("visits.csv", "-p", "release.toml", "--json"))
    assert {row["key"] for row in said["answers"]} == {"Oslo", "Rome"}
    pytest.importorskip("sqlglot")
    text = fastdp("visits.csv", "-p", "release.toml", "--sql", "select city, count(*) from t group by city", "--keys",
                  "select")  # fmt: skip
    assert "Rome" in text
    refused = ["--sql", "select count(*) from t where user = 3"]
    assert "filter the data first" in fastdp("visits.csv", "-p", "release.toml", *refused, code=2)
    assert "--keys belongs to --sql" in fastdp("visits.csv", "-p", "release.toml", "--keys", "select", code=2)
