"""Dates, times, durations and decimals in plans: the same type out, integer noise in steps, estimates in words."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import fastdp as fd
from fastdp.cli import main
from fastdp.tables.sanitizing.columns import Columns
from fastdp.units.durations import DAY
from fastdp.units.ticks import Ticks

N = 4000
PLAN = """
[columns.born]
mechanism = "geometric"
epsilon = 1.0
bounds = [1920-01-01, 2026-12-31]
unit = "30 days"
nulls = 1970-01-01

[columns.seen]
mechanism = "geometric"
epsilon = 1.0
bounds = [2026-01-01T00:00:00Z, 2026-12-31T00:00:00Z]
unit = "1 hour"

[columns.paid]
mechanism = "discrete_gaussian"
rho = 0.5
step = 0.01
bounds = [0, 2000]
"""


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(20261118)
    born = pa.array(rng.integers(-10_000, 15_000, N).astype(np.int32), mask=rng.random(N) < 0.1).cast(pa.date32())
    seen = pa.array(1_767_225_600_000 + rng.integers(0, 10**10, N), pa.timestamp("ms", "UTC"))
    paid = pa.array([Decimal(int(cents)) / 100 for cents in rng.integers(0, 200_000, N)], pa.decimal128(10, 2))
    return pa.table({"born": born, "seen": seen, "paid": paid})


def test_types__come_out_as_they_went_in(table):
    release = fd.sanitize(table, fd.Plan.loads(PLAN))
    assert release.schema.types == table.schema.types
    assert release["born"].null_count == 0
    assert pc.max(release["paid"]).as_py() > Decimal(2000)


def test_types__come_out_clamped_where_the_plan_says_so(table):
    plan = fd.Plan.loads(PLAN.replace("bounds =", 'boundary = "clamp"\nbounds ='))
    release = fd.sanitize(table, plan)
    assert release.schema.types == table.schema.types
    assert dt.date(1920, 1, 1) <= pc.min(release["born"]).as_py()
    assert pc.max(release["paid"]).as_py() <= Decimal(2000)


def test_types__widen_where_open_reports_need_it():
    """Decimals get digits, nanoseconds become microseconds; what fits no type is refused, with the way out."""
    wide = {"mechanism": "geometric", "epsilon": 0.01}
    money = fd.Plan(columns={"x": wide | {"bounds": [0, 9], "step": 0.01}})
    (kind,) = money.columns["x"].result_types([pa.decimal128(3, 2)])
    assert kind == pa.decimal128(7, 2)
    moments = fd.Plan(columns={"x": wide | {"bounds": ["2020-01-01T00:00:00", "2026-01-01T00:00:00"]}})
    assert moments.columns["x"].result_types([pa.timestamp("ns")]) == [pa.timestamp("us")]
    released = fd.sanitize(pa.table({"x": pa.array([10**18] * 2000, pa.timestamp("ns"))}), moments)
    assert pc.min(released["x"]).cast(pa.int64()).as_py() < 0 < pc.max(released["x"]).cast(pa.int64()).as_py()
    with pytest.raises(fd.ParameterError, match='boundary = "clamp"'):
        fd.Plan(columns={"x": wide | {"bounds": ["08:00:00", "18:00:00"]}})


def test_reports__are_the_mechanisms_own_in_steps(table):
    """Nothing but exact conversions happens before and after the noise."""
    plan, rng = fd.Plan.loads(PLAN), fd.Rng.unsafe_seed(5)
    (batch,) = table.combine_chunks().to_batches()
    release = Columns(table.schema, plan).randomize(batch, fd.Rng.unsafe_seed(5), copy=False)
    ticks = Ticks("date", Fraction(DAY))
    steps = ticks.read("x", table["born"].combine_chunks()).fill_null(0).to_numpy()
    expected = fd.Geometric(epsilon=1.0, sensitivity=30, bounds=(-18_262, 20_818)).randomize(
        steps, rng=rng.child("born")
    )
    assert ticks.read("x", release["born"]).to_numpy().tolist() == expected.tolist()


@pytest.mark.parametrize(("column", "unit"), [("born", 1), ("seen", 3600)])
def test_guarantee__holds_at_every_distance(column, unit):
    """From the law's own rate: values d apart are rounded down to steps at most a step further apart."""
    plan = fd.Plan.loads(PLAN)
    stated, mechanism = plan.privacy.metric[column], plan.columns[column].mechanism
    rate = Fraction(mechanism.privacy.epsilon) / mechanism.sensitivity
    rounds = 0 if column == "born" else 1
    for steps in (Fraction(1), Fraction(5, 2), Fraction(29), Fraction(30), Fraction(3600), Fraction(36_001, 10)):
        if steps.denominator > 1 and not rounds:
            continue
        apart = -(-steps // 1) + (rounds if steps.denominator == 1 and steps % mechanism.sensitivity else 0)
        assert stated.at(float(steps / unit)).epsilon >= rate * apart * (1 - Fraction(1, 10**9))


def test_words__name_days_and_hours():
    plan = fd.Plan.loads(PLAN)
    assert plan.privacy.metric["born"].unit == "distance 30 days"
    assert plan.privacy.metric["seen"].unit == "distance 1 hour"
    assert plan.columns["born"].expected_error.endswith("days on each value")


def test_plan__survives_its_receipt(table, tmp_path):
    plan = fd.Plan.loads(PLAN)
    fd.sanitize(table, plan, tmp_path / "o.parquet")
    stated = json.loads((tmp_path / "o.parquet.receipt.json").read_text())["plan"]
    assert fd.Plan(**stated) == plan
    assert stated["columns"]["born"]["bounds"] == ["1920-01-01", "2026-12-31"]


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_estimates__are_near_the_truth_and_in_words(table, tmp_path, ending):
    release = tmp_path / f"o.{ending}"
    fd.sanitize(table, fd.Plan.loads(PLAN), release, rng=fd.Rng.unsafe_seed(7))
    found = fd.estimate_table(release)
    days = table["born"].combine_chunks().cast(pa.int32()).fill_null(0).to_numpy()
    (line,) = found["born"].lines
    assert line.low - 30 <= days.mean() <= line.high + 30
    paid = np.array([float(amount) for amount in table["paid"].to_pylist()])
    (line,) = found["paid"].lines
    half = line.high - line.low
    assert line.low - half <= paid.mean() <= line.high + half
    done = CliRunner().invoke(main, ["estimate", str(release), "-c", "born", "--bins", "4"])
    assert done.exit_code == 0, done.output
    assert "1920-01-01 to " in done.output
    shown = json.loads(CliRunner().invoke(main, ["estimate", str(release), "-c", "born", "--json"]).stdout)
    assert shown["estimates"][0]["estimates"][0]["shown"]["estimate"][:2] in {"19", "20"}


def test_csv__is_read_as_what_the_plan_declares(table, tmp_path):
    plain = table.select(["born", "paid"]).set_column(0, "born", table["born"].fill_null(dt.date(1980, 1, 1)))
    pa.csv.write_csv(plain, tmp_path / "in.csv")
    plan = fd.Plan(columns={name: fd.Plan.loads(PLAN).columns[name] for name in ("born", "paid")})
    fd.sanitize(tmp_path / "in.csv", plan, tmp_path / "o.parquet", rng=fd.Rng.unsafe_seed(1))
    expected = fd.sanitize(plain, plan, rng=fd.Rng.unsafe_seed(1))
    found = pa.parquet.read_table(tmp_path / "o.parquet")
    assert found["born"].to_pylist() == expected["born"].to_pylist()
    assert found["paid"].to_pylist() == expected["paid"].to_pylist()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"mechanism": "laplace", "bounds": ["1920-01-01", "2026-01-01"]}, "use geometric or discrete_gaussian"),
        ({"mechanism": "geometric", "bounds": ["1920-01-01", "2026-01-01"], "unit": "1 hour"}, "steps of 1 day"),
        ({"mechanism": "geometric", "bounds": ["1920-01-01", "2026-01-01"], "unit": 7}, "duration such as"),
        ({"mechanism": "geometric", "unit": "7 days"}, "give bounds that are dates"),
        ({"mechanism": "geometric", "bounds": [0, 10.005], "step": 0.01}, "whole number of steps"),
        ({"mechanism": "geometric", "bounds": [0, 10], "nulls": 11}, "value within the bounds"),
        ({"mechanism": "geometric", "bounds": [0, 10], "nulls": "somehow"}, "value within the bounds"),
        (
            {"mechanism": "geometric", "bounds": ["1920-01-01", "2026-01-01"], "nulls": "1900-01-01"},
            "within the bounds",
        ),
    ],
)
def test_plan__refuses(entry, message):
    with pytest.raises(fd.ParameterError, match=message):
        fd.Plan(columns={"x": entry | {"epsilon": 1.0}})


@pytest.mark.parametrize(
    ("entry", "column"),
    [
        ({"mechanism": "geometric", "bounds": [0, 10], "nulls": 3}, pa.array([1, None, 5], pa.int8())),
        ({"mechanism": "laplace", "bounds": [0, 10], "nulls": 3.5}, pa.array([1.0, None, 5.0], pa.float32())),
        ({"mechanism": "square_wave", "bounds": [0, 10], "nulls": 3.5}, pa.array([1.0, None, 5.0])),
    ],
)
def test_nulls__count_as_a_declared_value(entry, column):
    """Which hides them: the reports are those of the column with that value."""
    plan = fd.Plan(columns={"x": entry | {"epsilon": 1.0}})
    filled = column.fill_null(pa.scalar(entry["nulls"], column.type))
    batches = [pa.record_batch({"x": one}) for one in (column, filled)]
    made = [Columns(one.schema, plan).randomize(one, fd.Rng.unsafe_seed(2), copy=False) for one in batches]
    assert made[0].equals(made[1])


def test_init__suggests_what_check_accepts(tmp_path):
    """Uncommented, with an epsilon, its lines are a plan for the file."""
    schema = pa.schema({
        "day": pa.date32(), "moment": pa.timestamp("us"), "zoned": pa.timestamp("s", "UTC"), "clock": pa.time32("s"),
        "took": pa.duration("s"), "money": pa.decimal128(12, 2),
    })  # fmt: skip
    from fastdp.plans.documents.template import skeleton

    lines = skeleton(schema).splitlines()
    text = "\n".join(
        line.removeprefix("# ") for line in lines if not line.startswith(("action", "#   ", "# What", "# Check"))
    )
    plan = fd.Plan.loads(text)
    fd.sanitize(schema.empty_table(), plan)
