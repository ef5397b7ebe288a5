"""Classes against a naive reference: every container, direct and hashed, whole, streamed and merged."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastdp as fd
from fastdp.anonymity.coding import grouping, reading
from tests.anonymity.reference import figures, group, recursive

classes = fd.anonymity.classes
FIGURES = ("distinct_l", "entropy_l", "alpha", "t_equal", "t_ordered", "beta", "delta", "homogeneous", "guessed")
CELLS = st.one_of(st.integers(0, 3), st.sampled_from([2**40, 2**63 - 1, -(2**63)]))


def check(found, rows, secrets):
    expected = figures(rows, secrets)
    assert (found.k, found.count, found.unique) == (expected["k"], expected["classes"], expected["unique"])
    d = found.diversity()
    for name in FIGURES:
        if getattr(d, name) is not None:
            assert getattr(d, name) == pytest.approx(expected[name], rel=1e-9, abs=1e-12), name
    parts = group(rows, secrets).values()
    for l in (1, 2, 3):
        assert found.recursive(l) == pytest.approx(max(recursive(counts, l) for counts in parts))
    assert found.rows_below(3) == sum(sum(c.values()) for c in parts if sum(c.values()) < 3)


@given(st.lists(st.tuples(CELLS, CELLS, st.integers(-2, 2), st.sampled_from("xyz"), st.integers(0, 4)), min_size=1))
def test_classes__agree_with_the_reference(records):
    """Small and huge integers, text, and a sensitive column with gaps; direct or hashed as they come."""
    columns = [list(column) for column in zip(*records, strict=True)]
    table = {name: pa.array(column) for name, column in zip("abcds", columns, strict=True)}
    found = classes(table, list("abcd"), ["s"])
    check(found, [record[:4] for record in records], columns[4])
    sizes = [sum(counts.values()) for counts in group([r[:4] for r in records], columns[4]).values()]
    assert found.below(2).sum() == sizes.count(1)


def random_table(rows: int = 3000, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({
        "age": rng.integers(18, 90, rows).astype(np.int8),
        "zip": pa.array([f"6{z:04d}" for z in rng.integers(0, 30, rows)]),
        "big": rng.integers(0, 5, rows) * 2**50,
        "ill": pa.array(rng.choice(["flu", "HIV", "none"], rows, p=[0.5, 0.1, 0.4])),
        "score": rng.integers(0, 6, rows),
    })  # fmt: skip


QUASI = ["age", "zip", "big"]


@pytest.fixture
def expected():
    return classes(random_table(), QUASI, ["ill", "score"]).to_dict()


def same(found, expected):
    ours = found.to_dict()
    assert ours["sizes"] == expected["sizes"]
    for name in ("ill", "score"):
        for figure, value in expected["sensitive"][name].items():
            close = pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
            assert ours["sensitive"][name][figure] == close, figure


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.to_pandas(),
        lambda t: t.to_pandas().sample(frac=1, random_state=3),
        pl.from_arrow,
        lambda t: {name: t.column(name).to_pylist() for name in t.column_names},
        lambda t: t.to_batches()[0],
        lambda t: pa.concat_tables([t.slice(0, 7), t.slice(7, 0), t.slice(7)]),
        lambda t: pa.RecordBatchReader.from_batches(t.schema, t.to_batches(max_chunksize=100)),
        lambda t: t.set_column(1, "zip", t.column("zip").dictionary_encode()),
        lambda t: t.set_column(3, "ill", t.column("ill").cast(pa.large_string())),
    ],
    ids=["pandas", "permuted", "polars", "lists", "batch", "chunks", "stream", "dictionary", "large text"],
)
def test_containers__give_the_same_classes(make, expected):
    same(classes(make(random_table()), QUASI, ["ill", "score"]), expected)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "folder"])
def test_files__are_streamed(tmp_path, monkeypatch, expected, kind):
    monkeypatch.setattr(reading, "PENDING", 256)  # reduced many times on the way
    table = random_table()
    if kind == "parquet":
        source = tmp_path / "t.parquet"
        pq.write_table(table, source, row_group_size=97)
    elif kind == "arrow":
        source = tmp_path / "t.arrow"
        with pa.ipc.new_file(source, table.schema) as writer:
            writer.write_table(table, max_chunksize=97)
    else:
        source = tmp_path / "parts"
        source.mkdir()
        for i in range(3):
            pq.write_table(table.slice(1000 * i, 1000), source / f"{i}.parquet")
    found = classes(source, QUASI, ["ill", "score"])
    same(found, expected)
    with pytest.raises(fd.ParameterError, match="pass a table in memory"):
        found.below(2)


def test_parts__add_up(expected):
    table = random_table()
    parts = [classes(table.slice(a, b - a), QUASI, ["ill", "score"]) for a, b in ((0, 10), (10, 1500), (1500, 3000))]
    same(parts[0] + parts[1] + parts[2], expected)
    same(parts[2] + (parts[0] + parts[1]), expected)


@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_hashed__is_direct(monkeypatch, expected, limit):
    monkeypatch.setattr(grouping, "is_small", lambda cells, _rows: cells <= limit)
    same(classes(random_table(), QUASI, ["ill", "score"]), expected)


@pytest.mark.parametrize("late", [3, 200])
def test_bytes__beyond_those_of_the_first_rows_are_counted(late):
    """Sizes of columns of bytes are guessed from their first rows; a larger value after them changes nothing else."""
    rng = np.random.default_rng(2)
    table = {name: rng.integers(0, 3, 70_000).astype(np.uint8) for name in "abs"}
    table["a"][-1] = table["s"][-2] = late
    found = classes(table, ["a", "b"], ["s"])
    wide = classes({name: column.astype(np.int64) for name, column in table.items()}, ["a", "b"], ["s"])
    assert found.to_dict() == wide.to_dict()
    assert (found + found).k == 2 * wide.k
    assert np.array_equal(found.below(2), wide.below(2))
    assert found.below(2).sum() == 1


@pytest.mark.parametrize("columns", [1, 2, 3, 9])
def test_keys__of_any_size(columns):
    """Nine columns of 64 bits each: classes are numbered on the way."""
    rng = np.random.default_rng(columns)
    picks = rng.integers(0, 3, (columns, 500))
    values = rng.integers(-(2**62), 2**62, (columns, 3))
    table = {f"c{j}": values[j][picks[j]] for j in range(columns)}
    found = classes(table, list(table))
    counts = np.unique(picks, axis=1, return_counts=True)[1]
    assert (found.count, found.k) == (counts.size, counts.min())


class TestNulls:
    TABLE = pa.table({"q": ["a", "a", None, "b", None], "n": [1.0, 1.0, math.nan, 2.0, None], "s": [1, 2, None, 4, 5]})

    def test_are_refused_by_default(self):
        for names, column in ((["q"], "q"), (["n"], "n")):
            with pytest.raises(fd.DomainError, match=f"'{column}' holds missing values"):
                classes(self.TABLE, names)
        with pytest.raises(fd.DomainError, match="'s'"):
            classes({"q": list("aabbb"), "s": self.TABLE["s"]}, ["q"], ["s"])

    @pytest.mark.parametrize("streamed", [False, True])
    def test_as_a_value(self, streamed):
        source = self.TABLE.to_reader(max_chunksize=2) if streamed else self.TABLE
        found = classes(source, ["q", "n"], ["s"], nulls="value")
        assert dict(zip(*(a.tolist() for a in found.sizes), strict=True)) == {1: 1, 2: 2}  # NaN and null are one value
        assert found.diversity().values == 5

    @pytest.mark.parametrize("streamed", [False, True])
    def test_dropped(self, streamed):
        source = self.TABLE.to_reader(max_chunksize=2) if streamed else self.TABLE
        found = classes(source, ["q", "n"], ["s"], nulls="drop")
        assert (found.rows, found.dropped, found.k) == (3, 2, 1)
        if not streamed:
            assert found.below(2).tolist() == [False, False, False, True, False]

    def test_in_a_dictionary_or_in_runs(self):
        for array in (
            pa.DictionaryArray.from_arrays([0, 1, 0], pa.array([None, "x"])),
            pa.RunEndEncodedArray.from_arrays([2, 3], pa.array([None, "x"])),
        ):
            with pytest.raises(fd.DomainError, match="missing values"):
                classes(pa.table({"q": array}), ["q"])


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: classes({"q": [1]}, ["p"]), fd.SchemaError, "unknown column 'p'"),
        (lambda: classes({"q": [1]}, ["q", "q"]), fd.SchemaError, "named twice"),
        (lambda: classes({"q": [1]}, ["q"], ["q"]), fd.SchemaError, "named twice"),
        (lambda: classes({"q": [1]}, []), fd.ParameterError, "at least one column"),
        (lambda: classes({"q": []}, ["q"]), fd.ParameterError, "no rows"),
        (lambda: classes({"q": pa.array([[1]])}, ["q"]), fd.SchemaError, "cannot be compared"),
        (lambda: classes({"q": [1]}, ["q"], nulls="keep"), fd.ParameterError, "nulls must be one of"),
        (lambda: classes({"q": [1]}, ["q"]).l(), fd.ParameterError, "no sensitive column"),
        (lambda: classes({"q": [1], "s": ["x"]}, ["q"], ["s"]).t("ordered"), fd.ParameterError, "no order"),
        (lambda: classes({"q": [1], "s": ["x"]}, ["q"], ["s"]).l("recursive"), fd.ParameterError, "needs c"),
        (lambda: classes({"q": [1]}, ["q"]) + classes({"p": [1]}, ["p"]), fd.ParameterError, "same columns"),
        (lambda: classes({"q": [1]}, ["q"]).below(0), fd.ParameterError, "k must be an integer"),
    ],
)
def test_errors__name_the_rule(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_errors__hold_no_value():
    table = pa.table({"q": ["canary-7", None], "s": [1, 2]})
    with pytest.raises(fd.DomainError) as caught:
        classes(table, ["q"], ["s"])
    assert "canary" not in str(caught.value)


class TestRisk:
    def test_population__by_brute_force(self):
        rng = np.random.default_rng(4)
        people = rng.integers(0, 12, 400)
        sample = rng.choice(people, 90, replace=False)
        risk = classes({"q": sample}, ["q"]).risk({"q": people})
        f, F = np.bincount(sample, minlength=12), np.bincount(people, minlength=12)
        assert risk.prosecutor == 1 / f[f > 0].min()
        assert risk.journalist == 1 / F[f > 0].min()
        assert risk.marketer == pytest.approx((f / F).sum() / 90)
        assert risk.presence == (pytest.approx((f / F).min()), pytest.approx((f / F).max()))

    def test_population__must_contain_the_data(self):
        with pytest.raises(fd.DomainError, match="1 classes have more records than people"):
            classes({"q": [1, 1, 2]}, ["q"]).risk({"q": [1, 2]})

    def test_sampling_rate__gives_an_expectation(self):
        found = classes({"q": [1, 2, 2]}, ["q"])
        assert found.risk(sampling_rate=0.1).expected == pytest.approx((0.255843 + 2 * 0.082684) / 3, abs=1e-5)
        with pytest.raises(fd.ParameterError, match="sampling_rate"):
            found.risk(sampling_rate=1.5)


def test_threads__change_nothing(threads):
    table = random_table(200_000)
    results = []
    for count in (1, 3):
        threads(count)
        results.append(classes(table, QUASI, ["ill"]).to_dict())
    assert results[0] == results[1]


def test_text__is_short_and_shows_no_value():
    found = classes({"q": ["canary-1", "canary-2"], "s": ["canary-3", "canary-4"]}, ["q"], ["s"])
    assert len(str(found).splitlines()) <= 20
    assert "canary" not in str(found) + repr(found) + found._repr_html_() + str(found.to_dict())
    assert found.table().column_names == ["size", "classes", "rows"]
