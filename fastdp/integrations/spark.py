"""Spark: data frames whose sanitized rows are the same under any retry, speculation, lost cache and repeated action.

Partitions are the places that noise is bound to. The key travels inside the pickled task, which Spark keeps neither in
its event log nor in a plan's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from fastdp.errors import ParameterError, SchemaError
from fastdp.kernels.jit import source_digest
from fastdp.optional import load
from fastdp.plans.plan import Plan
from fastdp.random.job import JobKey, TravellingKey
from fastdp.tables.sanitize import read_key
from fastdp.tables.sanitizing.columns import Columns
from fastdp.tables.sanitizing.payment import Budget, pay_for
from fastdp.tables.task import Task

if TYPE_CHECKING:
    import pyarrow as pa

UNSTABLE = (
    "Exchange",
    "Sort",
    "Limit",
    "TakeOrdered",
    "rand(",
    "randn(",
    "uuid(",
    "shuffle(",
    "nondeterministic",
)
"""What in a plan may give a partition other rows, or another order, when it is computed again."""
STABLE = ("BroadcastExchange",)
LARGEST_TASK = 1 << 20
"""Bytes of a task from which on Spark broadcasts it, by way of files."""


def sanitize(
    df: Any,
    plan: Plan,
    *,
    key: JobKey | None = None,
    ledger: Budget = None,
    name: str = "",
    records: int | None = None,
) -> Any:
    """The sanitized data frame: ``df.transform(fastdp.spark.sanitize, plan)``.

    It is as lazy as others, and all of its actions see the same noise: each partition's is bound to the key, the plan,
    the partition's number and its rows. If the same rows are split otherwise between two actions, because the cluster
    grew, those that moved are drawn anew, which costs as much again; write the frame once to be sure.

    Rows must come in the same order whenever a partition is computed: a frame behind a shuffle, a limit or a random
    column is refused; write it to files and read them back. So are streaming frames, each batch of which is a release
    of its own. The ledger pays now, on the driver, before the first task runs.

    Parameters
    ----------
    df
        A Spark data frame.
    plan
        What becomes of each column.
    key, ledger, name, records
        As in `fastdp.sanitize`. One key is for one snapshot.
    """
    types = load("fastdp.spark", "pyspark.sql.pandas.types", extra="spark")
    if df.isStreaming:
        raise ParameterError(
            "sanitize: a streaming frame is a release per batch; sanitize the batches, in foreachBatch"
        )
    refuse_unstable(df)
    schema = types.to_arrow_schema(df.schema)
    out = Columns(schema, plan).schema
    chosen = read_key("sanitize", key, None)
    work = _Work(schema, plan, chosen.travelling(), source_digest())
    if work.size() > LARGEST_TASK:
        raise ParameterError("sanitize: the plan is so large that Spark would write its tasks, and the key, to files")
    pay_for(plan, ledger, name=name or "spark", records=records)
    return df.mapInArrow(work, types.from_arrow_schema(out))


def refuse_unstable(df: Any) -> None:
    """Refuse a frame whose rows may come in another order, or be others, when a task runs again."""
    text = _plan_text(df)
    for line in text.splitlines():
        if any(word in line for word in STABLE):
            continue
        found = next((word for word in UNSTABLE if word in line), None)
        if found is not None:
            raise SchemaError(
                f"sanitize: the rows of this DataFrame may come in another order when a task runs again ({found}); "
                "write it to files and read it back"
            )
    if hasattr(df, "_jdf"):  # no shuffle is left to run: what Spark knows of the rows' order
        level = df._jdf.queryExecution().toRdd().outputDeterministicLevel().toString()  # noqa: SLF001
        if level != "DETERMINATE":
            raise SchemaError(
                f"sanitize: the rows of this DataFrame may come in another order when a task runs again ({level}); "
                "write it to files and read it back"
            )


def _plan_text(df: Any) -> str:
    """The physical plan, as it stands before any stage has run."""
    import contextlib
    import io

    if hasattr(df, "_jdf"):
        execution = df._jdf.queryExecution()  # noqa: SLF001
        deterministic = execution.optimizedPlan().deterministic()
        return str(execution.sparkPlan().toString() + execution.executedPlan().toString()) + (
            "" if deterministic else "\nnondeterministic"
        )
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        df.explain(extended=False)
    return shown.getvalue()


class _Work:
    """What a task does with the batches of its partition."""

    def __init__(self, schema: pa.Schema, plan: Plan, key: TravellingKey, core: str) -> None:
        self._schema, self._plan, self._key, self._core = schema, plan, key, core

    def size(self) -> int:
        """Bytes of the task as it travels."""
        import pickle

        return len(pickle.dumps(self))

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = load("fastdp.spark", "pyspark", extra="spark").TaskContext.get()
        if source_digest() != self._core:
            raise SchemaError("sanitize: an executor has another version of fastdp than the driver; install the same")
        task = Task(self._schema, self._plan, self._key.arrive())
        yield from task.run((context.partitionId(), 0), _as_declared(batches, self._schema))


def _as_declared(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Batches with exactly these types."""
    for batch in batches:
        yield batch if batch.schema.equals(schema) else batch.cast(schema)
