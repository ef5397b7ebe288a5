"""release.toml: words, errors before anything is spent, the ledger, private bounds, receipts."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.queries.plans.sql import read_sql

TOML = """
[source]
person = "user"
max_groups = 2
max_rows = 5
[budget]
rho = 0.5
delta = 1e-6
[columns.income]
bounds = [0, 200000]
nulls = "drop"
[[queries]]
name = "by_city"
group_by = ["city"]
keys = "select"
answers = ["count", "persons", "mean(income)"]
share = 2
[[queries]]
name = "ages"
histogram = "age"
edges = [0, 18, 65, 120]
[[queries]]
name = "all"
answers = ["quantiles(income, .25 .5 .75)", "distinct(city)"]
"""


@pytest.fixture(scope="module")
def table():
    source = np.random.default_rng(0)
    cities = np.array(["Paris", "Rome", "Oslo"])[source.choice(3, 8000, p=[0.6, 0.39, 0.01])]
    return pa.table({
        "user": source.integers(0, 900, 8000), "city": cities, "income": source.gamma(2, 15_000, 8000),
        "age": source.integers(0, 100, 8000),
    })  # fmt: skip


def test_plan__answers_and_costs_what_it_says(table):
    plan = fd.ReleasePlan.loads(TOML)
    found = plan.run(table, rng=fd.Rng.unsafe_seed(2))
    assert list(found) == ["by_city", "ages", "all"]
    assert found["by_city"]["count"].keys["city"].to_pylist()[-2:] == ["Paris", "Rome"]
    assert found.privacy == plan.privacy(table)
    assert found.privacy.delta <= 1e-6
    assert found.privacy.unit == "person"
    assert found.privacy.epsilon <= fd.Privacy(rho=0.5).epsilon_at(4.9e-7) * 1.01
    rows = found.to_arrow().to_pylist()
    assert {row["answer"] for row in rows} == {"count", "persons", "mean_income", "quantiles_income", "distinct_city"}
    mean = next(row for row in rows if row["answer"] == "mean_income" and row["key"] == "Paris")
    assert mean["low"] <= 30_000 <= mean["high"]


def test_plan__says_the_same_words_again(table):
    plan = fd.ReleasePlan.loads(TOML)
    said = plan.to_dict()
    again = fd.ReleasePlan(said["queries"], said["budget"], said["source"], said["columns"])
    assert again.to_dict() == said
    json.dumps(said)
    first, second = (one.run(table, rng=fd.Rng.unsafe_seed(5)) for one in (plan, again))
    assert first.to_arrow().equals(second.to_arrow())


def test_explain__tells_errors_before_anything_is_read(table):
    """Only the schema: an empty table tells the same, and what is told is what is drawn."""
    plan = fd.ReleasePlan.loads(TOML)
    lines = plan.explain(table.schema.empty_table())
    assert lines == plan.explain(table)
    found = plan.run(table, rng=fd.Rng.unsafe_seed(2))
    told = {(line["query"], line["answer"]): line for line in lines}
    count = found["by_city"]["count"]
    assert told["by_city", "count"]["std_error"] == count.std_error[0]
    low, high = count.interval(0.95)
    assert math.isclose(told["by_city", "count"]["half_width"], (high[-1] - low[-1]) / 2)
    assert told["by_city", "count"]["smallest_group"] > 10


def test_receipt__says_nothing_of_the_data(table):
    plan = fd.ReleasePlan.loads(TOML)
    large = plan.run(table, rng=fd.Rng.unsafe_seed(2)).receipt.to_json()
    small = plan.run(table.slice(0, 10), rng=fd.Rng.unsafe_seed(3)).receipt.to_json()
    assert large == small
    assert "Paris" not in large
    parts = json.loads(large)["parts"]
    assert parts[0]["limits"] == {"groups": 2, "rows": 5, "mode": "L2"}
    count = next(part for part in parts[0]["parts"] if part["of"] == "count")
    assert count["sensitivity"] == {"l2_squared": 2 * (5 << 16) ** 2}


def test_ledger__is_charged_before_any_noise(table, tmp_path):
    ledger = fd.Ledger.create(tmp_path / "people.ledger", epsilon=8.0, delta=1e-5, unit="person")
    plan = fd.ReleasePlan.loads(TOML)
    found = plan.run(table, ledger=ledger, name="visits")
    assert math.isclose(ledger.spent.amount / 1e9, found.privacy.epsilon, rel_tol=1e-6)
    assert found.receipt.ledger["entry"] == 2
    assert [entry.kind for entry in ledger.entries()] == ["create", "spend", "settle"]
    ledger.verify([found.receipt.ledger])
    rng, calls = fd.Rng.unsafe_seed(1), []

    class Data:
        """A table that notes when it is read."""

        def __arrow_c_stream__(self, requested_schema=None):
            return pa.RecordBatchReader.from_batches(table.schema, self.batches()).__arrow_c_stream__(requested_schema)

        def batches(self):
            calls.append("read")
            yield from table.to_batches()

    with pytest.raises(fd.BudgetExceededError):
        plan.run(Data(), ledger=ledger, rng=rng)
    assert calls == []
    assert ledger.entries()[-1].kind == "settle"


def test_ledger__refuses_another_unit(table, tmp_path):
    ledger = fd.Ledger.create(tmp_path / "rows.ledger", epsilon=9.0, delta=1e-5)
    with pytest.raises(fd.ParameterError, match="for one person, the budget for one record"):
        fd.ReleasePlan.loads(TOML).run(table, ledger=ledger)


WRONG = {
    "missing": ("[[queries]]\nanswers = ['count']", "there is no default"),
    "both": ("[budget]\nepsilon = 1\nrho = 1\n[[queries]]\nanswers = ['count']", "exactly one of epsilon or rho"),
    "word": ("[budget]\nepsilon = 1\n[[querys]]\nanswers = ['count']", "did you mean 'queries'"),
    "key": ("[budget]\nepsilom = 1\n[[queries]]\nanswers = ['count']", "did you mean 'epsilon'"),
    "answer": ("[budget]\nepsilon = 1\n[[queries]]\nanswers = ['meen(income)']", "did you mean 'mean'"),
    "column": ("[budget]\nepsilon = 1\n[[queries]]\nanswers = ['sum(incom)']", "did you mean 'income'"),
    "bounds": ("[budget]\nepsilon = 1\n[[queries]]\nanswers = ['sum(income)']", "'income' has no bounds"),
    "keys": ("[budget]\nepsilon = 1\n[[queries]]\ngroup_by = 'city'\nanswers = ['count']", "keys is missing"),
    "delta": (
        "[budget]\nepsilon = 1\n[[queries]]\ngroup_by = 'city'\nkeys = 'select'\nanswers = ['count']", "needs a delta",
    ),
    "idle delta": ("[budget]\nepsilon = 1\ndelta = 1e-6\n[[queries]]\nanswers = ['count']", "none are"),
    "type": (
        "[budget]\nepsilon = 1\n[columns.city]\nbounds = [0, 1]\n[[queries]]\nanswers = ['sum(city)']", "no numbers",
    ),
    "nulls": ("[budget]\nepsilon = 1\n[columns.age]\nnulls = 'error'\n[[queries]]\nanswers = ['count']", "would tell"),
    "typed keys": (
        "[budget]\nepsilon = 1\n[[queries]]\ngroup_by = 'city'\nkeys = [1, 2]\nanswers = ['count']", "not of its type",
    ),
    "twice": (("[budget]\nepsilon = 1\n[[queries]]\nname = 'a'\nanswers = ['count']\n[[queries]]\nname = 'a'\n"
              "answers = ['count']"), "same name"),
    "groups": (("[source]\nperson = 'user'\nmax_rows = 1\n[budget]\nepsilon = 1\n[[queries]]\ngroup_by = 'city'\n"
               "keys = ['Oslo']\nanswers = ['count']\n[[queries]]\nanswers = ['distinct(city)']"),
               "max_groups is missing"),
    "huge": ("[budget]\nepsilon = 100\n[[queries]]\nanswers = ['count']", "beyond the sampler"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_plan__names_what_is_wrong_before_anything_is_spent(table, wrong, tmp_path):
    text, said = WRONG[wrong]
    ledger = fd.Ledger.create(tmp_path / "l.ledger", epsilon=50.0)
    with pytest.raises(fd.FastDPError, match=said):
        fd.ReleasePlan.loads(text).run(table, ledger=ledger)
    assert len(ledger.entries()) == 1


def test_declared_keys__are_all_answered_and_others_dropped_in_silence(table, tmp_path):
    (tmp_path / "keys.csv").write_text("city\nRome\nAtlantis\n")
    (tmp_path / "release.toml").write_text(
        "[budget]\nepsilon = 5\n[[queries]]\nname = 'g'\ngroup_by = 'city'\nkeys_file = 'keys.csv'\nanswers = ['count']"
    )
    found = fd.ReleasePlan.load(tmp_path / "release.toml").run(table)["g"]["count"]
    assert found.keys["city"].to_pylist() == ["Rome", "Atlantis"]
    assert abs(found.value[1]) < 10
    assert abs(found.value[0] - table["city"].to_pylist().count("Rome")) < 10


def test_private_bounds__are_near_the_data_and_paid_for(table):
    columns = {"income": {"bounds": "private", "share": 0.2}}
    plan = fd.ReleasePlan([{"name": "m", "answers": ["mean(income)"]}], {"epsilon": 2.0}, {}, columns)
    found = plan.run(table, rng=fd.Rng.unsafe_seed(1))
    answer = found["m"]["mean_income"]
    assert abs(answer.value - 30_000) < 3000
    assert answer.privacy.epsilon <= 1.6
    assert found.privacy.epsilon == 2.0
    assert found.receipt.to_dict()["parts"][0]["bounds of"] == "income"
    assert plan.explain(table)[0]["std_error"] is None
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    with pytest.raises(fd.ParameterError, match="two passes"):
        plan.run(reader)


def test_scale__is_never_worse_than_sampling():
    """At the same noise: persons with many groups keep part of each, not all of a few (share .2 against .04)."""
    source = np.random.default_rng(3)
    groups = np.minimum((source.pareto(1.0, 3000) + 1).astype(int), 60)
    persons = np.repeat(np.arange(3000), groups)
    keys = np.concatenate([source.choice(60, size, replace=False) for size in groups])
    exact = np.bincount(keys, minlength=60)
    errors = {}
    for bound in ("sample", "scale"):
        off = []
        for seed in range(3):
            found = fd.release.group_by(
                {"k": keys, "u": persons}, "k", ["count"], keys=list(range(60)), rho=0.1, person="u", max_groups=4,
                max_rows=1, bound=bound, rng=fd.Rng.unsafe_seed(seed),
            )  # fmt: skip
            off.append(((found["count"].value - exact) ** 2).mean())
        errors[bound] = math.sqrt(np.mean(off))
    assert errors["scale"] < errors["sample"]


def test_sql__reads_aggregates_of_columns():
    pytest.importorskip("sqlglot")
    found = read_sql("select city, count(*), avg(income) as pay, count(distinct user) as u from t group by city")
    assert found == {
        "name": "sql", "group_by": ["city"],
        "answers": {"count": "count", "pay": "mean(income)", "u": "distinct(user)"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("select count(*) from t where age > 3", "filter the data first"),
        ("select city from t group by city", "asks for no aggregate"),
        ("select city, count(*) from t", "not in group by"),
        ("select count(*) from t; select 1", "one select"),
        ("delete from t", "one select"),
        ("select stddev(age) from t", "is not offered"),
        ("select count(*) from t group by city having count(*) > 3", "would tell"),
        ("select sum(least(income, 5)) from t", "only names of columns"),
        ("select count(*) from t order by 1", "order of their keys"),
        ("select ((", "no SQL"),
    ],
)
def test_sql__refuses_the_rest_with_the_reason(text, said):
    pytest.importorskip("sqlglot")
    with pytest.raises(fd.ParameterError, match=said):
        read_sql(text)
