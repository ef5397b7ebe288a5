"""Noise bound to place and content: the same bytes for the same rows, independent noise for any others."""

from __future__ import annotations

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastdp as fd
from fastdp.tables.chunks import CHUNK, Digester, rechunk
from fastdp.tables.tags import Tag, Tags
from fastdp.tables.task import Task

PLAN = fd.Plan(columns={"x": {"mechanism": "laplace", "epsilon": 40.0, "bounds": [0, 1e6]}, "n": "keep"})
SCHEMA = pa.schema({"x": pa.float64(), "n": pa.int64()})


def table(rows: int, seed: int = 1) -> pa.Table:
    drawn = np.random.default_rng(seed).uniform(3e5, 7e5, rows)
    return pa.table({"x": drawn, "n": np.arange(rows)}, SCHEMA)


def run(key, rows: pa.Table, place=(0, 0), size: int | None = None) -> pa.Table:
    task = Task(SCHEMA, PLAN, key)
    return pa.Table.from_batches(task.run(place, rows.to_batches(size)), task.schema)


@pytest.mark.parametrize("size", [1000, 65_536, 70_001, None])
def test_task__gives_the_same_bytes_for_any_batches(size):
    key, rows = fd.JobKey(), table(CHUNK + 5000)
    assert run(key, rows, size=size).equals(run(key, rows))


def test_task__is_what_sanitize_does(tmp_path):
    """Each row group of each file is a place; one machine and a task per place agree."""
    key, rows = fd.JobKey(), table(4000)
    (tmp_path / "in").mkdir()
    for number in range(2):
        pq.write_table(rows.slice(2000 * number, 2000), tmp_path / f"in/{number}.parquet", row_group_size=1500)
    made = fd.sanitize(tmp_path / "in", PLAN, key=key).replace_schema_metadata(None)
    parts = [(0, 0, 0, 1500), (0, 1, 1500, 500), (1, 0, 2000, 1500), (1, 1, 3500, 500)]
    pieces = [run(key, rows.slice(start, count), (file, group)) for file, group, start, count in parts]
    assert made.equals(pa.concat_tables(pieces))


def noise(made: pa.Table, rows: pa.Table) -> np.ndarray:
    return made["x"].to_numpy() - rows["x"].to_numpy()


@pytest.mark.parametrize("change", ["key", "place", "content", "plan"])
def test_noise__is_independent_where_anything_differs(change):
    """No draw of 2,000 is repeated, though a draw's cell is one of about 2**20: place-only keys repeat all but one."""
    key, rows = fd.JobKey(), table(2000)
    before = noise(run(key, rows), rows)
    other = rows
    if change == "content":
        values = rows["x"].to_numpy().copy()
        values[1234] += 1.0
        other = rows.set_column(0, "x", pa.array(values))
    plan = PLAN if change != "plan" else fd.Plan(columns={**{k: v.given for k, v in PLAN.columns.items()},
        "x": {"mechanism": "laplace", "epsilon": 40.0, "bounds": [0, 1e6 + 1]}})  # fmt: skip
    task = Task(SCHEMA, plan, fd.JobKey() if change == "key" else key)
    after = noise(pa.Table.from_batches(task.run((0, 1 if change == "place" else 0), other.to_batches())), other)
    assert (np.abs(before - after) < 1e-3).sum() <= 2


def attack(draw) -> int:
    """The same people in a table that starts 500 rows later: slot i then holds person i + 500."""
    rows = table(5000)
    first, second = draw(rows), draw(rows.slice(500))
    truth = rows["x"].to_numpy()
    moved = second[:4000] - first[:4000]
    return int((np.abs(moved - (truth[500:4500] - truth[:4000])) <= 0.25).sum())


def test_changed_split__never_gives_differences_of_people():
    key = fd.JobKey()
    assert attack(lambda rows: run(key, rows)["x"].to_numpy()) <= 2


def test_mutant__place_only_key_gives_differences_of_people(monkeypatch):
    key = fd.JobKey()
    monkeypatch.setattr(Digester, "digest", lambda *_: b"")
    assert attack(lambda rows: run(key, rows)["x"].to_numpy()) > 3900


def variants(values: pa.Array) -> list[pa.Array]:
    """One content in different layouts."""
    padded = pa.concat_arrays([values[:3], values]).slice(3)
    return [values, padded, pa.array(values.to_pylist(), values.type)]


COLUMNS = [
    pa.array([1.5, None, -0.0, 7.25] * 600),
    pa.array([1, None, 3, 4] * 600, pa.int16()),
    pa.array([True, None, False, True, True] * 500),
    pa.array(["a", None, "", "bcd"] * 600),
    pa.array([b"a", None, b"", b"bcd"] * 600, pa.large_binary()),
    pa.array([1, None, 5], pa.timestamp("us")),
    pa.array([b"ab", None, b"cd"], pa.binary(2)),
    pa.array([["a", None], [], None, ["b", "cd", "a"]] * 600),
    pa.array([[1, None], None, [2, 3], [None, None]] * 600, pa.list_(pa.int32(), 2)),
    pa.array([[[1.5], None], [[], [2.5, None]], None] * 600, pa.large_list(pa.list_(pa.float64()))),
    pa.array([{"a": 1, "b": [True]}, None, {"a": None, "b": None}] * 600),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.type))
def test_digest__is_of_values_not_of_layout(column):
    digester = Digester(fd.JobKey())
    found = {digester.digest(pa.record_batch({"c": one}), ["c"]) for one in variants(column)}
    if pa.types.is_string(column.type):
        encoded = column.dictionary_encode()
        turned = pa.DictionaryArray.from_arrays(
            pa.array([None if i is None else 3 - i for i in encoded.indices.to_pylist()], pa.int8()),
            pa.array(["unused", *reversed(encoded.dictionary.to_pylist())]),
        )
        kinds = [column.cast(pa.large_string()), column.cast(pa.string_view()), encoded, turned]
        found |= {digester.digest(pa.record_batch({"c": one}), ["c"]) for one in kinds}
    if pa.types.is_list(column.type):
        found.add(digester.digest(pa.record_batch({"c": column.cast(pa.large_list(pa.large_string()))}), ["c"]))
    if pa.types.is_fixed_size_list(column.type):
        found.add(digester.digest(pa.record_batch({"c": column.cast(pa.list_(pa.int64()))}), ["c"]))
    assert len(found) == 1


def test_digest__tells_lists_apart():
    """By their lengths, by nulls of them and in them, and by the place of an element."""
    lists = [[["a"], ["b"]], [["a", "b"], []], [["a", "b"], None], [[], ["a", "b"]], [["b"], ["a"]], [["a"], [None]],
             [["a"], ["b", None]], [["ab"], [""]], [["a"], [""]]]  # fmt: skip
    digester, kind = Digester(fd.JobKey()), pa.list_(pa.string())
    found = {digester.digest(pa.record_batch({"c": pa.array(one, kind)}), ["c"]) for one in lists}
    assert len(found) == len(lists)


def test_digest__of_lists_makes_no_python_objects():
    """As many calls for ten thousand lists as for a hundred."""
    digester = Digester(fd.JobKey())

    def calls(rows: int) -> int:
        batch, seen = pa.record_batch({"c": pa.array([[float(row), None] for row in range(rows)])}), []
        sys.setprofile(lambda _frame, event, _about: seen.append(event))
        try:
            digester.digest(batch, ["c"])
        finally:
            sys.setprofile(None)
        return len(seen)

    calls(10)
    assert calls(10_000) <= calls(100) + 40


def test_digest__ignores_what_lies_behind_nulls_and_the_width_of_integers():
    digester = Digester(fd.JobKey())
    hidden = [
        pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(b"\x05"), pa.py_buffer(np.array([1, v, 3]))]) for v in (2, 9)
    ]
    narrow = pa.array([1, None, 3], pa.int8())
    assert len({digester.digest(pa.record_batch({"c": one}), ["c"]) for one in (*hidden, narrow)}) == 1


def test_digest__tells_any_change():
    """Of a value, a null, the order, the name, the type, the number of rows, the columns; and of the key."""
    digester, base = Digester(fd.JobKey()), list(range(3000))
    batches = [pa.record_batch({"c": pa.array(base)})]
    changes = [(place, value) for place in (0, 1499, 2999) for value in (base[place] + 1, None)]
    batches += [pa.record_batch({"c": pa.array([*base[:at], value, *base[at + 1 :]])}) for at, value in changes]
    batches += [
        pa.record_batch({"c": pa.array(base[::-1])}), pa.record_batch({"d": pa.array(base)}),
        pa.record_batch({"c": pa.array(base, pa.timestamp("s"))}), pa.record_batch({"c": pa.array(base[:-1])}),
        pa.record_batch({"c": pa.array([str(i) for i in base])}), pa.record_batch({"c": pa.array([0] * 3000)}),
        pa.record_batch({"c": pa.nulls(3000, pa.int64())}),
    ]  # fmt: skip
    found = [digester.digest(batch, batch.schema.names) for batch in batches]
    found.append(Digester(fd.JobKey()).digest(batches[0], ["c"]))
    assert len(set(found)) == len(found)


def test_rechunk__cuts_at_the_ends_of_places():
    rows = pa.table({"n": np.arange(10)}).to_batches(4)
    chunks = [c for some in rechunk(rows, [((0, 0), 3), ((0, 1), 0), ((0, 2), 7)], 5) for c in some]
    assert [(c.place, c.number, c.rows.column(0).to_pylist()) for c in chunks] == [
        ((0, 0), 0, [0, 1, 2]), ((0, 2), 0, [3, 4, 5, 6, 7]), ((0, 2), 1, [8, 9]),
    ]  # fmt: skip
    with pytest.raises(fd.InputCorruptError, match="more rows"):
        list(rechunk(rows, [((0, 0), 3)], 5))


def test_tags__merge_and_tell_a_changed_input():
    one, other = Tag((0, 0), 10, 1, b"a" * 16), Tag((0, 1), 5, 1, b"b" * 16)
    tags = Tags([one]) + Tags([other, one])
    assert (tags.rows, len(tags), tags.versions) == (15, 2, 1)
    assert tags.root == Tags([other, one]).root
    assert [Tag.from_list(json.loads(json.dumps(tag.to_list()))) for tag in tags] == [one, other]
    with pytest.raises(fd.InputChangedError, match="changed while the job ran"):
        tags.add(Tag((0, 0), 10, 1, b"c" * 16))
    tags.add(Tag((0, 0), 15, 1, b"c" * 16))
    assert tags.versions == 2


def test_receipts__add_up(tmp_path):
    key, rows = fd.JobKey(), table(3000)
    (tmp_path / "in").mkdir()
    for number in range(2):
        pq.write_table(rows.slice(1500 * number, 1500), tmp_path / f"in/{number}.parquet")
    whole = fd.sanitize(tmp_path / "in", PLAN, tmp_path / "out/", key=key)
    first = fd.sanitize(tmp_path / "in/0.parquet", PLAN, tmp_path / "0.parquet", key=key)
    assert (first + first).tags.root == first.tags.root
    assert (first + first).rows == 1500
    second = fd.sanitize(rows.slice(1500), PLAN, tmp_path / "1.parquet", key=key)
    with pytest.raises(fd.InputChangedError):  # another content of the place (0, 0)
        first + second
    assert whole.to_dict()["job"] == {"key": key.id, "versions": 1, "root": whole.tags.root}
    with pytest.raises(fd.ParameterError, match="a key of its own"):
        first + fd.sanitize(rows, PLAN, tmp_path / "2.parquet", key=fd.JobKey())


@pytest.mark.parametrize("kind", ["file", "table"])
def test_ledger__is_charged_once_for_the_same_bytes(tmp_path, kind):
    key, rows = fd.JobKey(), table(1000)
    ledger = fd.Ledger.create(tmp_path / "ledger", epsilon=60.0)
    pq.write_table(rows, tmp_path / "in.parquet")
    source = rows if kind == "table" else tmp_path / "in.parquet"
    for number in range(3):
        fd.sanitize(source, PLAN, tmp_path / f"{number}.parquet", key=key, ledger=ledger)
    assert 39.9e9 < ledger.spent.amount <= 40e9
    outputs = {(tmp_path / f"{number}.parquet").read_bytes() for number in range(3)}
    assert len(outputs) == 1
    other = table(1000, seed=2)
    pq.write_table(other, tmp_path / "in.parquet")
    with pytest.raises(fd.BudgetExceededError):  # another table, of the same file name and key
        fd.sanitize(other if kind == "table" else source, PLAN, tmp_path / "x.parquet", key=key, ledger=ledger)
    with pytest.raises(fd.BudgetExceededError):
        fd.sanitize(source, PLAN, tmp_path / "x.parquet", key=fd.JobKey(), ledger=ledger)
    assert not (tmp_path / "x.parquet").exists()


def test_input__that_changes_after_it_was_paid_for_is_not_released(tmp_path, monkeypatch):
    from fastdp.tables.sanitizing import job

    key = fd.JobKey()
    ledger = fd.Ledger.create(tmp_path / "ledger", epsilon=60.0)
    pq.write_table(table(1000), tmp_path / "in.parquet")
    pay = job.pay

    def then_change(*given, **named):
        paid = pay(*given, **named)
        pq.write_table(table(1000, seed=2), tmp_path / "in.parquet")
        return paid

    monkeypatch.setattr(job, "pay", then_change)
    with pytest.raises((fd.InputChangedError, fd.InputCorruptError)):
        fd.sanitize(tmp_path / "in.parquet", PLAN, tmp_path / "out.parquet", key=key, ledger=ledger)
    assert not (tmp_path / "out.parquet").exists()
    assert not (tmp_path / "out.parquet.receipt.json").exists()


def test_sanitize__takes_a_key_or_an_rng():
    with pytest.raises(fd.ParameterError, match="not both"):
        fd.sanitize(table(10), PLAN, key=fd.JobKey(), rng=fd.Rng())
    with pytest.raises(fd.ParameterError, match="must be a fastdp.JobKey"):
        fd.sanitize(table(10), PLAN, key=b"0" * 32)
