"""Hierarchies: nested at every level, labels that hold their values, errors without them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastdp as fd
from fastdp.hierarchies import ANY, Hierarchy

TREE = {"Bonn": ["West", "Germany"], "Lyon": ["South", "France"], "Nice": ["South", "France"]}
CASES = [
    (Hierarchy.intervals(5, 10, 20), [0, 4, 5, 19, 20, -1, -7], 5),
    (Hierarchy.intervals(0.1, 0.2, 1.0), [0.1, 0.3, 0.55, -0.2, 0.7], 5),
    (Hierarchy.intervals(7, start=3), [2, 3, 9, 10], 3),
    (Hierarchy.prefix(4, 2), ["66123", "66200", "1"], 4),
    (Hierarchy.dates(), [date(1984, 3, 9), date(1984, 4, 1), date(1990, 1, 1)], 5),
    (Hierarchy.dates("quarter", "century"), ["1984-03-09", "2001-12-31"], 4),
    (Hierarchy.labels(TREE), list(TREE), 4),
    (Hierarchy.suppress(), [1, "x"], 2),
]


@pytest.mark.parametrize(("hierarchy", "values", "levels"), CASES)
def test_levels__begin_with_the_value_end_with_any_and_nest(hierarchy, values, levels):
    assert hierarchy.levels == levels
    labels = [hierarchy.generalize(values, level) for level in range(levels)]
    assert labels[0] == values
    assert set(labels[-1]) == {ANY}
    for lower, upper in zip(labels[1:], labels[2:], strict=False):
        for i, one in enumerate(lower):
            for j, two in enumerate(lower):
                assert one != two or upper[i] == upper[j]
    assert Hierarchy.from_dict(hierarchy.to_dict()).to_dict() == hierarchy.to_dict()
    assert all(hierarchy.generalize([None], level) == [None] for level in range(levels - 1))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.sampled_from([0.1, 0.3, 1.0]))
def test_intervals__nest_whatever_the_rounding(values, width):
    hierarchy = Hierarchy.intervals(width, 3 * width, 12 * width)
    fine, coarse = hierarchy.generalize(values, 1), hierarchy.generalize(values, 2)
    assert len(set(zip(fine, coarse, strict=True))) == len(set(fine))


def test_intervals__of_one_column_have_one_form():
    """A fraction among whole numbers: equal intervals must have equal labels."""
    assert Hierarchy.intervals(5).generalize([20, 21.5], 1) == ["[20, 25)"] * 2
    assert Hierarchy.intervals(5).generalize(["20", "21"], 1) == ["20-24"] * 2


def test_dates__of_all_units():
    day = date(1984, 8, 9)
    names = ["1984-08-09", "1984-08", "1984-Q3", "1984", "1980s", "1900s"]
    units = ("day", "month", "quarter", "year", "decade", "century")
    assert [Hierarchy.dates(unit).generalize([day], 1)[0] for unit in units] == names


@pytest.mark.parametrize(("text", "separator"), [("1;0-4;*\n2;0-4;*\n7;5-9;*\n", ";"), ("1,0-4\n2,0-4\n7,5-9\n", ",")])
def test_file__is_a_tree(tmp_path, text, separator):
    (tmp_path / "h.csv").write_text(text)
    hierarchy = Hierarchy.load(tmp_path / "h.csv")
    assert hierarchy.levels == 3
    assert hierarchy.generalize([1, 2.0, "7"], 1) == ["0-4", "0-4", "5-9"]
    assert Hierarchy.from_dict({"file": "h.csv"}, folder=tmp_path) == hierarchy


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (Hierarchy.intervals, "at least one width"),
        (lambda: Hierarchy.intervals(5, 12), "multiple of the one before"),
        (lambda: Hierarchy.intervals(-1), "width must be a finite number > 0"),
        (lambda: Hierarchy.prefix(2, 3), "smaller than the one before"),
        (lambda: Hierarchy.dates("year", "month"), "longer than the one before"),
        (lambda: Hierarchy.dates("week"), "unit must be one of"),
        (lambda: Hierarchy.labels({"a": ["x", "u"], "b": ["x", "v"]}), "not nested: .* level 1 and not at 2"),
        (lambda: Hierarchy.labels({"a": ["x"], "b": ["x", "v"]}), "as many labels"),
        (lambda: Hierarchy.from_dict({"interval": [5]}), "did you mean 'intervals'"),
        (lambda: Hierarchy.from_dict({"prefix": [3], "start": 1}), "start belongs to intervals"),
        (lambda: Hierarchy.suppress().generalize([1], 2), "level must be from 0 to 1"),
        (lambda: Hierarchy.labels(TREE).generalize(["canary"], 1), "does not cover the column at level 1"),
        (lambda: Hierarchy.intervals(5).generalize(["canary"], 1), "does not cover"),
        (lambda: Hierarchy.dates().generalize(["canary"], 1), "does not cover"),
    ],
)
def test_errors__name_the_level_and_never_a_value(make, match):
    with pytest.raises(fd.ParameterError, match=match) as caught:
        make()
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "a\n", "a;b\nc;d;e\n", "a;b\na;c\n"])
def test_file__that_is_no_tree_is_refused(tmp_path, text):
    (tmp_path / "h.csv").write_text(text)
    with pytest.raises(fd.InputCorruptError):
        Hierarchy.load(tmp_path / "h.csv")
