"""Jobs of fairness: the table of counts of bytes in memory, intersections, rates with a thousand bootstraps."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import fastdp as fd
from benchmarks.jobs.job import Job
from benchmarks.rivals.ways import Call, Way

GROUPS, SEXES, AGES = 6, 2, 5
BOOTSTRAPS = 1000
Columns = tuple[np.ndarray, ...]
FAIRLEARN_ROWS, FAIRLEARN_BOOTSTRAPS = 100_000, 1
"""What fairlearn is given in a run of all jobs: it counts 0.05 M rows/s."""


@functools.lru_cache(maxsize=2)
def people_of(rows: int) -> Columns:
    """Attribute, two more, label and decision, all bytes; read-only, as all inputs are."""
    source = np.random.default_rng(2026)
    a = np.minimum(source.geometric(0.4, rows) - 1, GROUPS - 1).astype(np.uint8)
    b, c = source.integers(0, SEXES, rows, np.uint8), source.integers(0, AGES, rows, np.uint8)
    y = (source.random(rows, np.float32) < 0.3 + 0.05 * a).astype(np.uint8)
    r = np.where(source.random(rows, np.float32) < 0.8, y, source.integers(0, 2, rows, np.uint8)).astype(np.uint8)
    for column in (a, b, c, y, r):
        column.flags.writeable = False
    return a, b, c, y, r


def judge_counts(job: Job, counts: Any, columns: Columns) -> float:
    """Every count is that of a loop over groups, in numpy."""
    a, b, c, y, r = columns
    cell = (a.astype(np.int64) * SEXES + b) * AGES + c if job.kind == "fairness-intersections" else a.astype(np.int64)
    due = np.bincount(cell * 4 + y * 2 + r)
    return float(np.array_equal(np.trim_zeros(np.asarray(counts).ravel(), "b"), due))


def judge_rates(_job: Job, rates: Any, columns: Columns) -> float:
    """Selection rates of all groups, within the noise of resampling."""
    a, _, _, _, r = columns
    due = np.bincount(a, r) / np.bincount(a)
    return float(np.allclose(np.asarray(rates, float), due, atol=0.05))


def fastdp_table(_job: Job, columns: Columns) -> Call:
    a, _, _, y, r = columns
    return lambda: fd.fairness.table(y_true=y, y_pred=r, sensitive={"a": a}).cells


def fastdp_intersections(_job: Job, columns: Columns) -> Call:
    a, b, c, y, r = columns
    return lambda: fd.fairness.table(y_true=y, y_pred=r, sensitive={"a": a, "b": b, "c": c}).cells


def fastdp_bootstrap(_job: Job, columns: Columns) -> Call:
    """From the table on: a bootstrap of rows is a draw of cells, and costs nothing per row."""
    a, _, _, y, r = columns
    table = fd.fairness.table(y_true=y, y_pred=r, sensitive={"a": a})

    def call() -> np.ndarray:
        found = [table.bootstrap(rate, runs=BOOTSTRAPS) for rate in ("selection", "tpr", "fpr", "ppv", "accuracy")]
        return (found[0]["low"] + found[0]["high"]) / 2

    return call


def numpy_table(_job: Job, columns: Columns) -> Call:
    a, _, _, y, r = columns
    return lambda: np.bincount(a.astype(np.int64) * 4 + y * 2 + r, minlength=4 * GROUPS)


def numpy_intersections(_job: Job, columns: Columns) -> Call:
    a, b, c, y, r = columns
    return lambda: np.bincount((((a.astype(np.int64) * SEXES + b) * AGES + c) * 2 + y) * 2 + r)


def duckdb_way(*, intersections: bool) -> Any:
    """A group by in one thread, from a table of its own."""

    def make(_job: Job, columns: Columns) -> Call:
        import duckdb
        import pyarrow as pa

        names = ("a", "b", "c", "y", "r") if intersections else ("a", "y", "r")
        chosen = dict(zip(("a", "b", "c", "y", "r"), columns, strict=True))
        given = pa.table({name: chosen[name] for name in names})
        connection = duckdb.connect()
        connection.execute("set threads = 1")
        connection.register("given", given)
        connection.execute("create table t as select * from given")
        keys = ", ".join(names)

        def call() -> np.ndarray:
            found = connection.execute(f"select {keys}, count(*) as n from t group by {keys}").fetchnumpy()
            cell = np.zeros(found["n"].size, np.int64)
            for name in names:
                cell = cell * (int(chosen[name].max()) + 1) + found[name]
            return np.bincount(cell, found["n"]).astype(np.int64)

        return call

    return make


def _frame(columns: Columns, **more: Any) -> Any:
    from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate
    from sklearn.metrics import accuracy_score, precision_score

    a, _, _, y, r = columns
    metrics = {
        "selection": selection_rate, "tpr": true_positive_rate, "fpr": false_positive_rate, "ppv": precision_score,
        "accuracy": accuracy_score,
    }  # fmt: skip
    return MetricFrame(metrics=metrics, y_true=y, y_pred=r, sensitive_features=a, **more)


def fairlearn_table(_job: Job, columns: Columns) -> Call:
    """Five rates of every group."""

    def call() -> np.ndarray:
        return np.asarray(_frame(columns).by_group["selection"])

    return call


def fairlearn_bootstrap(_job: Job, columns: Columns) -> Call:
    """One bootstrap of its thousand."""

    def call() -> np.ndarray:
        found = _frame(columns, n_boot=FAIRLEARN_BOOTSTRAPS, ci_quantiles=[0.025, 0.975], random_state=0)
        return sum(one["selection"].to_numpy() for one in found.by_group_ci) / 2

    return call


JOBS = (
    Job(
        "fairness-table", "fairness", "fairness-table", "uint8", "labels and decisions by one attribute of six values",
        dict, unit="rows", size=100_000_000, make=people_of, judge=judge_counts,
    ),
    Job(
        "fairness-intersections", "fairness", "fairness-intersections", "uint8",
        "labels and decisions by three attributes, sixty groups", dict, unit="rows", size=100_000_000, make=people_of,
        judge=judge_counts, heavy=True,
    ),
    Job(
        "fairness-bootstraps", "fairness", "fairness-bootstraps", "uint8",
        "a thousand bootstraps of five rates of six groups", dict, unit="rows", size=1_000_000, make=people_of,
        judge=judge_rates, traffic=lambda _job, _size: (0.0, 0.0, 1.0),
    ),
)  # fmt: skip
FASTDP = {
    "fairness-table": Way(fastdp_table),
    "fairness-intersections": Way(fastdp_intersections),
    "fairness-bootstraps": Way(fastdp_bootstrap),
}
NUMPY = {"fairness-table": Way(numpy_table), "fairness-intersections": Way(numpy_intersections)}
DUCKDB = {
    "fairness-table": Way(duckdb_way(intersections=False)),
    "fairness-intersections": Way(duckdb_way(intersections=True)),
}
FAIRLEARN = {
    "fairness-table": Way(fairlearn_table, judge=judge_rates, largest=FAIRLEARN_ROWS),
    "fairness-bootstraps": Way(fairlearn_bootstrap, largest=FAIRLEARN_ROWS, part=FAIRLEARN_BOOTSTRAPS / BOOTSTRAPS),
}
