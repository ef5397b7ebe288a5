"""Dask: data frames whose sanitized partitions are the same however often a worker computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastdp.errors import SchemaError
from fastdp.kernels.jit import source_digest
from fastdp.optional import load
from fastdp.plans.plan import Plan
from fastdp.random.job import JobKey, TravellingKey
from fastdp.tables.sanitize import read_key
from fastdp.tables.sanitizing.payment import Budget, pay_for
from fastdp.tables.task import Task

if TYPE_CHECKING:
    import pyarrow as pa


def sanitize(
    ddf: Any,
    plan: Plan,
    *,
    key: JobKey | None = None,
    ledger: Budget = None,
    name: str = "",
    records: int | None = None,
) -> Any:
    """The sanitized data frame: as lazy as others, and the same whenever it, or a lost partition, is computed.

    Noise is bound to the key, the plan, the partition's number and its rows. A frame behind a shuffle, whose rows may
    come in another order, gets independent noise when it is computed again: write it first. The index is not kept. The
    ledger pays now, before the first task runs.

    Parameters
    ----------
    ddf
        A Dask data frame.
    plan
        What becomes of each column.
    key, ledger, name, records
        As in `fastdp.sanitize`. One key is for one snapshot.
    """
    load("fastdp.dask", "dask.dataframe", extra="dask")
    import pyarrow as pa

    schema = pa.Schema.from_pandas(ddf._meta_nonempty, preserve_index=False).remove_metadata()  # noqa: SLF001
    chosen = read_key("sanitize", key, None)
    meta = Task(schema, plan, chosen).schema.empty_table().to_pandas()
    pay_for(plan, ledger, name=name or "dask", records=records)
    return ddf.map_partitions(
        _work, key=chosen.travelling(), plan=plan, schema=schema, core=source_digest(), meta=meta,
        enforce_metadata=False,
    )  # fmt: skip


def _work(
    frame: Any, *, key: TravellingKey, plan: Plan, schema: pa.Schema, core: str, partition_info: Any = None
) -> Any:
    """One partition, on a worker."""
    import pyarrow as pa

    if source_digest() != core:
        raise SchemaError("sanitize: a worker has another version of fastdp than the client; install the same")
    number = 0 if partition_info is None else partition_info["number"]
    task = Task(schema, plan, key.arrive())
    table = pa.Table.from_pandas(frame, schema, preserve_index=False)
    return pa.Table.from_batches(task.run((number, 0), table.to_batches()), task.schema).to_pandas()
