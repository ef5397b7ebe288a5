"""DuckDB, DataFusion, polars, pandas: one draw per release, the same bytes as on one machine, and errors of our own."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd

duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
pandas, datafusion = pytest.importorskip("pandas"), pytest.importorskip("datafusion")

PLAN = fd.Plan(
    columns={
        "x": {"mechanism": "laplace", "epsilon": 40.0, "bounds": [0, 1e6]},
        "label": {"mechanism": "krr", "epsilon": 1.0, "domain": ["a", "b", "c"]},
        "n": "keep",
    }
)
ROWS = 70_000
TABLE = pa.table({
    "x": np.random.default_rng(1).uniform(3e5, 7e5, ROWS), "label": np.array(["a", "b", "c"])[np.arange(ROWS) % 3],
    "n": np.arange(ROWS),
})  # fmt: skip


@pytest.fixture
def con():
    made = duckdb.connect()
    made.register("given", TABLE)
    made.execute("create table people as select * from given")
    return made


@pytest.fixture
def ctx():
    made = datafusion.SessionContext()
    made.from_arrow(TABLE, name="people")
    return made


@pytest.fixture(scope="module")
def key():
    return fd.JobKey()


@pytest.fixture(scope="module")
def expected(key):
    return plain(fd.sanitize(TABLE, PLAN, key=key))


def plain(table: pa.Table) -> dict[str, list]:
    return {name: table[name].to_pylist() for name in ("x", "label", "n")}


def test_duckdb__gives_the_bytes_of_one_machine_once(con, key, expected):
    receipt = fd.duckdb.sanitize(con, "select * from people order by n", PLAN, into='pri"vate', key=key)
    reads = [plain(con.sql('select * from "pri""vate" order by n').to_arrow_table()) for _ in range(2)]
    assert reads == [expected, expected]
    assert receipt.rows == ROWS
    ((stated,),) = con.sql("select comment from duckdb_tables() where table_name = 'pri\"vate'").fetchall()
    assert json.loads(stated) == receipt.to_dict()
    with pytest.raises(fd.errors.OutputExistsError, match="drop it first"):
        fd.duckdb.sanitize(con, "select * from people", PLAN, into='pri"vate')


def test_datafusion__gives_the_bytes_of_one_machine_once(ctx, key, expected):
    fd.datafusion.sanitize(ctx, "select * from people order by n", PLAN, into="private", key=key)
    assert plain(ctx.sql("select * from private order by n").to_arrow_table()) == expected


def test_engines__leave_no_table_behind_an_error(con, ctx):
    con.execute("update people set x = 'nan'::double where n = 66000")
    with pytest.raises(fd.DomainError, match="column 'x'"):
        fd.duckdb.sanitize(con, "select * from people", PLAN, into="private")
    assert con.sql("select count(*) from duckdb_tables() where table_name = 'private'").fetchall() == [(0,)]
    with pytest.raises(fd.DomainError, match="column 'x'"):
        fd.datafusion.sanitize(ctx, "select x * 'nan'::double as x, label, n from people", PLAN, into="private")
    assert not ctx.table_exist("private")


def test_ledger__pays_before_and_refuses_what_does_not_fit(con, tmp_path):
    _ = fd.polars
    ledger = fd.Ledger.create(tmp_path / "ledger", epsilon=60.0)
    receipt = fd.duckdb.sanitize(con, "select * from people", PLAN, into="one", ledger=ledger)
    assert ledger.verify([receipt.ledger]) == 3
    for again in (
        lambda: fd.duckdb.sanitize(con, "select * from people", PLAN, into="two", ledger=ledger),
        lambda: polars.from_arrow(TABLE).lazy().fastdp.sanitize(PLAN, ledger=ledger),
    ):
        with pytest.raises(fd.BudgetExceededError):
            again()
    assert con.sql("select count(*) from duckdb_tables() where table_name = 'two'").fetchall() == [(0,)]


def test_polars__gives_the_same_bytes_at_every_collect(key, expected):
    _ = fd.polars
    private = polars.from_arrow(TABLE).lazy().fastdp.sanitize(PLAN, key=key)
    frames = [
        private.collect(),
        private.collect(engine="streaming"),
        polars.concat([private, private]).collect()[ROWS:],
    ]
    assert all(frame.to_dict(as_series=False) == expected for frame in frames)
    assert private.head(3).collect().equals(frames[0].head(3))
    assert (
        private.select("x")
        .filter(polars.col("x") > 5e5)
        .collect()
        .equals(frames[0].select("x").filter(polars.col("x") > 5e5))
    )
    assert polars.from_arrow(TABLE).fastdp.sanitize(PLAN, key=key).to_dict(as_series=False) == expected


def test_mutant__a_fresh_key_per_collect_is_noticed(key, expected):
    frame = polars.from_arrow(TABLE)
    assert frame.fastdp.sanitize(PLAN).to_dict(as_series=False) != expected


def test_pandas__has_an_accessor(key, expected):
    _ = fd.pandas
    made = TABLE.to_pandas().fastdp.sanitize(PLAN, key=key)
    assert made["x"].tolist() == expected["x"]


def test_functions__draw_per_row_and_filter_what_they_release(con, ctx):
    """A filter on the result is a filter on what is shown; without side effects it is on another draw."""
    fd.duckdb.register(con)
    noisy = "select fastdp_laplace(x, 1.0, 1000.0) as v from people"
    assert con.sql(f"select min(v) from ({noisy}) where v > 500000").fetchall()[0][0] > 500_000
    assert con.sql("select count(distinct fastdp_laplace(5.0, 1.0, 1.0)) from range(100)").fetchall()[0][0] > 90
    labels = con.sql("select distinct fastdp_krr(label, 1.0, 'a,b,c') from people").fetchall()
    assert sorted(labels) == [("a",), ("b",), ("c",)]
    fd.datafusion.register(ctx)
    found = ctx.sql(f"select min(v) as v from ({noisy}) where v > 500000").to_arrow_table()
    assert found["v"][0].as_py() > 500_000


def test_mutant__functions_without_side_effects_show_other_draws(con, monkeypatch):
    make = duckdb.DuckDBPyConnection.create_function

    class Pure:
        def create_function(self, *given, **named):
            make(con, *given, **(named | {"side_effects": False}))

    fd.duckdb.register(Pure())
    least = con.sql(
        "select min(v) from (select fastdp_laplace(x, 1.0, 1e5) v from people) where v > 500000"
    ).fetchall()[0]
    assert least[0] < 500_000


def test_functions__take_constants_alone(con):
    fd.duckdb.register(con)
    with pytest.raises(Exception, match="must be one constant"):
        con.sql("select fastdp_laplace(x, 1.0 + n, 1.0) from people").fetchall()


def test_expressions__are_the_mechanisms():
    _ = fd.polars
    frame = polars.from_arrow(TABLE)
    made = frame.select(
        polars.col("x").fastdp.laplace(epsilon=1.0, sensitivity=1e5), polars.col("n").fastdp.geometric(epsilon=1.0),
        polars.col("label").fastdp.krr(epsilon=1.0, domain=["a", "b", "c"]),
    )  # fmt: skip
    spread = (made["x"] - frame["x"]).std()
    assert abs(spread / (2**0.5 * 1e5) - 1) < 0.05
    assert made["n"].dtype == polars.Int64
    agree = (made["label"] == frame["label"]).mean()
    assert abs(agree - np.e / (np.e + 2)) < 0.01


@pytest.mark.parametrize("context", ["agg", "over", "rolling"])
def test_expressions__draw_once_per_row_inside_of_groups(context):
    """Also where windows overlap, so that what a person costs does not depend on how many groups they are in."""
    _ = fd.polars
    frame = polars.DataFrame({"t": np.arange(3000), "g": np.arange(3000) % 7, "x": np.zeros(3000)})
    noisy = polars.col("x").fastdp.laplace(epsilon=1.0, sensitivity=1.0)
    if context == "agg":
        drawn = frame.group_by("g").agg(noisy)["x"].explode().to_list()
    elif context == "over":
        drawn = frame.select(noisy.over("g"))["x"].to_list()
    else:
        lists = frame.rolling("t", period="3i").agg(noisy)["x"].to_list()
        drawn = [value for values in lists for value in values]
        assert [values[-2:] for values in lists[1:-1]] == [values[:2] for values in lists[2:]]
    assert len(set(drawn)) > 2990
    assert len(set(drawn)) <= 3000
