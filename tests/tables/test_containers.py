"""Tables of every library: the same results from each, in a table of the same kind, and the same estimates from it."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.plans.plan import Plan
from tests.tables.people import COLUMNS, people

ROWS = 400
SECRET = "S3CRET"


def seeded():
    return fd.Rng.unsafe_seed(5)


class OnlyStream:
    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class OnlyArray:
    def __init__(self, table):
        self._batch = batch_of(table)

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)


def batch_of(table):
    (batch,) = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    return batch


def _made(library, attribute, table):
    return _library(library, attribute)(table)


def _library(name, attribute):
    module = pytest.importorskip(name)
    for part in attribute.split("."):
        module = getattr(module, part)
    return module


def _structured(table):
    columns = {name: table[name].to_numpy() for name in table.column_names}
    kinds = [(name, "U12" if column.dtype == object else column.dtype) for name, column in columns.items()]
    made = np.empty(table.num_rows, kinds)
    for name, column in columns.items():
        made[name] = column
    return made


KINDS = {
    "table": lambda table: table,
    "batch": batch_of,
    "reader": lambda table: table.to_reader(33),
    "pandas": lambda table: _library("pandas", "DataFrame")(table.to_pandas()),
    "pandas-arrow": lambda table: table.to_pandas(types_mapper=_library("pandas", "ArrowDtype")),
    "polars": partial(_made, "polars", "DataFrame"),
    "arro3-table": lambda table: _library("arro3.core", "Table").from_arrow(table),
    "arro3-batch": lambda table: _library("arro3.core", "RecordBatch").from_arrow(batch_of(table)),
    "arro3-reader": lambda table: _library("arro3.core", "RecordBatchReader").from_arrow(table.to_reader(33)),
    "nanoarrow": partial(_made, "nanoarrow", "Array"),
    "nanoarrow-stream": partial(_made, "nanoarrow", "ArrayStream"),
    "duckdb": partial(_made, "duckdb", "from_arrow"),
    "datafusion": lambda table: _library("datafusion", "SessionContext")().from_arrow(table),
    "structured": _structured,
    "dict": lambda table: {name: table[name].to_numpy() for name in table.column_names},
    "dict-mixed": lambda table: {
        name: (column.to_pylist(), column, column.combine_chunks(), column.to_numpy())[number % 4]
        for number, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True))
    },
    "stream": OnlyStream,
    "array": OnlyArray,
}
MADE_AS_TABLES = ("stream", "array")
"""Kinds that nobody knows how to make."""


def as_columns(result):
    """Plain lists by name, from any kind of table."""
    if isinstance(result, np.ndarray):
        return {name: result[name].tolist() for name in result.dtype.names}
    if isinstance(result, dict):
        return {name: c.to_pylist() if hasattr(c, "to_pylist") else list(c) for name, c in result.items()}
    if type(result).__module__.startswith("pandas"):
        return {name: result[name].tolist() for name in result.columns}
    return pa.table(result).to_pydict()


@pytest.fixture(scope="module")
def table():
    return people(ROWS).drop_columns(["ill"])


@pytest.fixture(scope="module")
def plan():
    return Plan(columns={name: entry for name, entry in COLUMNS.items() if name != "ill"})


@pytest.mark.parametrize("kind", KINDS)
def test_tables__come_back_as_what_they_were(table, plan, kind):
    given = KINDS[kind](table)
    result = fd.sanitize(given, plan, rng=seeded())
    assert type(result) is (pa.Table if kind in MADE_AS_TABLES else type(given))
    assert as_columns(result) == fd.sanitize(table, plan, rng=seeded()).to_pydict()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "dict-mixed"])
def test_tables__of_no_rows_come_back(table, plan, kind):
    """But for empty lists, which have no type."""
    given = KINDS[kind](table.slice(0, 0))
    result = fd.sanitize(given, plan)
    assert as_columns(result) == {name: [] for name in ("region", "disease", "income", "age")}


@pytest.mark.parametrize("kind", KINDS)
def test_estimates__are_the_same_from_every_kind(table, plan, kind):
    private = fd.sanitize(table, plan, rng=seeded())
    expected, found = fd.estimate_table(private), fd.estimate_table(KINDS[kind](private), plan)
    for name in ("disease", "income", "age"):
        assert [line.estimate for line in found[name].lines] == [line.estimate for line in expected[name].lines]


def test_columns_of_a_dict__keep_their_kinds():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    entry = {"mechanism": "krr", "epsilon": 1.0, "domain": ["a", "b"], "nulls": "public"}
    labels = ["a", None, "b"]
    given = {
        "pandas": pandas.Series(labels, dtype="string", index=[7, 7, 9], name="x"),
        "category": pandas.Series(labels, dtype="category"),
        "polars": polars.Series("y", labels),
        "chunks": pa.chunked_array([labels]),
        "array": pa.array(labels),
        "list": labels,
        "tuple": (*labels,),
    }
    result = fd.sanitize(given, Plan(columns=dict.fromkeys(given, entry)), rng=seeded())
    assert {name: type(column) for name, column in result.items()} == {
        name: type(column) for name, column in given.items()
    }
    assert result["pandas"].dtype == "string"
    assert result["pandas"].name == "x"
    assert result["pandas"].index.tolist() == [0, 1, 2]
    assert result["category"].cat.categories.tolist() == ["a", "b"]
    assert result["polars"].name == "y"
    for column in result.values():
        assert pa.array(column).is_null().to_pylist() == [False, True, False]


def test_reports_that_are_sets_and_records__become_numpy_as_they_do_alone():
    values = np.arange(30) % 5
    for name in ("oue", "olh", "subset", "rappor", "summed_histogram"):
        entry = {"mechanism": name, "epsilon": 1.0, "domain": 5}
        mechanism = Plan(columns={"x": entry}).columns["x"].mechanism
        alone, result = mechanism.randomize(values), fd.sanitize({"x": values}, Plan(columns={"x": entry}))["x"]
        assert result.dtype == alone.dtype
        assert result.shape == alone.shape
        assert mechanism.aggregate(result).n == 30


def test_pandas__keeps_nullable_integers():
    """Through floats, one beyond 2**53 would not survive."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": pandas.array([2**60 + 1, None], dtype="Int64")})
    result = fd.sanitize(frame, Plan(columns={"x": "keep"}))
    assert result["x"].dtype == "Int64"
    assert result["x"][0] == 2**60 + 1


@pytest.mark.parametrize(
    ("given", "error", "rule"),
    [
        ({"x": [1, SECRET]}, fd.SchemaError, "several types"),
        ({"x": [1.0], "y": [1.0, 2.0]}, fd.SchemaError, "different lengths"),
        ({1: [1.0]}, fd.SchemaError, "strings"),
        ({"x": np.zeros((2, 2))}, fd.SchemaError, "one dimension"),
        ({"x": SECRET}, fd.SchemaError, "one dimension"),
        ({"x": np.ma.array([1.0], mask=[True])}, fd.SchemaError, "one dimension"),
        ({"x": np.array([SECRET, None], object)}, fd.DomainError, "None"),
        (np.zeros((2, 2), [("x", float)]), fd.SchemaError, "one dimension"),
        (np.zeros(3), fd.SchemaError, "cannot read a ndarray"),
        (SECRET.encode(), fd.SchemaError, "cannot read a bytes"),
    ],
)  # fmt: skip
def test_what_is_no_table__is_refused(given, error, rule):
    with pytest.raises(error, match=rule) as caught:
        fd.sanitize(given, Plan(columns={"x": {"mechanism": "laplace", "epsilon": 1.0, "bounds": [0, 1]}}))
    assert SECRET not in str(caught.value)


def test_duckdb__errors_show_no_values():
    """Whether it fails when it is opened or only when it is read."""
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql(f"select cast(x as integer) as x from (values ('{SECRET}')) as t(x)")
    with pytest.raises(fd.FastDPError) as caught:
        fd.sanitize(relation, Plan(columns={"x": "keep"}))
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__
