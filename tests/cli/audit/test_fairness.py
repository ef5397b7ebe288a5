"""``fastdp audit fairness``: verdicts, JSON, the page, exit codes."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import fastdp as fd
from fastdp.cli import main
from tests.fairness.data import FOLDER, needs_data
from tests.fairness.test_tables import people

CALL = ["audit", "fairness", "in.parquet", "--label", "y", "--prediction", "r", "--sensitive", "race,sex"]


def run(*words):
    """Through the whole command, as a shell does."""
    return CliRunner().invoke(main, list(map(str, words)))


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = people(3000) | {"s": np.random.default_rng(1).integers(1, 9, 3000)}
    pq.write_table(pa.table(found), "in.parquet", row_group_size=700)
    return found


def table_of(data):
    return fd.fairness.table(y_true=data["y"], y_pred=data["r"], sensitive={"race": data["race"], "sex": data["sex"]})


def test_verdicts__are_those_of_the_table(data):
    found = run(*CALL, "--given", "income")
    assert found.exit_code == 0, found.output
    lines = [line for line in found.stdout.splitlines() if line]
    for criterion in table_of(data).criteria():
        (line,) = [line for line in lines if line.startswith(criterion.name + " ")]
        assert criterion.verdict in line
        assert str(criterion.contrasts[0]) in line
    assert any(line.startswith("conditional_parity") for line in lines)


def test_json__holds_everything(data):
    found = run(*CALL, "--json", "-q")
    said = json.loads(found.stdout)
    due = table_of(data)
    assert said["rows"] == 3000
    assert said["withheld_groups"] == 0
    assert said["failed"] == []
    by_name = {one["rate"]: one for one in said["rates"]}
    assert [one["value"] for one in by_name["fpr"]["groups"]] == pytest.approx(due.rates("fpr").values.tolist())
    assert "causal" in said["counterfactual"]
    lax = json.loads(
        run(*CALL, "--json", "-q", "--tolerance", "0.6", "--favourable", "0", "--confidence", "0.9").stdout
    )
    verdicts = {one["criterion"]: one for one in lax["criteria"]}
    assert verdicts["independence"]["verdict"] == "holds"
    ratio = due.four_fifths(favourable=0, level=0.9)
    assert verdicts["four_fifths"]["contrasts"][0]["low"] == pytest.approx(ratio.low)


@pytest.mark.parametrize(
    ("option", "limit", "code"),
    [
        ("--fail-below", "four_fifths=0.8", 1), ("--fail-below", "four_fifths=0.1", 0), ("--fail-below", "tpr=0.99", 1),
        ("--fail-above", "selection=0.01", 1), ("--fail-above", "selection=0.9", 0),
    ],
)  # fmt: skip
def test_threshold__that_fails_is_exit_1(data, option, limit, code):
    found = run(*CALL, option, limit, "--json", "-q")
    assert found.exit_code == code, found.output
    assert len(json.loads(found.stdout)["failed"]) == code
    assert (limit.partition("=")[0] in found.stderr) == bool(code)


def test_threshold__of_what_cannot_be_told_fails(data):
    data = {"y": [0] * 20, "r": [0, 1] * 10, "race": ["a"] * 10 + ["b"] * 10, "sex": ["f"] * 20}
    pq.write_table(pa.table(data), "in.parquet")
    found = run(*CALL, "--fail-above", "tpr=0.5")
    assert found.exit_code == 1
    assert "cannot be told" in found.stderr


def test_page__is_written_whole_and_not_over_another(data, tmp_path):
    first = run(*CALL, "--score", "s", "-o", "page.html", "-q")
    assert first.exit_code == 0, first.output
    assert first.output == ""
    page = (tmp_path / "page.html").read_text()
    assert "threshold-data" in page
    assert run(*CALL, "-o", "page.html").exit_code != 0
    assert run(*CALL, "-o", "page.html", "--force").exit_code == 0
    assert "threshold-data" not in (tmp_path / "page.html").read_text()
    assert run(*CALL, "-o", "in.parquet", "--force").exit_code != 0


def test_small_groups__are_never_shown(data, tmp_path):
    """A canary whose rate would tell one person's label is in no output."""
    data["race"] = np.where(np.arange(3000) == 7, "canary", data["race"])
    pq.write_table(pa.table(data), "in.parquet")
    found = run(*CALL, "--score", "s", "-o", "page.html", "--json")
    assert json.loads(found.stdout)["withheld_groups"] == 1
    for text in (found.output, (tmp_path / "page.html").read_text()):
        assert "canary" not in text
    assert "too small to be shown" in (tmp_path / "page.html").read_text()
    assert "canary" in run(*CALL, "--show", "1", "--json").stdout


def test_sanitized__file_is_won_back_by_its_receipt(data):
    table = pa.table({name: data[name] for name in ("race", "sex", "y", "r")})
    plan = fd.Plan(
        columns={
            "race": {"mechanism": "krr", "epsilon": 3.0, "domain": ["a", "b", "c"]},
            **dict.fromkeys(("sex", "y", "r"), "keep"),
        }
    )
    fd.sanitize(table, plan, "private.parquet", rng=fd.Rng.unsafe_seed(1))
    found = run(*[*CALL[:2], "private.parquet", *CALL[3:]], "--json", "-q", "-o", "page.html")
    said = json.loads(found.stdout)
    assert said["sanitized"]["race"]["type"] == "KRR"
    assert all("naive" in gap for gap in said["gaps"])
    assert said["withheld_groups"] == 0
    lines = [line for line in run(*[*CALL[:2], "private.parquet", *CALL[3:]]).stdout.splitlines() if "face" in line]
    naive = {gap["rate"]: f"{gap['naive']:.4f} of the reports, {gap['value']:.4f} of the truth" for gap in said["gaps"]}
    assert [naive[rate] in line for rate, line in zip(("selection", "tpr", "fpr"), lines, strict=True)] == [True] * 3
    data["sex"] = np.where(np.arange(3000) < 5, "canary", data["sex"])
    table = table.set_column(1, "sex", pa.array(data["sex"]))
    fd.sanitize(table, plan, "private.parquet", rng=fd.Rng.unsafe_seed(1), force=True)
    found = run(*[*CALL[:2], "private.parquet", *CALL[3:]], "--json", "-q", "-o", "page.html", "--force")
    assert json.loads(found.stdout)["withheld_groups"] == 3
    assert "canary" not in found.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fail-below", "four_fifth=0.8"), "did you mean 'four_fifths'"), (("--fail-below", "tpr=2"), "from 0 to 1"),
        (("--fail-above", "four_fifths=0.1"), "unknown name"), (("--show", "5000"), "--show"),
        (("--score", "nothing"), "unknown column"),
    ],
)  # fmt: skip
def test_errors__are_one_line_and_name_the_option(data, words, said):
    found = run(*CALL, *words)
    assert found.exit_code > 1
    assert said in found.stderr
    assert found.stdout == ""


@needs_data
def test_compas__from_its_csv(tmp_path, monkeypatch):
    """The lecture's figures from the file itself; the decision is made with pyarrow alone."""
    import pyarrow.compute as pc
    import pyarrow.csv

    monkeypatch.chdir(tmp_path)
    table = pyarrow.csv.read_csv(f"{FOLDER}/compas_two_years.csv")
    table = table.append_column("high", pc.cast(pc.not_equal(table["score_text"], "Low"), pa.int8()))
    pyarrow.csv.write_csv(table, "compas.csv")
    found = run(
        "audit", "fairness", "compas.csv", "--label", "two_year_recid", "--prediction", "high", "--sensitive", "race",
        "--score", "decile_score", "--favourable", "0", "--fail-below", "four_fifths=0.8", "--json", "-q",
    )  # fmt: skip
    assert found.exit_code == 1
    rates = {one["rate"]: one["groups"] for one in json.loads(found.stdout)["rates"]}

    def percent(rate, race):
        return round(100 * next(one["value"] for one in rates[rate] if one["group"] == [race]), 1)

    shown = [percent(rate, race) for rate in ("fpr", "fnr") for race in ("African-American", "Caucasian")]
    assert shown == [44.8, 23.5, 28.0, 47.7]
