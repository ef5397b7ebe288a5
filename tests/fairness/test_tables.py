"""Tables: against a naive count, from every container, in batches, of several classes, with weights."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.fairness.tally import ROWS

RATE_OF = {
    "selection": lambda y, r: r, "base": lambda y, r: y, "accuracy": lambda y, r: y == r,
}  # fmt: skip


def people(rows=2000, seed=1):
    source = np.random.default_rng(seed)
    race, sex = source.choice(["a", "b", "c"], rows), source.choice(["f", "m"], rows)
    label = (source.random(rows) < 0.3 + 0.2 * (race == "a")).astype(np.int64)
    decision = np.where(source.random(rows) < 0.7, label, source.integers(0, 2, rows))
    return {"race": race, "sex": sex, "y": label, "r": decision, "income": source.integers(0, 3, rows)}


def build(data, **more):
    return fd.fairness.table(
        y_true=data["y"], y_pred=data["r"], sensitive={"race": data["race"], "sex": data["sex"]}, **more
    )


def test_counts__are_those_of_a_loop():
    data = people()
    found = build(data, given=data["income"])
    naive = Counter(zip(data["race"], data["sex"], data["income"].tolist(), data["y"], data["r"], strict=True))
    for place in np.ndindex(found.tally.counts.shape):
        key = tuple(axis[i] for axis, i in zip(found.tally.values, place, strict=True))
        assert found.tally.counts[place] == naive[key]
    assert found.rows == 2000


@pytest.mark.parametrize("rows", [ROWS - 1, ROWS + 1, 2 * ROWS + 5])
def test_counts__do_not_depend_on_blocks(rows):
    source = np.random.default_rng(rows)
    a, y, r = (source.integers(0, k, rows).astype(np.uint8) for k in (6, 2, 2))
    found = fd.fairness.table(y_true=y, y_pred=r, sensitive={"a": a})
    assert np.array_equal(found.cells.ravel(), np.bincount(a.astype(int) * 4 + y * 2 + r, minlength=24))


def test_counts__of_bytes_that_first_rows_do_not_have():
    """The number of codes is guessed from the first rows; more are found while they are counted."""
    rows = 2 * ROWS + 3
    a, y, r = np.zeros(rows, np.uint8), np.zeros(rows, np.uint8), np.zeros(rows, np.uint8)
    a[-1], y[-2], r[ROWS + 1] = 9, 1, 1
    score = np.arange(rows) % 7
    found = fd.fairness.table(y_true=y, y_pred=r, sensitive={"a": a}, score=score)
    assert found.groups == ((0,), (9,))
    assert found.cells.tolist() == [[[rows - 3, 1], [1, 0]], [[1, 0], [0, 0]]]
    assert found.scores.cells()[0, 1].tolist() == np.eye(7)[(rows - 2) % 7].tolist()


@pytest.mark.parametrize("groups", [1, 6, 32, 33, 70])
@pytest.mark.parametrize("classes", [2, 3])
def test_counts__of_words_and_of_cells_agree(groups, classes):
    """Truth values of at most 32 groups are counted 64 rows at once, all else cell by cell."""
    source = np.random.default_rng(groups)
    a, b, y, r = (source.integers(0, k, 10_001).astype(np.uint8) for k in (groups, 2, classes, classes))
    found = fd.fairness.table(y_true=y, y_pred=r, sensitive={"a": a, "b": b}, positive=1)
    due = np.bincount(((a.astype(int) * 2 + b) * classes + y) * classes + r, minlength=2 * groups * classes**2)
    assert np.array_equal(found.tally.counts.ravel(), due)
    one = fd.fairness.table(y_true=y, y_pred=r, sensitive={"a": a}, positive=1)
    assert np.array_equal(one.tally.counts, found.by("a").tally.counts)


@pytest.mark.parametrize(
    "wrap",
    [
        list, tuple, pa.array, lambda v: pa.chunked_array([pa.array(v[:7]), pa.array(v[7:])]),
        lambda v: pd.Series(v, index=np.arange(len(v))[::-1]), pl.Series, lambda v: pa.array(v).dictionary_encode(),
        lambda v: pd.Series(v).astype("category"), lambda v: np.asarray(v, object),
    ],
)  # fmt: skip
def test_containers__give_the_same_table(wrap):
    data = people(300)
    wrapped = {name: wrap(values.tolist()) for name, values in data.items()}
    assert np.array_equal(build(wrapped).tally.counts, build(data).tally.counts)
    assert build(wrapped).groups == build(data).groups


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int16, np.float64])
def test_labels__of_any_type_of_truth(kind):
    data = people(300)
    assert np.array_equal(
        build(data | {"y": data["y"].astype(kind), "r": data["r"].astype(kind)}).cells, build(data).cells
    )


def test_batches__add_up():
    """Also where a batch lacks a value; a mutant that aligns by position is found out."""
    data = people(900)
    order = np.argsort(data["race"], kind="stable")
    parts = [{name: values[part] for name, values in data.items()} for part in np.array_split(order, 5)]
    assert len({part["race"].tobytes() for part in parts}) > 1
    total = build(parts[0])
    for part in parts[1:]:
        total += build(part)
    assert np.array_equal(total.tally.counts, build(data).tally.counts)
    assert total.groups == build(data).groups


def test_batches__of_which_one_has_no_positives_or_more_classes():
    data = {"race": ["a", "b"], "sex": ["f", "m"], "r": [0, 0], "y": [0, 0]}
    one, two, three = (build(data | {"y": y}, score=[0.1, 0.2]) for y in ([0, 0], [0, 1], [1, 1]))
    assert (one + two + three).cells.sum(axis=0).tolist() == [[3, 0], [3, 0]]
    assert (build(data) + build(data | {"y": [0, 2]})).positive is None


@pytest.mark.parametrize("kind", ["few", "many", "many more later", "far apart"])
def test_scores__of_batches_add_up_however_they_are_cut(kind):
    """The bins of all rows, exactly; a mutant of another width is found out."""
    source = np.random.default_rng(2)
    data, score = people(6000), source.normal(size=6000)
    score = {
        "few": np.round(score, 1), "many": score,
        "many more later": np.where(np.arange(6000) < 3000, np.round(score, 1), score * 40),
        "far apart": score + 1e9 * (np.arange(6000) % 2),
    }[kind]  # fmt: skip
    whole = build(data, score=score)
    for cuts in ([10, 3000], [1500, 1501, 4000]):
        parts = np.split(np.arange(6000), cuts)
        tables = [build({k: v[p] for k, v in data.items()}, score=score[p]) for p in parts]
        total = sum(tables[1:], tables[0])
        assert total.scores.width == whole.scores.width
        assert np.array_equal(total.scores.edges, whole.scores.edges)
        assert np.array_equal(total.scores.tally.counts, whole.scores.tally.counts)
    assert (whole.scores.width is None) == (kind == "few")
    if whole.scores.width:
        low, high, width = score.min(), score.max(), whole.scores.width
        assert np.floor(high / width) - np.floor(low / width) < 1024 <= 2 * (high - low) / width + 4


def test_scores__in_fewer_bins_hold_the_same_rows():
    data, score = people(3000), np.random.default_rng(6).normal(size=3000)
    found = build(data, score=score).by("sex").scores
    few = found.at_most(100)
    assert 25 < few.edges.size <= 100
    assert few.cells().sum(axis=2) == pytest.approx(found.cells().sum(axis=2))
    due = np.histogram(score[data["sex"] == "f"], np.append(few.edges, few.edges[-1] + few.width))[0]
    assert np.array_equal(few.cells()[0].sum(axis=0), due)
    assert found.at_most(2000) is found


def test_calibration__of_many_scores_is_in_ten_bins_of_one_size():
    source = np.random.default_rng(5)
    data, score = people(6000), source.random(6000)
    found = build(data, score=score).by("sex").calibration()
    assert found.values.shape == (2, 10)
    sizes = found.sizes.sum(axis=0)
    assert sizes.sum() == 6000
    assert sizes == pytest.approx(np.full(10, 600), abs=30)
    first = score < np.sort(score)[int(sizes[0])]
    assert found.values[0, 0] == pytest.approx(data["y"][first & (data["sex"] == "f")].mean())
    assert build(data, score=score).by("sex").calibration(bins=4).values.shape == (2, 4)


def test_attributes__are_summed_over():
    data = people()
    found = build(data)
    alone = fd.fairness.table(y_true=data["y"], y_pred=data["r"], sensitive={"sex": data["sex"]})
    assert np.array_equal(found.by("sex").cells, alone.cells)
    assert found.by("sex", "race").groups == tuple((s, r) for s in "fm" for r in "abc")
    assert found.by("sex", "race").rates("fpr")["m", "a"] == found.rates("fpr")["a", "m"]


@pytest.mark.parametrize("name", RATE_OF)
def test_rates__are_means_within_groups(name):
    data = people()
    for group, value in zip(build(data).groups, build(data).rates(name).values, strict=True):
        here = (data["race"] == group[0]) & (data["sex"] == group[1])
        assert value == pytest.approx(RATE_OF[name](data["y"], data["r"])[here].mean())


def test_classes__one_against_the_rest():
    labels, decisions = ["cat", "dog", "owl", "dog"], ["cat", "owl", "owl", "dog"]
    found = fd.fairness.table(y_true=labels, y_pred=decisions, sensitive={"g": [0, 0, 0, 0]})
    with pytest.raises(fd.ParameterError, match="positive="):
        found.rates("tpr")
    assert found.one_vs_rest("dog").cells.tolist() == [[[2, 0], [1, 1]]]
    assert found.one_vs_rest("owl").cells.tolist() == [[[2, 1], [0, 1]]]
    with pytest.raises(fd.ParameterError, match="one of the labels"):
        found.one_vs_rest("fox")
    with pytest.raises(fd.ParameterError, match="one of the labels"):
        fd.fairness.table(y_true=labels, y_pred=decisions, sensitive={"g": [0, 0, 0, 0]}, positive="fox")
    again = fd.fairness.table(y_true=labels, y_pred=decisions, sensitive={"g": [0, 0, 0, 0]}, positive="owl")
    assert np.array_equal(again.cells, found.one_vs_rest("owl").cells)


def test_weights__of_one_value_change_no_rate_and_no_interval():
    data = people(500)
    plain, weighted = build(data), build(data, weights=np.full(500, 3.0))
    for name in ("tpr", "ppv", "selection"):
        assert weighted.rates(name).values == pytest.approx(plain.rates(name).values)
        assert weighted.rates(name).low == pytest.approx(plain.rates(name).low)
        assert weighted.gap(name).high == pytest.approx(plain.gap(name).high)
    assert weighted.criteria()[0].p_value == pytest.approx(plain.criteria()[0].p_value)


def test_weights__that_differ_widen_intervals():
    data, weights = people(500), np.random.default_rng(2).exponential(size=500)
    assert build(data, weights=weights).gap("selection").high > build(data).gap("selection").high


def test_bootstrap__is_near_wilson():
    found = build(people())
    drawn, wilson = found.bootstrap("selection"), found.rates("selection")
    assert drawn["low"] == pytest.approx(wilson.low, abs=0.02)
    assert drawn["high"] == pytest.approx(wilson.high, abs=0.02)


def test_given__compares_within_strata():
    """Simpson's paradox: a gap over all that no stratum has."""
    sizes = {("a", 0): (80, 20), ("a", 1): (20, 16), ("b", 0): (20, 5), ("b", 1): (80, 64)}
    rows = [(g, s, int(i < chosen)) for (g, s), (n, chosen) in sizes.items() for i in range(n)]
    group, stratum, decision = (np.array(column) for column in zip(*rows, strict=True))
    found = fd.fairness.table(y_true=decision, y_pred=decision, sensitive={"g": group}, given=stratum)
    parts = {criterion.name: criterion for criterion in found.criteria()}
    assert parts["independence"].verdict == "violated"
    assert parts["conditional_parity"].contrasts[0].value == pytest.approx(0, abs=1e-12)
    assert parts["conditional_parity"].p_value == pytest.approx(1)
    assert parts["independence"].p_value < 1e-5


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"y": [1, None, 0]}, fd.DomainError, "y_true holds nulls"),
        ({"race": ["a", "b"]}, fd.SchemaError, "different lengths"),
        ({"r": [0.5, float("nan"), 1]}, fd.DomainError, "NaN"),
        ({"y": [[1], [0], [1]]}, fd.SchemaError, "one dimension"),
    ],
)
def test_errors__name_the_column_and_no_value(change, error, said):
    data = {"y": [1, 0, 1], "r": [1, 0, 0], "race": ["SECRET", "b", "c"], "sex": ["f", "m", "f"]} | change
    with pytest.raises(error, match=said) as raised:
        build(data)
    assert "SECRET" not in str(raised.value)


def test_attribute__that_is_unknown_names_the_nearest():
    with pytest.raises(fd.ParameterError, match="did you mean 'race'"):
        build(people(10)).by("rcae")
    with pytest.raises(fd.ParameterError, match="did you mean 'selection'"):
        build(people(10)).rates("selecton")
    with pytest.raises(fd.ParameterError, match="dict of columns"):
        fd.fairness.table(y_true=[1], y_pred=[1], sensitive=["a"])
    with pytest.raises(fd.ParameterError, match="no rows"):
        fd.fairness.table(y_true=[], y_pred=[], sensitive={"a": []})
