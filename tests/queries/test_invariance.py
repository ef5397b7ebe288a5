"""The same bits for any order of the rows, any batches, threads and memory, and in any container."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import fastdp as fd
from fastdp.queries.data import persons as persons_module
from fastdp.queries.data.keys import ColumnKeys

ROWS = 6000
ASKED = ["count", "persons", "sum(v)", "mean(w)"]
BOUNDS = {"v": (-10, 50), "w": (0, 1)}


@pytest.fixture(scope="module")
def table():
    source = np.random.default_rng(8)
    persons = source.integers(0, 700, ROWS)
    persons[source.random(ROWS) < 0.2] = 13
    names = np.array([f"person-{one}" for one in persons])
    keys = np.array([f"key {one}" for one in (source.random(ROWS) ** 2 * 90).astype(int)])
    values = source.normal(10, 20, ROWS)
    values[::31] = np.nan
    columns = {"n": persons, "p": names, "k": keys, "j": source.integers(-3, 9, ROWS), "v": values}
    return pa.table({**columns, "w": source.random(ROWS)})


def release(data, person="p", by="k", **more):
    how = {"epsilon": 20.0, "delta": 1e-4, "max_groups": 3, "max_rows": 2, **more}
    if person is None:
        how |= {"max_groups": None, "max_rows": None}
    asked = [one for one in ASKED if person is not None or one != "persons"]
    found = fd.release.group_by(
        data, by, asked, keys="select", bounds=BOUNDS, person=person, rng=fd.Rng.unsafe_seed(4), **how
    )
    return found.to_arrow()


EVERY = [
    {"person": "p"}, {"person": "n", "by": "j"}, {"person": None}, {"person": "n", "by": ["k", "j"]},
    {"person": "p", "epsilon": None, "rho": 50.0}, {"person": "p", "bound": "scale"},
]  # fmt: skip


@pytest.mark.parametrize("how", EVERY)
def test_answers__do_not_depend_on_the_order_of_rows(table, how):
    """Codes by first appearance, in priorities or noise, would (the mutants)."""
    order = np.random.default_rng(9).permutation(ROWS)
    first = release(table, **how)
    assert first.num_rows > 3
    assert release(table.take(order), **how).equals(first)


def test_mutant__codes_by_first_appearance_are_caught(table, monkeypatch):
    """Priorities from codes in the place of tags: which groups of a person are kept then follows the order of rows."""
    order = np.random.default_rng(9).permutation(ROWS)
    monkeypatch.setattr(ColumnKeys, "tags", property(lambda self: np.arange(self.size, dtype=np.uint64)))
    assert not release(table.take(order), person="p").equals(release(table, person="p"))


@pytest.mark.parametrize("how", EVERY[:3])
def test_answers__do_not_depend_on_batches(table, how):
    first = release(table, **how)
    for size in (1, 100, 999):
        source = table.slice(0, 300) if size == 1 else table
        whole = release(source, **how) if size == 1 else first
        batches = source.to_batches(max_chunksize=size)
        assert release(pa.RecordBatchReader.from_batches(table.schema, batches), **how).equals(whole)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_answers__do_not_depend_on_threads(table, threads, monkeypatch):
    monkeypatch.setattr(persons_module, "PART_ROWS", 256)  # so that there is work for all of them
    before = fd.get_threads()
    first = release(table)
    fd.set_threads(threads)
    try:
        assert release(table).equals(first)
    finally:
        fd.set_threads(before)


@pytest.mark.parametrize("memory", [24, 2400, 100_000])
@pytest.mark.parametrize("how", EVERY)
def test_answers__do_not_depend_on_memory(table, how, memory, monkeypatch):
    """With room for one record, for a hundred, for most of them: the rest goes through a file."""
    data = table.slice(0, 400) if memory < 100 else table
    first = release(data, **how)
    spilled = []
    real = persons_module.PersonRows._spill
    monkeypatch.setattr(persons_module.PersonRows, "_spill", lambda self: (spilled.append(1), real(self))[1])
    monkeypatch.setattr(persons_module.PersonRows.__init__, "__kwdefaults__", {"expected_rows": None, "memory": memory})
    assert release(data, **how).equals(first)
    assert spilled or how["person"] is None


def test_answers__do_not_depend_on_the_container(table, tmp_path):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    assert pandas
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=1000)
    (tmp_path / "parts").mkdir()
    for number in range(3):
        pq.write_table(table.slice(2000 * number, 2000), tmp_path / "parts" / f"{number}.parquet")
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    pa.csv.write_csv(table.set_column(4, "v", table["v"].combine_chunks()), tmp_path / "t.csv")
    first = release(table)
    encoded = table.set_column(2, "k", table["k"].dictionary_encode()).set_column(
        1, "p", table["p"].dictionary_encode()
    )
    for data in (
        tmp_path / "t.parquet", tmp_path / "parts", tmp_path / "t.arrow", table.to_pandas(), polars.from_arrow(table),
        {name: table[name].to_numpy() for name in table.column_names if name not in "pk"}
        | {name: table[name].to_pylist() for name in "pk"},
        encoded,
    ):  # fmt: skip
        found = release(data)
        assert [found[name].to_pylist() for name in ("count", "sum_v")] == [
            first[name].to_pylist() for name in ("count", "sum_v")
        ]
    assert release(tmp_path / "t.csv")["count"].to_pylist() == first["count"].to_pylist()


def test_spill__is_private_and_gone(table, monkeypatch):
    """The file has no name, and nobody else can open it."""
    import os
    import stat

    from fastdp.queries.data.spill import SpillFile

    file = SpillFile()
    state = os.fstat(file._file.fileno())
    assert state.st_nlink == 0
    assert stat.S_IMODE(state.st_mode) == 0o600
    start = file.append(np.arange(10, dtype=np.uint64))
    out = np.empty(4, np.uint64)
    file.read(start + 16, out)
    assert out.tolist() == [2, 3, 4, 5]
    with pytest.raises(fd.InputCorruptError, match="ended early"):
        file.read(start + 72, out)
    file.close()
