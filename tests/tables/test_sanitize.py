"""Tables and Parquet files through a plan: the same results every way, and errors that leave nothing."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastdp as fd
from fastdp.io.stamps import METADATA_KEY
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize
from tests.tables.people import COLUMNS, people

NOISY = {"mechanism": "laplace", "epsilon": 1.0, "bounds": [0, 1]}


@pytest.fixture
def plan():
    return Plan(columns=COLUMNS)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(people(), path)
    return path


def seeded():
    return fd.Rng.unsafe_seed(5)


def plain(table):
    return table.replace_schema_metadata(None).combine_chunks()


def test_sanitize__does_what_the_plan_says(plan):
    before = people()
    after = sanitize(before, plan)
    assert after.column_names == ["region", "disease", "income", "age", "ill"]
    assert after["region"].equals(before["region"])
    assert after["ill"].is_null().equals(before["ill"].is_null())
    for name in ("disease", "income", "age", "ill"):
        assert after[name].type == before[name].type
        assert not after[name].equals(before[name])
    assert set(after["disease"].unique().to_pylist()) == {"cold", "flu", "none"}
    assert after["income"].to_numpy().min() < 0  # outputs stay where the noise takes them


@pytest.mark.parametrize("rows", [1, 7, 1000, 4096, None])
def test_results__do_not_depend_on_batches(plan, file, tmp_path, rows):
    expected = plain(sanitize(people(), plan, rng=seeded()))
    few = plain(sanitize(people().slice(0, 300), plan, rng=seeded()))
    assert plain(sanitize(people().slice(0, 300), plan, rng=seeded(), batch_rows=rows)).equals(few)
    if rows != 1:
        sanitize(file, plan, tmp_path / "out.parquet", rng=seeded(), batch_rows=rows)
        assert plain(pq.read_table(tmp_path / "out.parquet")).equals(expected)


@pytest.mark.parametrize("count", [1, 3])
def test_results__do_not_depend_on_threads(plan, threads, count):
    expected = plain(sanitize(people(300_000), plan, rng=seeded(), batch_rows=70_001))
    threads(count)
    assert plain(sanitize(people(300_000), plan, rng=seeded())).equals(expected)


def test_results__do_not_depend_on_the_container(plan):
    table = people(1000)
    expected = plain(sanitize(table, plan, rng=seeded()))
    chunked = pa.concat_tables([table.slice(0, 10), table.slice(10, 0), table.slice(10)])
    batch = table.combine_chunks().to_batches()[0]
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=33))

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return table.__arrow_c_stream__(requested_schema)

    for source in (chunked, batch, reader, Stream()):
        assert plain(pa.table(sanitize(source, plan, rng=seeded()))).equals(expected)


def test_frames__come_back_as_frames(plan):
    """The same results as from arrow; an index with labels is a column that the plan must name."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {name: "keep" if name == "ill" else entry for name, entry in COLUMNS.items()}
    plan, table = Plan(columns=columns), people(500)
    expected = sanitize(table, plan, rng=seeded()).to_pydict()
    lazy = polars.DataFrame(table)
    result = sanitize(lazy, plan, rng=seeded())
    assert isinstance(result, polars.DataFrame)
    assert result.to_dict(as_series=False) == expected
    frame = table.to_pandas()
    result = sanitize(frame, plan, rng=seeded())
    assert isinstance(result, pandas.DataFrame)
    assert result["income"].tolist() == expected["income"]
    assert result["disease"].tolist() == expected["disease"]
    with pytest.raises(fd.SchemaError, match="__index_level_0__"):
        sanitize(frame.set_index(frame.index.astype(str)), plan)


@pytest.mark.parametrize("kind", [pa.string_view(), pa.large_string(), pa.list_(pa.string_view()), pa.date32()])
def test_kept_types__go_through(kind):
    values = pa.array(
        [["a"], None] if pa.types.is_list(kind) else ["a", None] if kind != pa.date32() else [1, None], kind
    )
    result = sanitize(pa.table({"x": values}), Plan(columns={"x": "keep"}))
    assert result["x"].to_pylist() == values.to_pylist()


def test_results__do_not_depend_on_the_format(plan, tmp_path):
    expected = plain(sanitize(people(), plan, rng=seeded()))
    with pa.ipc.new_file(tmp_path / "in.arrow", people().schema) as writer:
        writer.write_table(people(), max_chunksize=1234)
    assert plain(sanitize(tmp_path / "in.arrow", plan, rng=seeded())).equals(expected)
    receipt = sanitize(tmp_path / "in.arrow", plan, tmp_path / "out.arrow", rng=seeded())
    written = pa.ipc.open_file(tmp_path / "out.arrow").read_all()
    assert plain(written).equals(expected)
    inside = json.loads(written.schema.metadata[METADATA_KEY.encode()])
    whole = receipt.to_dict()
    known = {"release": whole["release"], "job": whole["job"]}
    assert inside | known == whole | {"rows": None}
    assert inside["job"] == {"key": whole["job"]["key"]}
    assert receipt.rows == 5000


def test_dictionaries__give_the_declared_labels():
    plan = Plan(columns={"x": {"mechanism": "krr", "epsilon": 1.0, "domain": ["b", "a"]}})
    values = pa.array(["a", "b", "a"] * 50)
    encoded = sanitize(pa.table({"x": values.dictionary_encode()}), plan, rng=seeded())["x"]
    assert encoded.chunk(0).dictionary.to_pylist() == ["b", "a"]
    assert encoded.cast(pa.string()).equals(sanitize(pa.table({"x": values}), plan, rng=seeded())["x"])


def test_empty_table__gives_an_empty_table(plan, tmp_path):
    assert sanitize(people(5).slice(0, 0), plan).num_rows == 0
    sanitize(people(5).slice(0, 0), plan, tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").column_names == ["region", "disease", "income", "age", "ill"]


def test_noise__is_new_every_time(plan):
    assert not plain(sanitize(people(), plan)).equals(plain(sanitize(people(), plan)))
    rng = seeded()
    assert not plain(sanitize(people(), plan, rng=rng)).equals(plain(sanitize(people(), plan, rng=rng)))


def test_policies__nan_and_undeclared_values():
    plan = Plan(columns={
        "x": {"mechanism": "laplace", "epsilon": 30.0, "bounds": [0, 100], "nan": "lower"},
        "y": {"mechanism": "krr", "epsilon": 30.0, "domain": ["a", "other"], "out_of_domain": "other"},
    })  # fmt: skip
    table = pa.table({"x": [math.nan] * 9, "y": pa.array(["zebra"] * 9).dictionary_encode()})
    result = sanitize(table, plan)
    assert max(result["x"].to_pylist()) < 100
    assert set(result["y"].to_pylist()) == {"other"}


def test_receipt__says_what_was_done(plan, file, tmp_path):
    receipt = sanitize(file, plan, tmp_path / "out.parquet")
    written = json.loads((tmp_path / "out.parquet.receipt.json").read_text())
    assert written == receipt.to_dict()
    inside = json.loads(pq.read_metadata(tmp_path / "out.parquet").metadata[METADATA_KEY.encode()])
    assert inside == {key: value for key, value in written.items() if key != "release"}
    assert written["rows"] == 5000
    assert written["plan"] == plan.to_dict()
    assert written["guarantee"]["record"]["epsilon"] == plan.privacy.record.epsilon
    assert "d-privacy" in written["guarantee"]["columns"]["age"]["kind"]
    assert "public" in written["guarantee"]["columns"]["ill"]["nulls"]
    assert "operating system" in written["generator"]


def test_receipt__says_when_the_seed_is_unsafe(plan):
    table = sanitize(people(10), plan, rng=seeded())
    assert "unsafe seed" in json.loads(table.schema.metadata[METADATA_KEY.encode()])["generator"]


def test_output__is_private_checked_and_without_dictionaries_of_noise(plan, file, tmp_path):
    out = tmp_path / "out.parquet"
    sanitize(file, plan, out)
    assert out.stat().st_mode & 0o777 == 0o600
    pq.ParquetFile(out, page_checksum_verification=True).read()
    group = pq.ParquetFile(out).metadata.row_group(0)
    by_name = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    assert not by_name["income"].has_dictionary_page
    assert by_name["disease"].has_dictionary_page
    income = pq.read_table(out)["income"].to_numpy()
    assert (by_name["income"].statistics.min, by_name["income"].statistics.max) == (income.min(), income.max())


def test_memory__one_large_row_group_is_read_in_pieces(file):
    from fastdp.io.parquet import ParquetSource

    sizes = [batch.num_rows for batch in ParquetSource("sanitize", file).batches(["age", "disease"], 999, ["disease"])]
    assert max(sizes) <= 999
    assert sum(sizes) == 5000


def test_progress__counts_rows(plan, tmp_path):
    """Of whole chunks, however the file is cut."""
    pq.write_table(people(150_000), tmp_path / "in.parquet")
    seen = []
    sanitize(tmp_path / "in.parquet", plan, batch_rows=2000, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(65_536, 150_000), (131_072, 150_000), (150_000, 150_000)]


@pytest.mark.parametrize("values", [np.arange(1000.0), np.arange(1000.0)[::-1], np.repeat([0.0, 1.0], 500)])
def test_sorted_columns__are_warned_of(values):
    with pytest.warns(UserWarning, match="'x' arrived sorted"):
        sanitize(pa.table({"x": values}), Plan(columns={"x": NOISY}), batch_rows=300)


@pytest.mark.parametrize("values", [np.zeros(1000), np.arange(5.0), np.tile([0.0, 1.0], 500)])
def test_other_columns__are_not(values):
    sanitize(pa.table({"x": values}), Plan(columns={"x": NOISY}), batch_rows=300)


class TestOutput:
    """An output is new, is not the input, and is there only when all went well."""

    def test_existing__is_refused_unless_forced(self, plan, file, tmp_path):
        out = tmp_path / "out.parquet"
        out.write_text("mine")
        with pytest.raises(fd.OutputExistsError, match="exists"):
            sanitize(file, plan, out)
        assert out.read_text() == "mine"
        sanitize(file, plan, out, force=True)
        assert pq.read_table(out).num_rows == 5000

    def test_input__is_refused_even_when_forced(self, plan, file, tmp_path):
        (tmp_path / "link.parquet").symlink_to(file)
        before = file.read_bytes()
        for out in (file, tmp_path / "link.parquet"):
            with pytest.raises(fd.OutputExistsError, match="the output is the input"):
                sanitize(file, plan, out, force=True)
        assert file.read_bytes() == before

    def test_came_in_the_meantime__is_not_replaced(self, plan, file, tmp_path):
        out = tmp_path / "out.parquet"
        with pytest.raises(fd.OutputExistsError):
            sanitize(file, plan, out, progress=lambda *_: out.write_text("theirs"))
        assert out.read_text() == "theirs"
        assert sorted(p.name for p in tmp_path.iterdir()) == ["out.parquet", "people.parquet"]

    @pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, OSError(28, "No space left on device")])
    def test_errors__leave_nothing(self, plan, file, tmp_path, error):
        def fail(*_):
            raise error

        with pytest.raises(error if isinstance(error, type) else OSError):
            sanitize(file, plan, tmp_path / "out.parquet", batch_rows=100, progress=fail)
        assert [p.name for p in tmp_path.iterdir()] == ["people.parquet"]

    @pytest.mark.parametrize("point", ["pyarrow.parquet.ParquetWriter.write_table", "os.fsync", "os.link"])
    def test_failing_disk__leaves_nothing(self, plan, file, tmp_path, monkeypatch, point):
        def fail(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(point, fail)
        if point == "os.link":  # a file system without links is an ordinary case
            sanitize(file, plan, tmp_path / "out.parquet")
            assert pq.read_table(tmp_path / "out.parquet").num_rows == 5000
            return
        with pytest.raises(OSError, match="No space left"):
            sanitize(file, plan, tmp_path / "out.parquet", batch_rows=100)
        assert [p.name for p in tmp_path.iterdir()] == ["people.parquet"]


@pytest.mark.parametrize(
    ("column", "values", "error"),
    [
        ("disease", ["canary"] * 9, fd.DomainError),
        ("disease", [None] * 9, fd.SchemaError),
        ("income", [math.nan] * 9, fd.DomainError),
        ("income", ["canary"] * 9, fd.SchemaError),
        ("age", [0.5] * 9, fd.SchemaError),
        ("age", pa.array([1, None] * 4 + [2], pa.int16()), fd.DomainError),
        ("ill", [1] * 9, fd.SchemaError),
    ],
)
def test_bad_columns__are_named_and_their_values_withheld(plan, tmp_path, column, values, error):
    table = people(9)
    table = table.set_column(table.column_names.index(column), column, pa.array(values))
    with pytest.raises(error, match=f"column '{column}'") as caught:
        sanitize(table, plan, tmp_path / "out.parquet")
    assert "canary" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert not list(tmp_path.iterdir())


def test_bad_arguments__are_refused(plan):
    with pytest.raises(fd.ParameterError, match="plan must be"):
        sanitize(people(9), {"name": "drop"})
    with pytest.raises(fd.SchemaError, match="cannot read a set"):
        sanitize({1}, plan)
    with pytest.raises(fd.ParameterError, match="batch_rows"):
        sanitize(people(9), plan, batch_rows=0)
    with pytest.raises(fd.ParameterError, match="drops every column"):
        sanitize(pa.table({"x": [1]}), Plan(columns={"x": "drop"}))
