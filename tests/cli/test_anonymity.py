"""``fastdp audit anonymity``, ``fastdp anonymize`` and the uniqueness that ``fastdp plan check`` states."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import fastdp as fd
from fastdp.cli import main

PLAN = """
k = 5
sensitive = "ill"
drop = ["name"]
suppress = 0.1
[quasi]
age = { intervals = [5, 10, 40] }
zip = { prefix = [3, 2] }
sex = { file = "sex.csv" }
"""


def people(rows: int = 400) -> pa.Table:
    rng = np.random.default_rng(2)
    return pa.table({
        "name": [f"canary-{i}" for i in range(rows)],
        "age": rng.integers(20, 70, rows),
        "zip": rng.choice(["canary-661", "canary-662", "canary-101"], rows),
        "sex": rng.choice(["f", "m"], rows),
        "ill": rng.choice(["canary-flu", "canary-HIV"], rows, p=[0.8, 0.2]),
    })  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(people(), "people.parquet")
    (tmp_path / "anon.toml").write_text(PLAN)
    (tmp_path / "sex.csv").write_text("f;*\nm;*\n")
    return tmp_path


def call(*words: str):
    return CliRunner().invoke(main, list(words))


AUDIT = ("audit", "anonymity", "people.parquet", "--quasi", "age,zip", "--quasi", "sex", "--sensitive", "ill")


class TestAudit:
    def test_says_what_leaks_and_no_value(self, folder):
        done = call(*AUDIT)
        found = fd.anonymity.classes(people(), ["age", "zip", "sex"], ["ill"])
        assert done.exit_code == 0
        for said in (f"k = {found.k}", f"{found.unique} rows are unique", "still leaks", "does not compose"):
            assert (said in done.output) == (said != "does not compose"), said
        assert "canary" not in done.output

    def test_json__has_every_figure(self, folder):
        data = json.loads(call(*AUDIT, "--json", "--population", "people.parquet").stdout)
        assert data["sensitive"]["ill"]["distinct_l"] == 1
        assert data["risk"]["presence"] == [1.0, 1.0]
        assert "canary" not in json.dumps(data)

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            (("--fail-below", "k=1"), 0), (("--fail-below", "k=2"), 1), (("--fail-above", "unique=0"), 1),
            (("--fail-above", "unique=400"), 0), (("--fail-below", "l=2"), 1), (("--fail-above", "t=1"), 0),
            (("--fail-above", "risk=0.5"), 1), (("--fail-below", "k=1", "--fail-above", "t=0.1"), 1),
        ],
    )  # fmt: skip
    def test_exit_code__is_1_where_a_threshold_fails(self, folder, words, code):
        done = call(*AUDIT, *words)
        assert done.exit_code == code
        assert ("failed: " in done.output) == bool(code)

    @pytest.mark.parametrize(
        ("words", "code", "said"),
        [
            (("--fail-below", "t=1"), 2, "one of k, l, entropy_l"),
            (("--fail-below", "k"), 2, "such as k=5"),
            (("--nulls", "keep"), 2, "nulls"),
            (("--quasi", "agee"), 3, "did you mean 'age'"),
            (("--quasi", "age"), 3, "named twice"),
            (("-o", "people.parquet"), 5, "the output is the input"),
        ],
    )
    def test_errors__end_before_work(self, folder, words, code, said):
        done = call(*AUDIT, *words)
        assert done.exit_code == code, done.output
        assert said in done.output
        assert "canary" not in done.output

    def test_thresholds_on_values__need_a_sensitive_column(self, folder):
        done = call("audit", "anonymity", "people.parquet", "--quasi", "age", "--fail-above", "t=0.1")
        assert done.exit_code == 2
        assert "--sensitive" in done.output

    def test_small_numbers__are_withheld(self, folder):
        pq.write_table(pa.table({"q": [1] * 50 + [2, 3]}), "few.parquet")
        shown = call("audit", "anonymity", "few.parquet", "--quasi", "q", "-o", "few.html")
        assert "fewer than 10 rows are unique" in shown.output
        page = (folder / "few.html").read_text()
        assert "fewer than 10" in page
        assert "2 rows are unique" not in page + shown.output


class TestAnonymize:
    def test_writes_a_file_its_receipt_and_a_page(self, folder):
        done = call("anonymize", "people.parquet", "-p", "anon.toml", "-o", "out.parquet", "--page", "page.html")
        assert done.exit_code == 0, done.output
        found = fd.anonymity.classes("out.parquet", ["age", "zip", "sex"])
        receipt = json.loads((folder / "out.parquet.receipt.json").read_text())
        assert found.k == receipt["recount"]["k"] >= 5
        assert pq.read_table("out.parquet").column_names == ["age", "zip", "sex", "ill"]
        assert "lattice" in (folder / "page.html").read_text()
        for text in (done.output, json.dumps(receipt), (folder / "page.html").read_text()):
            assert "canary" not in text

    def test_dry_run__writes_nothing(self, folder):
        before = sorted(path.name for path in folder.iterdir())
        done = call("anonymize", "people.parquet", "-p", "anon.toml", "--dry-run", "--json")
        assert json.loads(done.stdout)["recount"]["k"] >= 5
        assert sorted(path.name for path in folder.iterdir()) == before

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (("k = 5", "k = 500"), "there are 400 rows"),
            (("k = 5", "kk = 5"), "did you mean 'k'"),
            (("k = 5", ""), "must say k"),
            (("[quasi]", "[quas]"), "did you mean 'quasi'"),
            (('drop = ["name"]', ""), "say keep or drop for every other column: 'name'"),
            (("prefix = [3, 2]", "prefix = [2, 3]"), "smaller than the one before"),
            (("k = 5", "k = "), "no TOML file"),
            (("zip = { prefix = [3, 2] }", "zip = { intervals = [5] }"), "does not cover the column at level 1"),
        ],
    )
    def test_errors__name_the_rule_and_leave_nothing(self, folder, change, said):
        (folder / "anon.toml").write_text(PLAN.replace(*change))
        done = call("anonymize", "people.parquet", "-p", "anon.toml", "-o", "out.parquet")
        assert done.exit_code == (3 if "keep or drop" in said else 2), done.output
        assert said in done.output
        assert "canary" not in done.output
        assert not (folder / "out.parquet").exists()


class TestPlanCheck:
    PLAN = (
        '[columns.name]\naction = "drop"\n[columns.age]\naction = "keep"\n[columns.zip]\naction = "keep"\n'
        '[columns.sex]\naction = "keep"\n[columns.ill]\nmechanism = "krr"\nepsilon = 1.0\n'
        'domain = ["canary-flu", "canary-HIV"]\n'
    )

    @pytest.fixture
    def unique(self, folder):
        (folder / "plan.toml").write_text(self.PLAN)
        return fd.anonymity.classes(people(), ["age", "zip", "sex"])

    def test_says_how_unique_kept_columns_make_rows(self, folder, unique):
        done = call("plan", "check", "plan.toml", "people.parquet")
        assert done.exit_code == 0, done.output
        share = f"{unique.unique} of 400 rows unique ({unique.unique / 400:.1%}), k = {unique.k}"
        assert f"kept as they are: age, zip, sex; they make {share}" in done.output
        data = json.loads(call("plan", "check", "plan.toml", "people.parquet", "--json").stdout)
        assert data["kept"]["unique"] == unique.unique

    def test_says_nothing_without_a_file_or_kept_columns(self, folder, unique):
        assert "kept" not in call("plan", "check", "plan.toml").output
        (folder / "plan.toml").write_text(self.PLAN.replace("keep", "drop"))
        assert "kept" not in call("plan", "check", "plan.toml", "people.parquet").output
