"""DataFusion: data frames sanitized into tables, and mechanisms as functions of SQL."""

from __future__ import annotations

from typing import Any

from fastdp.errors import OutputExistsError
from fastdp.integrations.functions import FUNCTIONS
from fastdp.integrations.release import Release
from fastdp.optional import load
from fastdp.plans.plan import Plan
from fastdp.random.job import JobKey
from fastdp.tables.sanitizing.payment import Budget
from fastdp.tables.sanitizing.receipt import Receipt


def sanitize(
    ctx: Any,
    query: Any,
    plan: Plan,
    *,
    into: str,
    key: JobKey | None = None,
    ledger: Budget = None,
    name: str = "",
    records: int | None = None,
) -> Receipt:
    """Sanitize the rows of a query or data frame into a new table in memory, and return the receipt.

    Noise is drawn once. The guarantee is ``plan.privacy``.

    Parameters
    ----------
    ctx
        A DataFusion session.
    query
        SQL, or a data frame of the session.
    plan
        What becomes of each column.
    into
        The name of the table, which must not exist.
    key, ledger, name, records
        As in `fastdp.sanitize`.

    >>> import datafusion, fastdp as fd, pyarrow as pa
    >>> ctx = datafusion.SessionContext()
    >>> _ = ctx.from_arrow(pa.table({"ill": [True, False] * 500}), name="people")
    >>> plan = fd.Plan(columns={"ill": {"mechanism": "randomized_response", "epsilon": 1.0}})
    >>> sanitize(ctx, "select ill from people", plan, into="private").rows
    1000
    """
    import pyarrow as pa

    if ctx.table_exist(into):
        raise OutputExistsError(f"sanitize: table {into!r} exists; deregister it first or choose another name")
    frame = ctx.sql(query) if isinstance(query, str) else query
    rows = pa.RecordBatchReader.from_stream(frame)
    release = Release(rows.schema, plan, key, ledger=ledger, name=name or "datafusion", records=records)
    made = list(release.batches(rows))
    ctx.from_arrow(pa.Table.from_batches(made, release.schema), name=into)
    return release.settle()


def register(ctx: Any) -> None:
    """Make functions of a session: fastdp_laplace(x, epsilon, sensitivity) and others, with constant parameters.

    **They draw whenever they are evaluated**: a view, or a common table expression that is used twice, releases two
    reports of each record, and costs twice as much. `sanitize` releases one.

    Parameters
    ----------
    ctx
        A DataFusion session.
    """
    engine = load("fastdp.datafusion", "datafusion", extra="datafusion")
    for function in FUNCTIONS:
        value, *others = function.types()
        made = engine.udf(function.__call__, [value, *others], value, "volatile", name=function.name)
        ctx.register_udf(made)
