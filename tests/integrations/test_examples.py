"""Every example of docs/engines.md runs and does what the page says; Spark's and Dask's are in test_clusters.py."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

import fastdp as fd
from tests.integrations import examples
from tests.integrations.test_in_process import PLAN, ROWS, TABLE


@pytest.fixture(autouse=True)
def ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return fd.Ledger.create(tmp_path / "people.ledger", epsilon=60.0)


def test_every_example_is_run():
    assert set(examples.headings()) == {
        "One machine", "Spark", "Dask", "DuckDB and DataFusion", "polars and pandas", "numpy and OpenDP",
    }  # fmt: skip


def test_one_machine__repeats_a_release_for_nothing(ledger):
    found = examples.run("One machine", table=TABLE, plan=PLAN)
    assert found["again"].equals(found["private"])
    assert not found["private"]["x"].equals(TABLE["x"])
    one = fd.Ledger.create("other.ledger", epsilon=60.0)
    fd.sanitize(TABLE, PLAN, ledger=one)
    assert ledger.spent == one.spent


def test_databases__have_the_private_table():
    duckdb, datafusion = pytest.importorskip("duckdb"), pytest.importorskip("datafusion")
    con, ctx = duckdb.connect(), datafusion.SessionContext()
    con.register("given", TABLE)
    con.execute("create table people as select * from given")
    ctx.from_arrow(TABLE, name="people")
    found = examples.run("DuckDB and DataFusion", con=con, ctx=ctx, plan=PLAN, fd=fd)
    assert found["receipt"].rows == ROWS
    assert con.sql("select count(*) from private").fetchall() == [(ROWS,)]
    assert con.sql("select fastdp_laplace(1.0, 1.0, 1.0)").fetchall()[0][0] != 1.0


def test_frames__are_the_same_at_every_collect():
    pl = pytest.importorskip("polars")
    pq.write_table(TABLE, "people.parquet")
    frame = pl.scan_parquet("people.parquet")
    found = examples.run("polars and pandas", pl=pl, df=frame.collect(), plan=PLAN, fd=fd)
    assert found["private"].height == ROWS
    private = frame.fastdp.sanitize(PLAN)
    assert private.collect().equals(private.collect())


def test_libraries__have_noise_of_their_own_names():
    dp = pytest.importorskip("opendp.prelude", reason="opendp is not installed")
    dp.enable_features("contrib", "honest-but-curious")
    values = np.arange(10.0)
    found = examples.run("numpy and OpenDP", values=values, n=values.size, dp=dp)
    assert found["numpy"].Generator().laplace(loc=values, scale=2.0).shape == values.shape
