"""Anonymized tables: recounted from outside, files as tables, moves and errors."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import fastdp as fd
from fastdp.anonymity import job as module
from fastdp.anonymity import lattice, writing

AGE, ZIP = fd.Hierarchy.intervals(5, 10, 50), fd.Hierarchy.prefix(3, 2)
QUASI = {"age": AGE, "zip": ZIP, "sex": fd.Hierarchy.suppress()}


def people(rows: int = 600, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({
        "name": [f"canary-{i}" for i in range(rows)],
        "age": rng.integers(18, 80, rows),
        "zip": [f"{z}" for z in rng.choice([66111, 66123, 66200, 10115], rows)],
        "sex": rng.choice(["f", "m"], rows),
        "ill": rng.choice(["flu", "HIV", "none"], rows, p=[0.5, 0.2, 0.3]),
        "income": rng.normal(30_000, 5_000, rows),
    })  # fmt: skip


def anonymize(table=None, **asked):
    table = people() if table is None else table
    usual = {"quasi": QUASI, "k": 5, "sensitive": "ill", "drop": ["name"], "keep": ["income"]}
    return fd.anonymize(table, **{**usual, **asked})


def sizes_of(table: pa.Table) -> Counter:
    """Class sizes, counted by Python."""
    return Counter(zip(*(table.column(name).to_pylist() for name in QUASI), strict=True))


@pytest.mark.parametrize(
    "asked",
    [
        {}, {"l": 2}, {"t": 0.3}, {"alpha": 0.7}, {"l": 2, "l_model": "recursive", "c": 2.5}, {"suppress": 0.0},
        {"l": 2.0, "l_model": "entropy"}, {"method": "mondrian"}, {"method": "mondrian", "l": 3}, {"beta": 2.0},
        {"method": "mondrian", "t": 0.2}, {"dummies": 0.1}, {"loss": "entropy"}, {"loss": "discernibility", "k": 20},
    ],
    ids=str,
)  # fmt: skip
def test_output__meets_what_was_asked(asked):
    made = anonymize(**asked)
    k = asked.get("k", 5)
    sizes = sizes_of(made.table)
    assert min(sizes.values()) >= k == made.certificate.requirement.k
    assert made.classes.k == min(sizes.values())
    assert made.table.num_rows == 600 - made.suppressed + made.dummies == made.certificate.written
    assert made.suppressed <= 600 * asked.get("suppress", 0.05)
    assert made.table.column_names == ["age", "zip", "sex", "ill", "income"]
    outside = fd.anonymity.classes(made.table, list(QUASI), ["ill"])
    if "t" in asked:
        assert outside.t() <= asked["t"]
    if "alpha" in asked:
        assert outside.alpha <= asked["alpha"]
    if "c" in asked:
        assert outside.recursive(2) < asked["c"]
    elif "l" in asked:
        assert outside.l(asked.get("l_model", "distinct")) >= asked["l"]
    if "beta" in asked:
        assert outside.beta <= asked["beta"]


@pytest.mark.parametrize(
    "asked", [{"l": 3}, {"t": 0.35}, {"method": "mondrian", "l": 2}, {"method": "mondrian", "t": 0.3}]
)
def test_several_sensitive_columns__each_meet_what_was_asked(asked):
    """Counted from outside; what one column alone leads to does not do for the other."""
    table = people(1500).append_column("job", pa.array(np.random.default_rng(5).choice(list("pqrs"), 1500)))
    usual = {"quasi": QUASI, "k": 5, "drop": ["name"], "keep": ["income"], **asked}
    made = fd.anonymize(table, sensitive=["ill", "job"], **usual)
    outside = fd.anonymity.classes(made.table, list(QUASI), ["ill", "job"])
    alone = fd.anonymize(table.drop_columns("job"), sensitive="ill", **usual)
    for name in ("ill", "job"):
        if "t" in asked:
            assert outside.t(sensitive=name) <= asked["t"] + 1e-9
        else:
            assert outside.l(sensitive=name) >= asked["l"]
    assert made.loss >= alone.loss - 1e-12
    assert made.certificate.to_dict()["sensitive"] == ["ill", "job"]
    assert made.classes.figures()["sensitive"].keys() == {"ill", "job"}


def test_rows__keep_their_order_and_their_other_columns():
    made, table = anonymize(suppress=0.0), people()
    for name in ("ill", "income"):
        assert made.table.column(name).to_pylist() == table.column(name).to_pylist()
    level = made.levels["age"]
    assert made.table.column("age").to_pylist() == AGE.generalize(table.column("age").to_pylist(), level)


def test_suppressed_rows__are_those_of_small_classes():
    made, table = anonymize(k=8, suppress=0.3), people()
    labels = {name: h.generalize(table.column(name).to_pylist(), made.levels[name]) for name, h in QUASI.items()}
    keys = list(zip(*(labels[name] for name in QUASI), strict=True))
    sizes = Counter(keys)
    kept = [income for key, income in zip(keys, table.column("income").to_pylist(), strict=True) if sizes[key] >= 8]
    assert 0 < made.suppressed == 600 - len(kept)
    assert made.table.column("income").to_pylist() == kept


@pytest.mark.parametrize("method", ["optimal", "mondrian"])
@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
def test_files__are_as_tables_with_the_certificate_beside(tmp_path, method, kind):
    source, output = tmp_path / f"in.{kind}", tmp_path / f"out.{kind}"
    if kind == "parquet":
        pq.write_table(people(), source, row_group_size=100)
    elif kind == "arrow":
        with pa.ipc.new_file(source, people().schema) as writer:
            writer.write_table(people(), max_chunksize=100)
    else:
        csv.write_csv(people(), source)
    table = people()
    if kind == "csv":  # which has text alone
        table = pa.table({name: table.column(name).cast(pa.string()) for name in table.column_names})
    made, expected = anonymize(source, method=method, output=output), anonymize(table, method=method)
    assert made.table is None
    readers = {"parquet": pq.read_table, "csv": csv.read_csv, "arrow": lambda path: pa.ipc.open_file(path).read_all()}
    read = readers[kind](output)
    for name in QUASI:
        assert read.column(name).cast(pa.string()).to_pylist() == expected.table.column(name).to_pylist()
    receipt = json.loads((tmp_path / f"out.{kind}.receipt.json").read_text())
    assert receipt["recount"]["k"] == made.classes.k == expected.classes.k
    assert receipt["rows"] == read.num_rows
    assert "canary" not in json.dumps(receipt)
    with pytest.raises(fd.OutputExistsError):
        anonymize(source, method=method, output=output)


def test_containers__come_back_as_they_came():
    frame = people().to_pandas()
    made = anonymize(frame)
    assert isinstance(made.table, pd.DataFrame)
    assert made.table["age"].tolist() == anonymize().table.column("age").to_pylist()
    made = anonymize(pl.from_arrow(people()))
    assert made.table["age"].to_list() == anonymize().table.column("age").to_pylist()
    columns = {name: people().column(name).to_pylist() for name in people().column_names}
    assert anonymize(columns).table["age"] == made.table["age"].to_list()


class TestDummies:
    def test_fill_classes_up_and_hide_among_them(self):
        made = anonymize(dummies=0.2, suppress=0.0, k=8)
        assert 0 < made.dummies <= 120
        assert made.suppressed == 0
        rows = made.table.to_pylist()
        assert rows == sorted(rows, key=lambda row: tuple(row.values()))  # no place gives a dummy away
        real = Counter(people().column("income").to_pylist())
        extra = Counter(row["income"] for row in rows) - real
        assert sum(extra.values()) == made.dummies
        assert set(extra) <= set(real)

    def test_cost_less_than_doing_without(self):
        assert anonymize(dummies=0.05, k=8).loss <= anonymize(k=8).loss

    def test_meet_nothing_but_k(self):
        with pytest.raises(fd.ParameterError, match="meet no other requirement"):
            anonymize(dummies=0.1, l=2)


class TestNulls:
    def table(self):
        table = people()
        ages = pa.array([None if i % 50 == 0 else v for i, v in enumerate(table.column("age").to_pylist())])
        return table.set_column(1, "age", ages)

    def test_are_refused(self):
        with pytest.raises(fd.DomainError, match="'age' holds missing values"):
            anonymize(self.table())

    @pytest.mark.parametrize("method", ["optimal", "mondrian"])
    def test_dropped(self, method):
        made = anonymize(self.table(), nulls="drop", method=method, suppress=0.0)
        assert (made.table.num_rows, made.certificate.dropped) == (588, 12)
        expected = [v for i, v in enumerate(people().column("income").to_pylist()) if i % 50]
        assert made.table.column("income").to_pylist() == expected

    @pytest.mark.parametrize("method", ["optimal", "mondrian"])
    def test_as_a_value(self, method):
        made = anonymize(self.table(), nulls="value", method=method)
        assert min(sizes_of(made.table).values()) >= 5

    def test_of_the_sensitive_column_dropped(self):
        table = people()
        ill = pa.array([None if i < 30 else v for i, v in enumerate(table.column("ill").to_pylist())])
        made = anonymize(table.set_column(4, "ill", ill), nulls="drop", suppress=0.0)
        assert made.table.num_rows == 570
        assert made.table.column("ill").null_count == 0


def test_mondrian__loses_less_than_one_level_for_all():
    assert anonymize(method="mondrian", quasi=list(QUASI)).loss < anonymize(suppress=0.0).loss


def test_mondrian__labels_are_ranges_that_hold_the_value():
    made, table = anonymize(method="mondrian", quasi=["age", "zip", "sex"]), people()
    for label, age in zip(made.table.column("age").to_pylist(), table.column("age").to_pylist(), strict=True):
        low, _, high = label.partition("..")
        assert int(low) <= age <= int(high or low)


def test_levels__never_lower_k():
    """A property of the lattice: a coarser node has no smaller classes."""
    table = people().select(["age", "zip", "sex"])
    before = 0
    for level in range(AGE.levels):
        ages = pa.array([str(v) for v in AGE.generalize(table.column("age").to_pylist(), level)])
        found = fd.anonymity.classes(table.set_column(0, "age", ages), ["age", "zip", "sex"]).k
        assert found >= before
        before = found


def test_recount__stops_a_wrong_output(monkeypatch, tmp_path):
    """A writer that forgets to suppress is found out, and nothing is left behind."""
    pq.write_table(people(), tmp_path / "in.parquet")
    monkeypatch.setattr(writing.np, "isin", lambda words, _left_out: np.zeros(words.size, bool))
    with pytest.raises(fd.InputCorruptError, match="recount of the output failed at k"):
        anonymize(tmp_path / "in.parquet", k=8, suppress=0.3, output=tmp_path / "out.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_input_that_changes__is_noticed(monkeypatch, tmp_path):
    pq.write_table(people(), tmp_path / "in.parquet")
    real = module.search

    def search(*given):
        pq.write_table(people(seed=2).set_column(1, "age", pa.array([99] * 600)), tmp_path / "in.parquet")
        return real(*given)

    monkeypatch.setattr(module, "search", search)
    with pytest.raises(fd.InputCorruptError, match="changed between its two readings"):
        anonymize(tmp_path / "in.parquet", output=tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_pruned__is_the_same_table(monkeypatch):
    whole = anonymize()
    monkeypatch.setattr(lattice.search, "__defaults__", (None, 10))
    pruned = anonymize()
    assert pruned.certificate.nodes["visited"] < whole.certificate.nodes["visited"]
    assert pruned.proven
    assert pruned.loss == pytest.approx(whole.loss)


@pytest.mark.parametrize(
    ("asked", "error", "match"),
    [
        ({"k": 601}, fd.ParameterError, "k is 601 and there are 600 rows"),
        ({"k": 0}, fd.ParameterError, "k must be an integer >= 1"),
        ({"l": 4}, fd.ParameterError, "l is 4 and column 'ill' has 3 distinct values"),
        ({"l": 2.9, "l_model": "entropy"}, fd.ParameterError, "entropy l is 2.9"),
        ({"t": 1.5}, fd.ParameterError, "t must be a number from 0 to 1"),
        ({"t": 0.1, "t_distance": "ordered"}, fd.ParameterError, "no order"),
        ({"alpha": 0.2}, fd.NotAchievableError, "not even the whole table"),
        ({"alpha": 0.2, "method": "mondrian"}, fd.NotAchievableError, "not even the whole table"),
        ({"l": 2, "sensitive": None, "keep": ["income", "ill"]}, fd.ParameterError, "about a sensitive column"),
        ({"suppress": 1.0}, fd.ParameterError, "suppress must be a share"),
        ({"drop": []}, fd.SchemaError, "say keep or drop for every other column: 'name'"),
        ({"drop": ["name", "age"]}, fd.SchemaError, "'age' is named twice"),
        ({"quasi": ["age"]}, fd.ParameterError, "a Hierarchy, or use method='mondrian'"),
        ({"quasi": {**QUASI, "zip": AGE, "agee": AGE}}, fd.SchemaError, "did you mean 'age'"),
        ({"quasi": {**QUASI, "sex": AGE}}, fd.ParameterError, "'sex'.*does not cover the column at level 1"),
        ({"loss": "dm"}, fd.ParameterError, "loss must be one of"),
        ({"c": 2.0}, fd.ParameterError, "c belongs to l"),
    ],
)
def test_errors__come_before_work_and_name_the_rule(asked, error, match):
    with pytest.raises(error, match=match) as caught:
        anonymize(**asked)
    assert "canary" not in str(caught.value)
