"""DuckDB: queries sanitized into tables, and mechanisms as functions of SQL."""

from __future__ import annotations

from typing import Any

from fastdp.errors import OutputExistsError, ParameterError
from fastdp.integrations.functions import FUNCTIONS
from fastdp.integrations.release import Release
from fastdp.plans.plan import Plan
from fastdp.random.job import JobKey
from fastdp.tables.sanitizing.payment import Budget
from fastdp.tables.sanitizing.receipt import Receipt

ROWS = 1 << 17
"""Rows of a batch that DuckDB hands over."""
SQL = {"float": "DOUBLE", "integer": "BIGINT", "boolean": "BOOLEAN", "text": "VARCHAR"}


def sanitize(
    con: Any,
    query: str,
    plan: Plan,
    *,
    into: str,
    key: JobKey | None = None,
    ledger: Budget = None,
    name: str = "",
    records: int | None = None,
) -> Receipt:
    """Sanitize the rows of a query into a new table, and return the receipt, which is the table's comment too.

    Noise is drawn once, and what reads the table afterwards reads the same values. The query runs on a cursor of the
    connection, which sees its tables but not temporary ones nor what a transaction has not committed. On any error
    there is no table. The guarantee is ``plan.privacy``.

    Parameters
    ----------
    con
        A DuckDB connection.
    query
        What is sanitized, in SQL.
    plan
        What becomes of each column.
    into
        The name of the table, which must not exist.
    key
        The `JobKey`, to repeat a release: the same rows in the same order get the same noise.
    ledger, name, records
        As in `fastdp.sanitize`.

    >>> import duckdb, fastdp as fd
    >>> con = duckdb.connect()
    >>> _ = con.execute("create table people as select i % 2 = 0 as ill from range(1000) r(i)")
    >>> plan = fd.Plan(columns={"ill": {"mechanism": "randomized_response", "epsilon": 1.0}})
    >>> sanitize(con, "select ill from people", plan, into="private").rows
    1000
    >>> con.sql("select count(*) from private").fetchall()
    [(1000,)]
    """
    if not isinstance(into, str) or not into:
        raise ParameterError("sanitize: into must be the name of a new table; a relation would draw at every use")
    if con.execute("select 1 from duckdb_tables() where table_name = ?", [into]).fetchone():
        raise OutputExistsError(f"sanitize: table {into!r} exists; drop it first or choose another name")
    relation = con.cursor().sql(query)
    rows = relation.to_arrow_reader(ROWS) if hasattr(relation, "to_arrow_reader") else relation.fetch_record_batch(ROWS)
    release = Release(rows.schema, plan, key, ledger=ledger, name=name or "duckdb", records=records)
    view, table = f"fastdp_{id(release)}", '"' + into.replace('"', '""') + '"'
    con.register(view, release.reader(rows))
    try:
        con.execute(f"create table {table} as select * from {view}")  # noqa: S608 - quoted above
    except Exception:
        if release.error is not None:
            raise release.error from None
        raise
    finally:
        con.unregister(view)
    made = release.settle()
    stated = made.to_json().replace("'", "''")
    con.execute(f"comment on table {table} is '{stated}'")
    return made


def register(con: Any) -> None:
    """Make functions of a connection: fastdp_laplace(x, epsilon, sensitivity) and others, with constant parameters.

    fastdp_gaussian(x, epsilon, delta, sensitivity), fastdp_geometric(x, epsilon, sensitivity),
    fastdp_randomized_response(x, epsilon), fastdp_krr(label, epsilon, 'a,b,c').

    **They draw whenever they are evaluated**: a view, or a relation that is fetched twice, releases two reports of each
    record, and costs twice as much. `sanitize` releases one.

    Parameters
    ----------
    con
        A DuckDB connection.

    >>> import duckdb
    >>> con = duckdb.connect()
    >>> register(con)
    >>> len(con.sql("select fastdp_laplace(x, 1.0, 1.0) from range(10) r(x)").fetchall())
    10
    """
    for function in FUNCTIONS:
        kinds = [SQL[function.value], *(SQL[name.partition(":")[2]] for name in function.parameters)]
        con.create_function(
            function.name, _with(function, len(kinds)), kinds, kinds[0], type="arrow", side_effects=True
        )


def _with(function: Any, count: int) -> Any:
    """The function with as many named parameters as DuckDB asks for."""
    calls = {
        2: lambda x, a: function(x, a),  # noqa: PLW0108 - DuckDB counts the parameters
        3: lambda x, a, b: function(x, a, b),  # noqa: PLW0108
        4: lambda x, a, b, c: function(x, a, b, c),  # noqa: PLW0108
    }
    return calls[count]
