"""Proxies: guesses on rows that were not fitted on, with intervals that cover."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.fairness.proxies import balanced_accuracy, cramers_v
from fastdp.fairness.training.suppression import suppress_proxies
from tests.fairness.data import compas, needs_data


def people(rows=4000, seed=1):
    source = np.random.default_rng(seed)
    sex = source.integers(0, 2, rows)
    return sex, {
        "height": 165 + 13 * sex + source.normal(0, 7, rows), "job": np.where(source.random(rows) < 0.8, sex, 1 - sex),
        "coin": source.integers(0, 2, rows), "noise": source.normal(size=rows),
    }  # fmt: skip


def test_columns__tell_as_much_as_they_do():
    """A normal shift of 13 at 7: Phi(13/14) = 0.8235; the job is right in 80 %; noise in half."""
    sex, columns = people()
    found = fd.fairness.proxies(columns, sex, name="sex")
    assert [proxy.name for proxy in found.columns][:2] == ["height", "job"]
    assert found["height"].low <= 0.8235 <= found["height"].high
    assert found["job"].low <= 0.8 <= found["job"].high
    for name in ("coin", "noise"):
        assert found[name].low <= 0.5 <= found[name].high
        assert found[name].association < 0.1
    assert found.together.accuracy > found["height"].accuracy + 0.03
    assert found["job"].association == pytest.approx(0.6, abs=0.05)
    assert found["job"].p_value < 1e-9
    assert "all together" in str(found)


def test_guess__of_fitted_rows_would_be_too_good():
    """The mutant: a column of values that no two rows share tells everything about them, and nothing about others."""
    source = np.random.default_rng(2)
    sex = source.integers(0, 2, 120)
    name = np.arange(120).astype(str)
    found = fd.fairness.proxies({"name": name}, sex)
    assert found["name"].accuracy < 0.7


def test_interval__covers():
    """The mean of two groups' shares, 500 runs, at least 95 % less four standard errors."""
    source, hits = np.random.default_rng(3), 0
    truth = np.repeat([0, 1], [30, 200])
    for _ in range(500):
        right = source.random(230) < np.where(truth == 0, 0.7, 0.9)
        _, low, high = balanced_accuracy(truth, np.where(right, truth, 1 - truth), 2, 0.95)
        hits += low <= 0.8 <= high
    assert hits / 500 >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 500)


def test_association__is_cramers():
    assert cramers_v(np.array([[500.0, 0], [0, 500]])) == pytest.approx(1, abs=1e-6)
    assert cramers_v(np.array([[250.0, 250], [250, 250]])) == 0
    assert cramers_v(np.array([[10.0, 20]])) == 0


@pytest.mark.parametrize("wrap", [list, pa.array, pd.Series, pl.Series])
def test_containers__give_the_same(wrap):
    sex, columns = people(300)
    texts = columns | {"city": np.array(["x", "y", "z"])[np.arange(300) % 3]}
    due = fd.fairness.proxies(texts, sex).to_dict()
    found = fd.fairness.proxies({n: wrap(v.tolist()) for n, v in texts.items()}, wrap(sex.tolist())).to_dict()
    assert found == due


@pytest.mark.parametrize(
    ("columns", "attribute", "said"),
    [
        ({"a": [1, 2, 3, 4]}, [0, 0, 0, 0], "one value only"), ({"a": [1, 2]}, [0, 0, 1, 1], "2 rows"),
        ({"a": [1, 2, 3]}, [0, 0, 1], "one row only"), ({}, [0, 0, 1, 1], "dict of columns"),
        ({"a": [1.0, None, 2.0, 1.0]}, [0, 0, 1, 1], "holds nulls"),
    ],
)  # fmt: skip
def test_errors__name_the_column(columns, attribute, said):
    with pytest.raises((fd.ParameterError, fd.DomainError), match=said):
        fd.fairness.proxies(columns, attribute)


def test_suppression__leaves_what_does_not_tell():
    sex, columns = people()
    found = suppress_proxies(columns, sex, most=0.55)
    assert found.kept == ("coin", "noise")
    assert found.removed == ("height", "job")
    assert found.before.together.accuracy > 0.8
    assert found.after.together.low <= 0.5 <= found.after.together.high
    assert suppress_proxies({"height": columns["height"]}, sex, most=0.55).after is None
    with pytest.raises(fd.ParameterError, match="above chance"):
        suppress_proxies(columns, sex, most=0.5)


@needs_data
def test_compas__tells_race_without_race():
    """Unawareness does not make a score blind: age, sex and the decile tell race better than chance."""
    data = compas()
    both = np.isin(data["race"], ["African-American", "Caucasian"])
    columns = {name: data[name][both] for name in ("sex", "score", "label")}
    found = fd.fairness.proxies(columns, data["race"][both], name="race")
    assert found.together.low > 0.55
    assert found.columns[0].name == "score"
