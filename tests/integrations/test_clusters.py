"""Spark and Dask for real: the same bytes under retries and actions, unstable inputs refused, no key in sight."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastdp as fd
from fastdp.tables.task import Task
from tests.integrations import examples

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas, for what Dask does

PLAN = fd.Plan(
    columns={
        "x": {"mechanism": "laplace", "epsilon": 40.0, "bounds": [0, 1e6]},
        "label": {"mechanism": "krr", "epsilon": 1.0, "domain": ["a", "b", "c"]},
        "n": "keep",
    }
)
ROWS = 80_000
TABLE = pa.table({
    "x": np.random.default_rng(1).uniform(3e5, 7e5, ROWS), "label": np.array(["a", "b", "c"])[np.arange(ROWS) % 3],
    "n": np.arange(ROWS),
})  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    for number in range(4):
        rows = TABLE.slice(20_000 * number, 20_000)
        pq.write_table(rows, folder / f"{number}.parquet", use_dictionary=False, compression="none")
    return folder


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder = tmp_path_factory.mktemp("spark")
    options = {
        "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(folder / "local"), "spark.ui.showConsoleProgress": "false",
        "spark.sql.files.openCostInBytes": "0",
        "spark.sql.files.maxPartitionBytes": "600000", "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(folder), "spark.eventLog.compress": "false",
    }  # fmt: skip
    builder = sql.SparkSession.builder.master("local[2,4]")
    for name, value in options.items():
        builder = builder.config(name, value)
    with contextlib.chdir(folder):  # where the JVM looks for relative paths
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    session.folder = folder
    yield session
    session.stop()


def by_partition(frame) -> dict[int, pa.Table]:
    """Each partition's rows in order."""
    from pyspark.sql import functions

    made = frame.withColumn("part", functions.spark_partition_id()).toArrow()
    return {part: made.filter(pa.compute.equal(made["part"], part)).drop_columns(["part"]) for part in range(4)}


def same(first: dict[int, pa.Table], second: dict[int, pa.Table]) -> bool:
    return all(first[part].to_pydict() == second[part].to_pydict() for part in first)


def test_spark__gives_the_bytes_of_one_process_under_retries(spark, files, tmp_path):
    """Of a worker that is killed in mid-job; every action sees what a task in this process makes of the partition."""
    key, frame, flag = fd.JobKey(), spark.read.parquet(str(files)), str(tmp_path / "killed")
    assert frame.rdd.getNumPartitions() == 4

    def die_once(batches):
        for batch in batches:
            if batch.column("n")[0].as_py() == 30_000 and not Path(flag).exists():
                Path(flag).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    private = frame.transform(fd.spark.sanitize, PLAN, key=key)
    found = by_partition(private)
    assert same(found, by_partition(private))
    again = frame.mapInArrow(die_once, frame.schema).transform(fd.spark.sanitize, PLAN, key=key)
    assert same(found, by_partition(again))
    assert Path(flag).exists()
    raw = by_partition(frame)
    for part, table in raw.items():
        task = Task(table.schema.remove_metadata(), PLAN, key)
        expected = pa.Table.from_batches(task.run((part, 0), table.combine_chunks().to_batches()), task.schema)
        assert found[part].to_pydict() == expected.to_pydict()


def test_spark__draws_anew_where_the_split_changes(spark, files):
    """Differences of outputs are at chance to be those of people, in whatever partition they come to be."""
    key = fd.JobKey()
    first = spark.read.parquet(str(files)).transform(fd.spark.sanitize, PLAN, key=key).toArrow().sort_by("n")
    merged = (
        spark.read.parquet(str(files)).coalesce(1).transform(fd.spark.sanitize, PLAN, key=key).toArrow().sort_by("n")
    )
    truth = TABLE["x"].to_numpy()
    one, two = first["x"].to_numpy(), merged["x"].to_numpy()
    for lag in (0, 20_000, 40_000, 60_000):
        moved = (two[lag:] - one[: ROWS - lag]) - (truth[lag:] - truth[: ROWS - lag])
        assert (np.abs(moved) <= 0.25).sum() <= 20


def test_spark__refuses_rows_in_no_stable_order(spark, files):
    from pyspark.sql import functions

    frame = spark.read.parquet(str(files))
    unstable = (
        frame.repartition(3), frame.withColumn("x", functions.rand()), frame.limit(10), frame.orderBy("x"),
        frame.dropDuplicates(["label"]),
    )  # fmt: skip
    for bad in unstable:
        with pytest.raises(fd.SchemaError, match="write it to files"):
            fd.spark.sanitize(bad, PLAN)
    for good in (frame.filter("n > 5"), frame.union(frame), frame.coalesce(1), frame.sample(0.5, seed=1)):
        assert fd.spark.sanitize(good, PLAN).columns == ["x", "label", "n"]


def test_spark__pays_on_the_driver_and_shows_no_key(spark, files, tmp_path):
    key, ledger = fd.JobKey(), fd.Ledger.create(tmp_path / "ledger", epsilon=60.0)
    frame = spark.read.parquet(str(files))
    private = fd.spark.sanitize(frame, PLAN, key=key, ledger=ledger)
    assert ledger.spent.amount > 40e9
    assert private.count() == ROWS
    with pytest.raises(fd.BudgetExceededError):
        fd.spark.sanitize(frame, PLAN, ledger=ledger)
    marks = (key._key, key._key.hex().encode(), repr(key._key).encode())
    texts = [path.read_bytes() for path in spark.folder.rglob("*") if path.is_file()]
    texts.append(private._jdf.queryExecution().toString().encode())
    assert len(texts) > 1
    assert not any(mark in text for mark in marks for text in texts)


def test_dask__gives_the_bytes_of_one_process_at_every_compute(files):
    frames = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    key = fd.JobKey()
    private = fd.dask.sanitize(frames.read_parquet(str(files)), PLAN, key=key)
    first, second = (private.compute(scheduler="threads") for _ in range(2))
    assert first.equals(second)
    assert key._key.hex() not in repr(private.dask)
    for part in range(4):
        task = Task(TABLE.schema, PLAN, key)
        rows = TABLE.slice(20_000 * part, 20_000)
        expected = pa.Table.from_batches(task.run((part, 0), rows.to_batches()), task.schema)
        assert first["x"].tolist()[20_000 * part : 20_000 * (part + 1)] == expected["x"].to_pylist()


def test_examples__of_the_page_run_on_spark_and_dask(spark, files, monkeypatch):
    frames = pytest.importorskip("dask", reason="dask is not installed")
    importlib.import_module("dask.dataframe")
    monkeypatch.chdir(spark.folder)
    shutil.copytree(files, "people")
    ledger = fd.Ledger.create("people.ledger", epsilon=60.0)
    examples.run("Spark", spark=spark, plan=PLAN, fd=fd)
    assert ledger.spent.amount > 40e9
    assert spark.read.parquet(str(spark.folder / "private")).count() == ROWS
    assert len(examples.run("Dask", dask=frames, plan=PLAN, fd=fd)["private"].compute(scheduler="threads")) == ROWS
