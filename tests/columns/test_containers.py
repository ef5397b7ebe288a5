"""Columns of other libraries: what comes in as arrow, and what goes back."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.columns.containers import unwrap
from tests.contracts.containers import CONTAINERS, OnlyArray, OnlyStream, each_container, to_arrow

LABELS = ["cold", "flu", "none"]
KRR = fd.KRR(epsilon=1.0, domain=LABELS)
LAPLACE = fd.Laplace(epsilon=1.0, sensitivity=1.0)
COIN = fd.RandomizedResponse(epsilon=1.0)
SECRET = "S3CRET"
CASTS_VIEWS = int(pa.__version__.split(".")[0]) >= 21
"""A polars DataFrame streams its binaries as views, which older versions of pyarrow take but cannot convert."""


def seeded() -> fd.Rng:
    return fd.Rng.unsafe_seed(5)


def test_unwrap__leaves_arrays_numbers_and_sequences_alone():
    for given in (np.arange(3), np.float64(1), 1, 1.5, True, [1], (1,), pa.array([1]), pa.chunked_array([[1]]), None,
                  {}, "ab", b"ab", object(), pa.scalar(1), pa.int8(), OnlyArray):  # fmt: skip
        values, rewrap = unwrap("test", given)
        assert values is given
        assert rewrap is None


@each_container(CONTAINERS)
def test_unwrap__gives_the_same_arrow_values(container):
    values = pa.array([3, 1, 2, 3, 1, 2, 3, 1, 2, 1, 1, 1], pa.int32())
    plain, rewrap = unwrap("test", container.wrap(values))
    assert rewrap is not None
    assert isinstance(plain, pa.Array | pa.ChunkedArray)
    assert to_arrow(plain).equals(values)


@each_container(CONTAINERS)
def test_unwrap__reads_empty_columns(container):
    for values in (np.zeros(0), np.zeros(0, np.int8)):
        given = container.wrap(pa.array(values))
        out = LAPLACE.randomize(given)
        assert container.gives(out, given)
        arrow = to_arrow(out)
        assert len(arrow) == 0
        assert arrow.type == pa.float64()


@each_container([container for container in CONTAINERS if container.takes_nulls])
def test_unwrap__reads_columns_of_nothing_but_public_nulls(container):
    given = container.wrap(pa.nulls(12, pa.float64()))
    out = LAPLACE.randomize(given, nulls="public")
    assert container.gives(out, given)
    assert to_arrow(out).null_count == 12


def test_libraries__are_not_imported_unless_they_are_there():
    script = (
        "import sys, numpy, pyarrow, fastdp as fd\n"
        "fd.Laplace(epsilon=1.0, sensitivity=1.0).randomize(numpy.zeros(3))\n"
        "print('pandas' in sys.modules, end=' ')\n"
        "fd.KRR(epsilon=1.0, domain=3).randomize(pyarrow.table({'x': [1]}))\n"  # pyarrow itself looks for pandas here
        "print([name for name in ('polars', 'duckdb', 'nanoarrow', 'arro3') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False []"


# The capsule interface


class Broken:
    """Fails with a message that shows a value."""

    def __arrow_c_stream__(self, requested_schema=None):
        raise ValueError(SECRET)


class Nonsense:
    def __arrow_c_array__(self, requested_schema=None):
        return SECRET


@pytest.mark.parametrize("given", [Broken(), Nonsense()])
def test_capsules__that_fail_are_refused_without_their_message(given):
    for draw in (LAPLACE.randomize, KRR.randomize, COIN.randomize, KRR.aggregate, COIN.aggregate,
                 fd.UnaryEncoding(epsilon=1.0, domain=5).aggregate):  # fmt: skip
        with pytest.raises(fd.SchemaError) as caught:
            draw(given)
        assert SECRET not in str(caught.value)
        assert caught.value.__suppress_context__


def test_capsules__of_several_columns_are_no_column():
    table = pa.table({"a": [1.0], "b": [2.0]})
    for given in (table, table.to_reader(), table.to_batches()[0]):
        with pytest.raises(fd.SchemaError, match="Laplace"):
            LAPLACE.randomize(given)


def test_capsules__of_several_columns_are_reports_of_several_fields():
    mechanism = fd.RAPPOR(epsilon=1.0, domain=6, bits=13, cohorts=4)
    reports = mechanism.randomize(pa.array(np.arange(600) % 6), rng=seeded())
    table = pa.table(dict(zip(("cohort", "bits"), reports.flatten(), strict=True)))
    whole = mechanism.aggregate(reports)
    for given in (table, table.to_reader(70), OnlyStream(pa.chunked_array([reports[:9], reports[9:]]))):
        assert np.array_equal(mechanism.aggregate(given).support, whole.support)


def test_capsules__with_corrupt_content_are_refused():
    bad = pa.DictionaryArray.from_arrays(pa.array([0, 7], pa.int8()), ["cold", "flu"], safe=False)
    with pytest.raises(fd.InputCorruptError, match="KRR"):
        KRR.randomize(OnlyArray(bad))


def test_capsules__keep_nothing_of_their_metadata():
    field = pa.field("answers", pa.float64(), metadata={"note": SECRET})
    table = pa.table([pa.array([1.0, 2.0])], pa.schema([field], metadata={"note": SECRET}))
    out = LAPLACE.randomize(table)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, out.schema) as writer:
        writer.write_table(out)
    assert SECRET.encode() not in sink.getvalue().to_pybytes()


# pandas


@pytest.fixture
def pd():
    return pytest.importorskip("pandas")


def texts(pd):
    """Columns of text of every type that pandas has."""
    return {
        "str": pd.Series(["flu", "none", "cold"]),
        "object": pd.Series(["flu", "none", "cold"], dtype=object),
        "string": pd.Series(["flu", "none", "cold"], dtype="string"),
        "python": pd.Series(["flu", "none", "cold"], dtype=pd.StringDtype("python")),
        "arrow": pd.Series(["flu", "none", "cold"], dtype=pd.ArrowDtype(pa.string())),
        "category": pd.Series(["flu", "none", "cold"], dtype="category"),
    }


@pytest.mark.parametrize("kind", ["str", "object", "string", "python", "arrow", "category"])
def test_pandas__text_keeps_its_type(pd, kind):
    given = texts(pd)[kind]
    expected = KRR.randomize(["flu", "none", "cold"], rng=seeded())
    out = KRR.randomize(given, rng=seeded())
    assert out.dtype == given.dtype
    assert out.tolist() == expected
    missing = given.copy()
    missing[1] = None
    with pytest.raises(fd.DomainError, match="nulls"):
        KRR.randomize(missing)
    out = KRR.randomize(missing, rng=seeded(), nulls="public")
    assert out.dtype == given.dtype
    assert out.isna().tolist() == [False, True, False]
    assert out.dropna().tolist() == [expected[0], expected[2]]
    assert KRR.aggregate(out.dropna()).n == 2
    empty = KRR.randomize(given[:0])
    assert empty.dtype == given.dtype
    assert len(empty) == 0
    given[0] = given[1]
    with pytest.raises(fd.DomainError) as caught:
        fd.KRR(epsilon=1.0, domain=["x", "y"]).randomize(given)
    assert "none" not in str(caught.value)


def test_pandas__categories_are_the_declared_ones_in_their_order(pd):
    """Unused categories may be raw values; the caller's order is kept only where it is the declared one."""
    codes = [0, 2, 1]
    for categories, ordered in ((["none", "flu", "cold", SECRET], True), (LABELS, True), (LABELS, False)):
        given = pd.Series(pd.Categorical.from_codes(codes, categories=categories, ordered=ordered))
        out = KRR.randomize(given, rng=seeded())
        assert out.cat.categories.tolist() == LABELS
        assert out.cat.ordered == (ordered and categories == LABELS)
        assert out.tolist() == KRR.randomize(given.tolist(), rng=seeded())
    assert KRR.randomize(pd.Series([], dtype="category")).cat.categories.tolist() == LABELS
    numbers = fd.KRR(epsilon=1.0, domain=[10, 20, 30])
    out = numbers.randomize(pd.Series([20, None, 10], dtype="category"), nulls="public")
    assert out.cat.categories.tolist() == [10, 20, 30]
    assert out.isna().tolist() == [False, True, False]
    assert fd.Geometric(epsilon=1.0, sensitivity=1).randomize(pd.Series([1, 2], dtype="category")).dtype == np.int64


def test_pandas__index_and_name_stay_and_nothing_else(pd):
    index = pd.MultiIndex.from_tuples([("a", 1), ("a", 1), ("b", 2)], names=["x", "y"])
    given = pd.Series([1.0, 2.0, 3.0], index=index, name="income")
    given.attrs["note"] = SECRET
    out = LAPLACE.randomize(given, rng=seeded())
    assert out.index.equals(index)
    assert out.index.names == ["x", "y"]
    assert out.name == "income"
    assert out.attrs == {}
    assert given.tolist() == [1.0, 2.0, 3.0]
    assert out.tolist() == LAPLACE.randomize([1.0, 2.0, 3.0], rng=seeded())
    backwards = LAPLACE.randomize(given.set_axis([3, 2, 1]), rng=seeded())
    assert backwards.tolist() == out.tolist()


@pytest.mark.parametrize("dtype", ["float64", "int64", "Int32", "Float32", "double[pyarrow]", "bool", "boolean"])
def test_pandas__results_can_be_written_to(pd, dtype):
    mechanism = COIN if dtype.startswith("bool") else LAPLACE
    out = mechanism.randomize(pd.Series([1, 0, 1], dtype=dtype))
    out[1] = False if mechanism is COIN else 0
    assert out[1] == 0
    assert isinstance(out.dtype, np.dtype) == (dtype in {"float64", "int64", "bool"})


def test_pandas__nan_is_a_number_and_na_is_null(pd):
    with pytest.raises(fd.DomainError, match="NaN"):
        LAPLACE.randomize(pd.Series([1.0, np.nan]), nulls="public")
    both = pd.arrays.FloatingArray(np.array([1.0, np.nan, 3.0]), np.array([False, False, True]))
    with pytest.raises(fd.DomainError, match="NaN"):
        LAPLACE.randomize(pd.Series(both), nulls="public")
    for given in (pd.Series([1.0, None], dtype="Float64"), pd.Series([1, None], dtype="int8[pyarrow]")):
        with pytest.raises(fd.DomainError, match="nulls"):
            LAPLACE.randomize(given)
        assert LAPLACE.randomize(given, nulls="public").isna().tolist() == [False, True]


def test_pandas__bools_with_gaps(pd):
    expected = COIN.randomize([True, False, True], rng=seeded())
    for dtype, becomes in ((object, "boolean"), ("boolean", "boolean"), ("bool[pyarrow]", "bool[pyarrow]")):
        out = COIN.randomize(pd.Series([True, None, True], dtype=dtype), rng=seeded(), nulls="public")
        assert out.dtype == becomes
        assert out.isna().tolist() == [False, True, False]
        assert out.dropna().tolist() == [expected[0], expected[2]]


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1000])
def test_pandas__bools_of_any_number(pd, size):
    values = np.arange(size) % 3 == 0
    expected = COIN.randomize(values, rng=seeded())
    for dtype in ("bool", "boolean", "bool[pyarrow]"):
        out = COIN.randomize(pd.Series(values, dtype=dtype), rng=seeded())
        assert out.dtype == dtype
        assert out.tolist() == expected.tolist()


def test_pandas__sets_and_records_are_of_arrow_types(pd):
    sets, records = fd.UnaryEncoding(epsilon=1.0, domain=9), fd.RAPPOR(epsilon=1.0, domain=9, bits=13, cohorts=4)
    for mechanism in (sets, records):
        out = mechanism.randomize(pd.Series([1, 2, 3], index=[7, 8, 9]), rng=seeded())
        assert out.dtype == pd.ArrowDtype(mechanism.report_type.arrow_type())
        assert out.index.tolist() == [7, 8, 9]
    rows = sets.randomize(np.array([1, 2, 3]), rng=seeded())
    plain = pd.Series([bytes(row) for row in rows], dtype=object)
    assert np.array_equal(sets.aggregate(plain).support, sets.aggregate(rows).support)


def test_pandas__other_types_are_refused_without_their_values(pd):
    given = [
        pd.Series([1.5, None], dtype=object),
        pd.Series([SECRET, 1], dtype=object),
        pd.Series([SECRET]),
        pd.Series([SECRET], dtype="category"),
        pd.Series([1, 2], dtype="Sparse[int]"),
        pd.Series([1j]),
        pd.Series(pd.date_range("2020", periods=2)),
        pd.Series(pd.date_range("2020", periods=2, tz="UTC")),
        pd.Series(pd.period_range("2020", periods=2)),
        pd.Series(pd.interval_range(0, 2)),
        pd.Series([True]),
        pd.Index([1, 2]),
        pd.DataFrame({"x": [1], "y": [2]}, index=[SECRET]),
    ]
    for series in given:
        with pytest.raises(fd.SchemaError) as caught:
            LAPLACE.randomize(series)
        assert SECRET not in str(caught.value)


# polars


@pytest.fixture
def pl():
    return pytest.importorskip("polars")


def test_polars__labels_keep_their_type(pl):
    expected = KRR.randomize(["flu", "none", "cold"], rng=seeded())
    for dtype in (pl.String, pl.Categorical, pl.Enum(["none", SECRET, "cold", "flu"])):
        given = pl.Series("answers", ["flu", "none", "cold"], dtype=dtype)
        out = KRR.randomize(given, rng=seeded())
        assert out.to_list() == expected
        assert out.name == "answers"
        assert out.dtype == (pl.Enum(LABELS) if dtype == pl.Enum else dtype)
        gap = pl.Series("answers", ["flu", None, "cold"], dtype=dtype)
        with pytest.raises(fd.DomainError, match="nulls"):
            KRR.randomize(gap)
        assert KRR.randomize(gap, rng=seeded(), nulls="public").to_list() == [expected[0], None, expected[2]]
        assert len(KRR.randomize(given[:0])) == 0


def test_polars__categories_of_other_columns_stay_out(pl):
    other = pl.Series([SECRET, "cold"], dtype=pl.Categorical)
    out = KRR.randomize(pl.Series(["flu", "cold"], dtype=pl.Categorical), rng=seeded())
    assert SECRET not in out.to_arrow().dictionary.to_pylist()
    assert len(other) == 2


def test_polars__sets_and_records_come_back(pl):
    for mechanism in (
        fd.UnaryEncoding(epsilon=1.0, domain=9),
        fd.RAPPOR(epsilon=1.0, domain=9, bits=13, cohorts=4),
        fd.SubsetSelection(epsilon=1.0, domain=300),
        fd.SummedHistogram(epsilon=1.0, domain=4),
    ):
        values = np.arange(100) % 4
        expected = mechanism.aggregate(mechanism.randomize(values, rng=seeded()))
        out = mechanism.randomize(pl.Series("answers", values), rng=seeded())
        assert isinstance(out, pl.Series)
        assert out.name == "answers"
        for reports in (out, out.to_arrow(), out.to_frame())[: 3 if CASTS_VIEWS else 2]:
            assert np.array_equal(mechanism.aggregate(reports).support, expected.support)


def test_polars__other_types_are_refused_without_their_values(pl):
    given = [
        pl.Series([SECRET]),
        pl.Series([SECRET], dtype=pl.Categorical),
        pl.Series([object()], dtype=pl.Object),
        pl.Series([1], dtype=pl.Int128),
        pl.Series(["1.5"]).cast(pl.Decimal(5, 2)),
        pl.Series([[1]]),
        pl.LazyFrame({"x": [1]}),
        pl.Series([b"ab"]),
    ]
    for series in given:
        with pytest.raises(fd.SchemaError) as caught:
            LAPLACE.randomize(series)
        assert SECRET not in str(caught.value)
    with pytest.raises(fd.SchemaError):
        fd.UnaryEncoding(epsilon=1.0, domain=64).aggregate(pl.Series([object()], dtype=pl.Object))
    with pytest.raises(fd.DomainError, match="NaN"):
        LAPLACE.randomize(pl.Series([1.0, float("nan")]))


# Results that were handed out


@each_container([c for c in CONTAINERS if c.name in {"pandas", "pandas-arrow", "polars", "c-array", "duckdb"}])
def test_results__are_not_written_over_by_later_ones(container):
    """Large result buffers are used again, but only those that nobody holds."""
    values = pa.array(np.zeros(1 << 18))
    first = LAPLACE.randomize(container.wrap(values), rng=seeded())
    before = to_arrow(first).to_numpy(zero_copy_only=False).copy()
    for _ in range(4):
        LAPLACE.randomize(container.wrap(values))
    assert np.array_equal(to_arrow(first).to_numpy(zero_copy_only=False), before)


def test_estimates__read_a_stream_once():
    """An estimate of a reader, which is empty the second time, is that of its reports."""
    for mechanism in (
        fd.SquareWave(epsilon=1.0, bounds=(0, 1)),
        fd.Piecewise(epsilon=1.0, bounds=(0, 1)),
        fd.Geometric(epsilon=1.0, bounds=(0, 9)),
        fd.KRR(epsilon=1.0, domain=10),
        fd.LocalHashing(epsilon=1.0, domain=10),
        fd.HadamardResponse(epsilon=1.0, domain=10),
    ):
        is_real = isinstance(mechanism, fd.SquareWave | fd.Piecewise)
        values = pa.array(np.linspace(0, 1, 900)) if is_real else pa.array(np.arange(900) ** 2 // 90_000)
        reports = mechanism.randomize(values, rng=seeded())
        for estimate in (fd.estimate, lambda mechanism, reports: mechanism.estimate(reports)):
            if isinstance(mechanism, fd.Piecewise if estimate is fd.estimate else fd.Geometric):
                continue  # which have no such estimate
            whole, streamed = (
                estimate(mechanism, given) for given in (reports, pa.table({"x": reports}).to_reader(50))
            )
            names = [name for name in ("distribution", "frequencies", "mean") if hasattr(whole, name)]
            assert names
            for name in names:
                assert np.array_equal(getattr(whole, name), getattr(streamed, name))


# DuckDB


def test_duckdb__errors_show_no_values():
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql(f"select cast(x as integer) as x from (values ('{SECRET}')) as t(x)")
    with pytest.raises(fd.SchemaError) as caught:
        LAPLACE.randomize(relation)
    assert SECRET not in str(caught.value)


def test_persons__come_in_every_container():
    mechanism = fd.Longitudinal(fd.KRR(epsilon=2.0, domain=3), first=1.0)
    values, names, key = pa.array([0, 1, 2] * 10), [f"person {i}" for i in range(30)], bytes(32)
    expected = mechanism.permanent(values, persons=names, key=key)
    for persons in (
        pa.table({"x": names}),
        OnlyArray(pa.array(names, pa.string_view())),
        pa.table({"x": names}).to_reader(),
    ):
        assert mechanism.permanent(values, persons=persons, key=key).equals(expected)
    pandas, polars = (pytest.importorskip(name) for name in ("pandas", "polars"))
    for persons in (pandas.Series(names), pandas.Series(names, dtype="category"), polars.Series(names),
                    polars.Series(names, dtype=polars.Categorical)):  # fmt: skip
        assert mechanism.permanent(values, persons=persons, key=key).equals(expected)


# Every way that arrow stores a column


def _run_ends(values: pa.Array) -> pa.Array:
    return pa.compute.run_end_encode(values)


def _view(values: pa.Array) -> pa.Array:
    return values.cast(pa.string_view())


STORED = {
    "plain": lambda values: values,
    "sliced": lambda values: pa.concat_arrays([values[:3], values])[3:],
    "chunked": lambda values: pa.chunked_array([values[:0], values[:9], values[9:]]),
    "dictionary": lambda values: values.dictionary_encode(),
    "dictionary-chunked": lambda values: pa.chunked_array(
        [values[:9].dictionary_encode(), values[9:].dictionary_encode()]
    ),
    "run-ends": _run_ends,
    "run-ends-sliced": lambda values: _run_ends(pa.concat_arrays([values[:3], values]))[3:],
    "view": _view,
    "view-sliced": lambda values: _view(pa.concat_arrays([values[:3], values]))[3:],
}
NUMBERS = pa.array(np.repeat(np.arange(30) % 7, 3))
TEXTS = pa.array([LABELS[i % 3] for i in range(90)])
KINDS = {
    "laplace": (LAPLACE, NUMBERS.cast(pa.float64())),
    "geometric": (fd.Geometric(epsilon=1.0, bounds=(0, 9)), NUMBERS),
    "gaussian": (fd.Gaussian(rho=0.5, sensitivity=1.0), NUMBERS.cast(pa.float32())),
    "staircase": (fd.Staircase(epsilon=1.0, sensitivity=1.0), NUMBERS.cast(pa.float64())),
    "duchi": (fd.Duchi(epsilon=1.0, bounds=(0, 9)), NUMBERS.cast(pa.float64())),
    "hybrid": (fd.Hybrid(epsilon=1.0, bounds=(0, 9)), NUMBERS),
    "square-wave": (fd.SquareWave(epsilon=1.0, bounds=(0, 9)), NUMBERS.cast(pa.float64())),
    "krr-labels": (KRR, TEXTS),
    "krr-codes": (fd.KRR(epsilon=1.0, domain=7), NUMBERS),
    "unary": (fd.UnaryEncoding(epsilon=1.0, domain=LABELS), TEXTS),
    "hashing": (fd.LocalHashing(epsilon=1.0, domain=LABELS), TEXTS),
    "hadamard": (fd.HadamardResponse(epsilon=1.0, domain=7), NUMBERS),
    "coin": (COIN, pa.array(np.arange(90) % 3 == 0)),
    "grid": (fd.GridGeometric(epsilon=1.0, shape=(3, 3), unit="km"), NUMBERS),
}


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("kind", KINDS)
def test_columns__count_the_same_however_they_are_stored(kind, stored):
    """The same draws from every form of the values, empty ones too; the same counts from every form of the reports."""
    mechanism, values = KINDS[kind]
    if stored.startswith("view") and not pa.types.is_string(values.type):
        values = values[:0].cast(pa.string())
        with pytest.raises(fd.SchemaError):
            mechanism.randomize(STORED[stored](values))
        return
    plain = mechanism.randomize(values, rng=seeded())
    out = mechanism.randomize(STORED[stored](values), rng=seeded())
    assert isinstance(out, pa.ChunkedArray) == ("chunked" in stored)
    out.validate(full=True)
    assert to_arrow(out).to_pylist() == plain.to_pylist()
    empty = STORED[stored](values[:0])
    assert len(mechanism.randomize(empty, rng=seeded())) == 0
    if not hasattr(mechanism, "aggregate") or pa.types.is_nested(plain.type):
        return
    reports = STORED[stored](plain) if pa.types.is_string(plain.type) or not stored.startswith("view") else plain
    one, other = mechanism.aggregate(plain), mechanism.aggregate(reports)
    assert one.n == other.n == len(values)
    for name in ("support", "total"):
        if hasattr(one, name):
            assert np.allclose(getattr(one, name), getattr(other, name))


def test_frames_of_one_column__come_back_as_frames():
    pandas, polars = (pytest.importorskip(name) for name in ("pandas", "polars"))
    expected = LAPLACE.randomize(np.arange(5.0), rng=seeded())
    frame = LAPLACE.randomize(pandas.DataFrame({"x": np.arange(5.0)}, index=list("abcde")), rng=seeded())
    assert list(frame.index) == list("abcde")
    assert np.array_equal(frame["x"], expected)
    frame = LAPLACE.randomize(polars.DataFrame({"x": np.arange(5.0)}), rng=seeded())
    assert frame.columns == ["x"]
    assert np.array_equal(frame["x"], expected)
