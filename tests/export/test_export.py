"""A data engineer sanitizes an ordinary export in one sitting, by commands alone."""

import json
import re
import shutil

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from fastdp.cli import main
from fastdp.plans.plan import Plan
from tests.export.table import CITIES, PLANS, TAGS, make_export

EDITS = {
    "customer_id": 'action = "pseudonym"\nkey_file = "ids.key"',
    "zip": 'action = "generalize"\nprefix = 2',
    "income": 'mechanism = "laplace"\nepsilon = 1.0\nbounds = [0, 200000]\nnulls = 0',
    "amount": 'mechanism = "geometric"\nepsilon = 1.0\nstep = 0.01\nbounds = [0, 2000]',
    "city": f'mechanism = "krr"\nepsilon = 2.0\ndomain = {json.dumps([*CITIES, "other"])}\nfold_case = true',
    "plan": f'mechanism = "krr"\nepsilon = 2.0\ndomain = {json.dumps(PLANS)}\nnulls = "category"\nnull_label = "basic"',
    "tags": f'mechanism = "krr"\nepsilon = 2.0\ndomain = {json.dumps([*TAGS, "none"])}\nitems = "one"\n'
    'nulls = "category"\nnull_label = "none"',
}
"""What the engineer writes for the columns that the proposal drops."""
WINDOW = 80
MEANS = ("birth_date", "signup_at", "last_login", "age", "income", "amount", "discount_percent")


def edit(text: str) -> str:
    """The proposal with the engineer's entries in the place of dropped ones."""
    for name, entry in EDITS.items():
        text = re.sub(rf'(\[columns\.{name}\][^\n]*\n)action = "drop"', lambda m, e=entry: m[1] + e, text)
    return text


def true_values(table, plan, name):
    """The values as they are before noise: clamped, with nulls counted as the plan says, in steps of the plan."""
    part = plan.columns[name]
    column = table.column(name).combine_chunks()
    if part.ticks is not None:
        column = part.ticks.read("test", column)
    numbers = column.fill_null(0).to_numpy().astype(np.float64)
    if part.policies.filled is not None:
        numbers[column.is_null().to_numpy(zero_copy_only=False)] = part.policies.filled
    return np.clip(numbers, *part.mechanism.bounds)


def widest(text):
    """Characters of the longest line."""
    return max(map(len, text.splitlines()))


def sit(folder, rows):
    """All commands in order; how many of them failed, and what the estimates are."""
    table = make_export(rows)
    pq.write_table(table, folder / "export.parquet")
    failed = 0

    def run(*arguments, may_fail=False):
        nonlocal failed
        done = CliRunner().invoke(main, list(arguments))
        failed += done.exit_code != 0
        assert done.exit_code == 0 or may_fail, done.output
        return done

    proposal = run("plan", "init", "export.parquet", "--profile").stdout
    run("plan", "key", "ids.key")
    (folder / "plan.toml").write_text(edit(proposal))
    first = run("plan", "check", "plan.toml", "export.parquet", may_fail=True)
    assert "city" in first.stderr  # its typos, with the line to add
    assert 'add: out_of_domain = "uniform"' in first.stderr
    text = (folder / "plan.toml").read_text().replace("fold_case = true", 'fold_case = true\nout_of_domain = "other"')
    (folder / "plan.toml").write_text(text)
    explained = run("plan", "check", "plan.toml", "export.parquet").stdout
    assert widest(explained.partition("one record")[0]) <= WINDOW
    run("budget", "create", "people.ledger", "--epsilon", "60", "--metric", "lat, lon=1")
    run("sanitize", "export.parquet", "-p", "plan.toml", "-o", "private.parquet", "--ledger", "people.ledger")
    run("verify", "private.parquet", "-p", "plan.toml", "--ledger", "people.ledger")
    estimates = json.loads(run("estimate", "private.parquet", "--json").stdout)["estimates"]
    assert widest(run("estimate", "private.parquet", "--bins", "6", "-q").stdout) <= WINDOW
    run("report", "private.parquet", "-o", "page.html")
    return failed, table, estimates


def check(folder, rows):
    failed, table, estimates = sit(folder, rows)
    assert failed <= 1
    plan = Plan.load(folder / "plan.toml")
    private = pq.read_table(folder / "private.parquet")
    assert {name for part in plan.parts for name in part.columns} == set(table.column_names)
    for name in MEANS:
        part, truth = plan.columns[name], true_values(table, plan, name)
        reports = private.column(name).combine_chunks()
        if part.ticks is not None:
            reports = part.ticks.read("test", reports)
        released = reports.to_numpy().astype(np.float64)
        error = 5 * (part.mechanism.variance / rows) ** 0.5 + 1e-9
        assert abs(released.mean() - truth.mean()) < error, name  # as they are released, without a correction
        (found,) = [one for one in estimates if one["column"] == name and one["kind"] == "mean"]
        (line,) = found["estimates"]
        scale = float(part.ticks.step) if part.ticks is not None and part.ticks.kind == "decimal" else 1.0
        assert abs(line["estimate"] - truth.mean() * scale) <= 2.5 * (line["high"] - line["low"]) / 2 + 1e-9, name
    shares = {one["column"]: {line["value"]: line for line in one["estimates"]} for one in estimates}
    berlin = pc.mean(pc.equal(pc.utf8_lower(table["city"]), "berlin").cast("float64")).as_py()
    line = shares["city"]["Berlin"]
    assert abs(line["estimate"] - berlin) <= 2.5 * (line["high"] - line["low"]) / 2
    assert set(pc.utf8_length(private["zip"]).unique().to_pylist()) == {5}
    assert not {*private["customer_id"][:100].to_pylist()} & {*table["customer_id"][:100].to_pylist()}
    page = (folder / "page.html").read_text()
    assert "What not to do" in page
    assert "Person" not in page


def test_export__is_sanitized_in_one_sitting(tmp_path, monkeypatch):
    """200,000 rows."""
    monkeypatch.chdir(tmp_path)
    check(tmp_path, 200_000)


@pytest.mark.slow
def test_export__of_five_million_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check(tmp_path, 5_000_000)
    shutil.rmtree(tmp_path)
