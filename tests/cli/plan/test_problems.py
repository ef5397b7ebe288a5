"""`fastdp plan check` lists every problem at once; `plan init` and `plan init --profile` write what it accepts."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from fastdp.cli import main
from fastdp.plans.documents.positions import line_numbers
from fastdp.plans.plan import Plan
from tests.export.table import make_export


def call(*arguments):
    return CliRunner().invoke(main, [str(one) for one in arguments])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pa.table({"a": ["x", "secret", None], "b": [1.0, float("nan"), None], "c": [1, 2, 3]})
    pq.write_table(table, "people.parquet")
    return tmp_path


PLAN = """[columns.a]
mechanism = "krr"
epsilon = 1
domain = ["x", "y"]

[columns.b]
mechanism = "laplace"
epsilon = 1
bounds = [0, 1]

[columns.c]
action = "keep"
"""


def test_check__lists_all_values_that_do_not_fit(folder):
    (folder / "plan.toml").write_text(PLAN)
    done = call("plan", "check", "plan.toml", "people.parquet")
    assert done.exit_code == 3
    said = done.stderr.splitlines()
    assert [line for line in said if line.startswith("plan.toml:")] == [
        "plan.toml:1: a: 1 nulls",
        "plan.toml:1: a: 1 labels outside the domain",
        "plan.toml:6: b: 1 nulls",
        "plan.toml:6: b: 1 NaN",
    ]
    assert said[-1] == "fastdp: 4 problems in plan.toml"
    assert "secret" not in done.output
    assert call("plan", "check", "plan.toml", "people.parquet", "--show-values").exit_code == 2


def test_check__accepts_the_lines_that_it_says_to_add(folder):
    text = PLAN.replace('domain = ["x", "y"]', 'domain = ["x", "y"]\nnulls = "category"\nnull_label = "x"').replace(
        "bounds = [0, 1]", 'bounds = [0, 1]\nnulls = 0\nnan = "lower"'
    )
    (folder / "plan.toml").write_text(
        text.replace('nulls = "category"', 'out_of_domain = "uniform"\nnulls = "category"')
    )
    assert call("plan", "check", "plan.toml", "people.parquet").exit_code == 0


def test_check__lists_all_that_is_wrong_with_a_plan(folder):
    """Entries first, then names, then types: each kind all at once, before data are read."""
    (folder / "plan.toml").write_text(PLAN.replace('"krr"', '"kr"').replace("bounds = [0, 1]", "bounds = [1, 0]"))
    said = call("plan", "check", "plan.toml", "people.parquet").stderr
    assert "plan.toml:1: a:" in said
    assert "did you mean" in said
    assert "plan.toml:6: b:" in said
    (folder / "plan.toml").write_text(PLAN.replace("columns.a", "columns.aa").replace("columns.c", "columns.cc"))
    said = call("plan", "check", "plan.toml", "people.parquet").stderr
    assert said.count("is not in the plan") == 2
    assert said.count("is not in the file") == 2
    (folder / "plan.toml").write_text(
        PLAN.replace('domain = ["x", "y"]', "domain = 3").replace('"laplace"', '"geometric"')
    )
    done = call("plan", "check", "plan.toml", "people.parquet")
    assert "plan.toml:1: a:" in done.stderr
    assert "plan.toml:6: b:" in done.stderr
    assert done.exit_code == 3


def test_check__warns_of_names_and_of_large_totals(folder):
    pq.write_table(pa.table({"email": ["a"], "ill": [True]}), "people.parquet")
    (folder / "plan.toml").write_text(
        '[columns.email]\naction = "keep"\n[columns.ill]\nmechanism = "randomized_response"\nepsilon = 20\n'
    )
    done = call("plan", "check", "plan.toml", "people.parquet")
    assert done.exit_code == 0
    assert "'email' is kept, and its name tells of a person" in done.stderr
    assert "epsilon 20 in all" in done.stderr


@pytest.mark.parametrize("options", [(), ("--profile",), ("--profile", "--write-domains")])
def test_init__is_accepted_by_check(folder, options):
    """As it is, for an export with all kinds of columns; the data are in no plan that was not asked to hold labels."""
    table = make_export(2000)
    pq.write_table(table, "export.parquet")
    done = call("plan", "init", "export.parquet", *options)
    assert done.exit_code == 0, done.output
    (folder / "plan.toml").write_text(done.stdout)
    checked = call("plan", "check", "plan.toml", "export.parquet")
    assert checked.exit_code == 0, checked.output
    assert ("Berln" in done.stdout) == ("--write-domains" in options)
    assert "Person" not in done.stdout
    if "--profile" in options:
        plan = Plan.loads(done.stdout)
        assert plan.columns["age"].mechanism.bounds == (0, 120)
        assert {name for name, entry in plan.columns.items() if entry.action == "drop"} >= {"email", "name", "comment"}
        assert plan.groups[0].columns == ("lat", "lon")
        assert "for your eyes" in done.stderr


def test_init__comments_are_valid_when_uncommented(folder):
    """Every alternative of a dropped column, in the place of its action, is a plan."""
    pq.write_table(make_export(500), "export.parquet")
    blocks = call("plan", "init", "export.parquet", "--profile").stdout.split("\n\n")
    tried = 0
    for block in blocks:
        if "# or:" not in block or "columns.tags" in block:
            continue
        text = block.replace('action = "drop"\n', "", 1).replace("# or:\n", "").replace("\n# ", "\n")
        Plan.loads(text)
        tried += 1
    assert tried >= 8


def test_schema__knows_every_key(folder):
    schema = json.loads(call("plan", "schema").stdout)
    tables = schema["properties"]["columns"]["additionalProperties"]["anyOf"]
    named = {name for table in tables for name in table.get("properties", {}).get("mechanism", {}).get("enum", ())}
    from fastdp.plans.spec import MECHANISMS

    assert named == set(MECHANISMS)
    (krr,) = [t for t in tables if t.get("properties", {}).get("mechanism", {}).get("enum") == ["krr"]]
    assert {"epsilon", "domain", "domain_file", "aliases", "fold_case", "nulls"} <= krr["properties"].keys()


def test_lines__are_those_of_the_headings():
    text = 'ledger = "x"\n\n[columns."a.b"]\naction = "drop"\n[columns.\'c d\']\n# [columns.e]\n'
    assert line_numbers(text) == {"a.b": 3, "c d": 5}


def test_errors__are_those_for_the_rows_of_the_file(folder):
    for rows in (100, 10_000):
        pq.write_table(pa.table({"ill": np.zeros(rows, bool)}), "ill.parquet")
        (folder / "plan.toml").write_text('[columns.ill]\nmechanism = "randomized_response"\nepsilon = 1\n')
        assert f"on shares of {rows:,}" in call("plan", "check", "plan.toml", "ill.parquet").stdout
