"""Seven ways to get anonymity wrong, each seen in pycanon 1.3.5, and what is right."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import fastdp as fd

classes = fd.anonymity.classes


@pytest.mark.parametrize("m", range(2, 12))
def test_1_entropy_of_m_equal_values__is_m_and_not_m_minus_1(m):
    """The integer part of 1.9999... is 1."""
    found = classes({"q": [0] * m, "s": list(range(m))}, ["q"], ["s"])
    assert found.l("entropy") == m


def test_2_recursive__has_the_most_frequent_value_first():
    """Sorted the other way, 9 and 1 would pass with c = 1."""
    found = classes({"q": [0] * 10, "s": ["x"] * 9 + ["y"]}, ["q"], ["s"])
    assert found.recursive(2) == 9
    assert found.l("recursive", c=1.5) < 2


@pytest.mark.parametrize("index", [[3, 2, 1, 0], [10, 20, 30, 40], [0, 2, 1, 3], [7, 7, 7, 7]])
def test_3_row_labels__are_no_positions(index):
    frame = pd.DataFrame({"q": ["a", "a", "b", "b"], "s": ["x", "y", "x", "x"]}, index=index)
    found = classes(frame, ["q"], ["s"])
    assert (found.k, found.l()) == (2, 1)
    assert found.below(3).tolist() == [True] * 4


def test_4_rows_with_a_missing_quasi_identifier__do_not_vanish():
    table = pd.DataFrame({"q": ["a", "a", "b", "b", None], "s": list("xyxyz")})
    with pytest.raises(fd.DomainError, match="'q' holds missing values"):
        classes(table, ["q"])
    assert classes(table, ["q"], nulls="value").k == 1
    dropped = classes(table, ["q"], nulls="drop")
    assert (dropped.k, dropped.rows, dropped.dropped) == (2, 4, 1)


def test_5_delta_disclosure__is_infinite_where_a_value_is_missing():
    table = {"q": ["a"] * 4 + ["b"] * 4, "s": ["x"] * 4 + ["x", "y", "y", "y"]}
    found = classes(table, ["q"], ["s"])
    assert found.delta == math.inf
    # x in class b falls from 5/8 to 1/4, the largest finite change
    assert found.diversity().finite_delta == pytest.approx(math.log(2.5))


def test_6_average_risk__is_over_records_and_not_over_classes():
    found = classes({"q": [0] + [1] * 9}, ["q"])
    assert found.risk().mean == pytest.approx(0.2)  # and not (1 + 1/9) / 2
    assert found.risk().prosecutor == 1


def test_7_many_classes__are_counted():
    """1e5 rows in 41,824 classes were not done in two minutes; every figure is checked against numpy here."""
    rng = np.random.default_rng(2)
    keys, secrets = rng.integers(0, 60_000, 100_000), rng.integers(0, 8, 100_000)
    found = classes({"q": keys, "s": secrets}, ["q"], ["s"])
    counts = np.zeros((60_000, 8))
    np.add.at(counts, (keys, secrets), 1)
    counts = counts[counts.any(axis=1)]
    share = counts / counts.sum(axis=1, keepdims=True)
    whole = counts.sum(axis=0) / 100_000
    assert found.count == len(counts)
    assert found.l() == (counts > 0).sum(axis=1).min()
    assert found.t() == pytest.approx(np.abs(share - whole).sum(axis=1).max() / 2)
    ordered = np.abs(np.cumsum(share - whole, axis=1)).sum(axis=1).max() / 7
    assert found.t("ordered") == pytest.approx(ordered)
