"""fd.synthesize: its cost, its intervals, its rows, and that rows come from noisy answers alone."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastdp as fd
from fastdp.errors import BudgetExceededError, ParameterError, SchemaError
from fastdp.synthesis import curator as curators
from fastdp.synthesis.choosing import choose_and_fit, estimates_of
from fastdp.synthesis.curator import STEPS, Curator
from fastdp.synthesis.result import Checked

DOMAINS = {
    "sex": ["f", "m"],
    "age": {"bins": 5, "bounds": [20, 70]},
    "job": {"values": ["baker", "nurse", "clerk"], "nulls": True},
}


@pytest.fixture(scope="module")
def table():
    source = np.random.default_rng(1)
    sex = source.integers(0, 2, 4000)
    job = np.where(source.random(4000) < 0.8, sex, source.integers(0, 4, 4000))
    names = np.array(["baker", "nurse", "clerk", None], object)[job]
    age = 20 + 50 * source.beta(2, 1 + job)
    return pa.table({"sex": np.array(["f", "m"])[sex], "age": age, "job": pa.array(names.tolist()), "who": sex})


def made(data, **given):
    given = {"rho": 0.1, "rng": fd.Rng.unsafe_seed(3), "rounds": 6} | given
    return fd.synthesize(data, given.pop("domains", DOMAINS), **given)


BUDGETS = [{"rho": 0.2}, {"rho": None, "epsilon": 1.0, "delta": 1e-6}, {"rho": None, "epsilon": 2.0}]


@pytest.mark.parametrize("choose", ["adaptive", "tree", "given"])
@pytest.mark.parametrize("budget", BUDGETS, ids=["rho", "epsilon and delta", "epsilon"])
@pytest.mark.parametrize("neighbours", ["add/remove", "replace"])
def test_parts__cost_no_more_than_is_charged(table, choose, budget, neighbours):
    """Recomputed from the receipt's own scales: every draw's cost, added up."""
    one = made(table, choose=choose, neighbours=neighbours, **budget)
    rho = epsilon = 0.0
    for part in one.receipt.parts:
        if "chosen" in part:
            rho, epsilon = rho + part["epsilon"] ** 2 / 8, epsilon + part["epsilon"]
            continue
        moved = part["sensitivity"]
        rho += moved.get("l2_squared", 0) / (2 * part["scale"] ** 2)
        epsilon += moved.get("l1", 0) / part["scale"]
        rows = 1 if neighbours == "add/remove" else 2
        if "measured" in part:
            assert moved.get("l1", rows) == rows
            assert moved.get("l2_squared", rows) == rows
        else:
            checked = len(one.plan.workload)
            assert moved.get("l1", checked * rows * STEPS) == checked * rows * STEPS
            assert moved.get("l2_squared", checked * (rows * STEPS) ** 2) == checked * (rows * STEPS) ** 2
    stated = one.privacy
    if "epsilon" in budget and "delta" not in budget:
        assert 0.97 * stated.epsilon <= epsilon <= stated.epsilon * (1 + 1e-9)
    else:
        assert 0.97 * stated.rho <= rho <= stated.rho * (1 + 1e-9)
    if "delta" in budget:
        assert fd.Privacy(rho=stated.rho).epsilon_at(1e-6) <= stated.epsilon <= 1.0
    assert stated.neighbours == neighbours


def test_rows__come_from_noisy_answers_alone(table, monkeypatch):
    """Data that are poisoned after a noisy answer change nothing; rows need no data at all."""
    one = made(table)
    plain = one.to_arrow(500)
    truth = Curator._truth
    answers = []

    def watched(self, subset):
        """The exact counts, once asked for by a noisy answer, then never again."""
        import sys

        caller = sys._getframe(1).f_code.co_name
        assert caller in {"measure", "_distance"}
        answers.append(caller)
        return truth(self, subset)

    monkeypatch.setattr(Curator, "_truth", watched)
    again = made(table)
    assert answers
    monkeypatch.setattr(Curator, "_truth", lambda *_: pytest.fail("data were read after the noise"))
    assert again.to_arrow(500).equals(plain)
    assert again._model.tables[0] is not one._model.tables[0]


def test_fit__is_a_function_of_what_was_measured(table, monkeypatch):
    """Other data behind the same noisy answers give the same rows, byte for byte."""
    one = made(table, choose="given", check=0)
    recorded = list(one._measured)
    monkeypatch.setattr(Curator, "measure", lambda _self, _subset, _spend: recorded.pop(0))
    monkeypatch.setattr(curators, "count_cells", lambda *_: pytest.fail("the data were counted"))
    poisoned = table.slice(0, 7)
    assert made(poisoned, choose="given", check=0).to_arrow(300).equals(one.to_arrow(300))


def curator_of(table, seed, plan):
    own = Curator(plan, table.schema, fd.Rng.unsafe_seed(seed), None)
    for batch in table.to_batches():
        own.add(batch)
    own.finish()
    return own


@pytest.mark.parametrize("budget", [{"rho": 0.1}, {"epsilon": 2.0}], ids=["rho", "epsilon"])
def test_errors__cover_the_true_distances(table, budget):
    """95 % intervals hold the distance in 95 % of fresh checks; half as wide, they do not."""
    plan = fd.SynthesisPlan(columns=DOMAINS, budget=budget, model={"rounds": 6, "check": 0.5})
    one = made(table, **({"rho": None} | budget), check=0.5)
    own = curator_of(table, 1, plan)
    estimates = estimates_of(one._model, plan.workload)
    true = np.array([own._distance(s, e) for s, e in estimates.items()]) / (2 * STEPS * one._model.rows)
    true = np.array([true.mean(), *true])
    inside, narrow, runs = np.zeros(true.size), np.zeros(true.size), 300
    for seed in range(runs):
        own._rng = fd.Rng.unsafe_seed(10_000 + seed)
        checked = Checked(*own.distances(estimates, plan.spend.part(Fraction(1, 2))))
        found = dataclasses.replace(one, _checked=checked).errors(0.95)
        low, high, error = (found[name].to_numpy() for name in ("low", "high", "error"))
        inside += (low <= true) & (true <= high)
        narrow += (np.abs(true - error) <= (high - error) / 2) & (error > 0)
    least = 0.95 * runs - 3.3 * np.sqrt(runs * 0.95 * 0.05)
    assert np.all(inside >= least)
    assert np.any(narrow < least)


def test_errors__say_what_noise_makes(table):
    """Expected errors are those of the noise, and the estimate is near the distance of the rows drawn."""
    one = made(table, choose="given", rho=0.5, check=0.2, ways=2)
    found = one.errors().to_pylist()
    measured = {tuple(part["measured"]): part for part in one.receipt.parts if "measured" in part}
    for row, subset in zip(found[1:], one.plan.workload, strict=True):
        names = [one.names[c] for c in subset]
        cells = np.prod([one.plan.sizes[c] for c in subset])
        scale = measured[tuple(names)]["scale"]
        assert row["expected"] == pytest.approx(cells * scale * np.sqrt(2 / np.pi) / (2 * one._model.rows), rel=0.01)
        assert row["low"] <= row["error"] <= row["high"]


def test_rows__follow_the_marginals(table):
    one = made(table, rho=50.0)
    rows = one.to_arrow(4000).to_pandas()
    real = table.to_pandas()
    for name in ("sex", "job"):
        assert np.abs(rows[name].value_counts() - real[name].value_counts()).max() < 40
    both = pd.crosstab(rows["sex"], rows["job"]) - pd.crosstab(real["sex"], real["job"])
    assert np.abs(both.to_numpy()).max() < 60
    assert rows["age"].between(20, 70).all()
    assert rows["age"].nunique() > 3000
    assert abs(rows["age"].mean() - real["age"].mean()) < 1.5


CONTAINERS = {
    "dict": lambda t: {name: t[name].to_pylist() for name in t.column_names},
    "pandas": lambda t: t.to_pandas(),
    "polars": pl.from_arrow,
    "pyarrow": lambda t: t,
    "batch": lambda t: t.combine_chunks().to_batches()[0],
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_rows__come_in_the_kind_of_the_data(table, kind):
    data = CONTAINERS[kind](table)
    one = made(data)
    rows = one.rows(50)
    assert type(rows) is type(data)
    assert [str(v) for v in list(rows["sex"])] == [str(v) for v in list(CONTAINERS[kind](one.to_arrow(50))["sex"])]


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv"])
def test_write__streams_the_same_rows(table, tmp_path, ending):
    one = made(table)
    path = tmp_path / f"rows{ending}"
    stamp = one.write(path, 700)
    assert json.loads((tmp_path / f"rows{ending}.receipt.json").read_text())["rows"] == 700 == stamp.rows
    if ending == ".parquet":
        assert pq.read_table(path).equals(one.to_arrow(700))
    again = made(table)
    again.write(tmp_path / f"again{ending}", 700)
    assert (tmp_path / f"again{ending}").read_bytes() == path.read_bytes()
    with pytest.raises(fd.OutputExistsError):
        one.write(path, 10)


def test_columns__hold_dates_integers_booleans_and_nulls():
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=i % 60) for i in range(2000)]
    data = pa.table({
        "day": pa.array([None if i % 10 == 0 else day for i, day in enumerate(days)]),
        "n": pa.array([i % 7 for i in range(2000)], pa.int16()),
        "ok": [i % 3 == 0 for i in range(2000)],
    })  # fmt: skip
    domains = {
        "day": {"bins": ["2024-01-01", "2024-02-01", "2024-03-01"], "nulls": True},
        "n": {"bins": [0, 3, 6], "shape": "fitted"},
        "ok": [True, False],
    }
    rows = made(data, domains=domains, rho=10.0).to_arrow(2000)
    assert rows.schema.types == data.schema.types
    assert 150 < rows["day"].null_count < 250
    assert set(rows["n"].to_pylist()) == set(range(7))
    assert min(d for d in rows["day"].to_pylist() if d) == dt.date(2024, 1, 1)


def test_persons__count_with_few_rows(table):
    """A person with many rows weighs as one with max_rows: half of all rows are one person's."""
    data = pa.table({"who": [0] * 1000 + list(range(1, 1001)), "x": [1] * 1000 + [0] * 1000})
    one = made(data, domains={"x": [0, 1]}, rho=50.0, person="who", max_rows=2)
    assert np.allclose(one.marginal("x"), [1000, 2], atol=4)
    assert one.privacy.unit == "person"


def test_zeros__are_never_drawn(table):
    one = made(table, zeros=[{"sex": "m", "job": ["nurse", None]}])
    rows = one.to_arrow(4000).to_pandas()
    assert not ((rows["sex"] == "m") & (rows["job"].isna() | (rows["job"] == "nurse"))).any()


def test_dependencies__are_told(table):
    one = made(table, choose="tree")
    held = {frozenset(clique) for clique in one.modelled()}
    missing = {frozenset(pair) for pair in one.not_modelled()}
    assert len(held) == 2
    assert len(missing) == 1
    assert "not people" in one.warning


BAD = [
    ({"domains": {"sex": ["f"], "no": [1, 2]}}, SchemaError, "no"),
    ({"domains": {"sex": [1, 2]}}, ParameterError, "not of its type"),
    ({"domains": {}}, ParameterError, "never inferred"),
    ({"domains": {"age": {"bins": 5}}}, ParameterError, "needs bounds"),
    ({"domains": {"age": {"bins": [3, 2]}}}, ParameterError, "ascend"),
    ({"domains": {"age": {"bins": 2, "values": [1]}}}, ParameterError, "exactly one"),
    ({"rho": -1.0}, ParameterError, "rho"),
    ({"rho": None}, ParameterError, "exactly one"),
    ({"delta": 1e-6}, ParameterError, "without delta"),
    ({"choose": "best"}, ParameterError, "choose"),
    ({"check": 1.0}, ParameterError, "check"),
    ({"workload": [["sex", "no"]]}, ParameterError, "no"),
    ({"zeros": [{"sex": "x"}]}, ParameterError, "no such value"),
    ({"zeros": [{"sex": ["f", "m"]}]}, ParameterError, "no cell"),
    ({"person": "who"}, ParameterError, "max_rows"),
    ({"domains": {c: {"bins": 400, "bounds": [0, 1]} for c in ("age", "age2", "age3")}, "choose": "given"},
     ParameterError, "above memory_mb"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "error", "words"), BAD)
def test_bad_input__is_refused_before_anything_is_spent(table, tmp_path, given, error, words):
    ledger = fd.Ledger.create(tmp_path / "people.ledger", rho=1.0, policy="zcdp")
    before = len(ledger.entries())
    wide = table.append_column("age2", table["age"]).append_column("age3", table["age"])
    with pytest.raises(error, match=words):
        made(wide, ledger=ledger, **given)
    assert len(ledger.entries()) == before


def test_ledger__pays_once_and_refuses_what_is_too_much(table, tmp_path):
    ledger = fd.Ledger.create(tmp_path / "people.ledger", rho=0.15, policy="zcdp")
    before = len(ledger.entries())
    one = made(table, ledger=ledger)
    paid = len(ledger.entries())
    assert paid > before
    one.write(tmp_path / "a.parquet", 100)
    one.write(tmp_path / "b.parquet", 100_000)
    assert len(ledger.entries()) == paid
    assert one.receipt.ledger
    with pytest.raises(BudgetExceededError):
        made(table, ledger=ledger)


def test_attacks__run_against_it(table):
    """Tracing tells members no better than chance; linkage names rows of a register, with and without the rows."""
    source = np.random.default_rng(5)
    people = source.random((600, 24)) < source.random(24)
    names = [f"c{i}" for i in range(24)]

    def release(rows):
        data = {name: rows[:, i].astype(bool) for i, name in enumerate(names)}
        one = fd.synthesize(
            data, {name: [False, True] for name in names}, rho=0.005, choose="tree", check=0, ways=2,
            rng=fd.Rng.unsafe_seed(2),
        )  # fmt: skip
        synthetic = one.to_arrow(300)
        return np.array([np.mean(synthetic[name].to_pylist()) for name in names])

    attack = fd.attacks.tracing(people[:300].astype(float), people[300:].astype(float), release=release)
    exact = fd.attacks.tracing(people[:300].astype(float), people[300:].astype(float))
    assert attack.success < exact.success - 0.015
    one = made(table.slice(0, 500), rho=0.01)
    rows, register = one.to_arrow(500), table.slice(0, 500)
    named = fd.attacks.linkage(rows.select(["sex", "age"]), register.select(["sex", "age"]), on=["sex", "age"])
    assert named.success == 0  # no row of it is a row of the data


def test_choose_and_fit__spends_what_it_is_given(table):
    plan = fd.SynthesisPlan(columns=DOMAINS, budget={"rho": 0.1}, model={"rounds": 3})
    own = curator_of(table, 2, plan)
    choose_and_fit(plan, own, plan.spend, lambda *_: None)
    assert 0.99 < own.cost.rho / plan.spend.rho <= 1
