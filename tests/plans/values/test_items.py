"""Lists of bounded length: which elements are taken, what they cost together, and estimates of them."""

from __future__ import annotations

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

import fastdp as fd
from fastdp.plans.guarantee import describe_guarantee
from fastdp.plans.plan import Plan
from fastdp.plans.values.items import first_items
from tests.statements.exact import DIGITS
from tests.statements.test_plans import exact_of

LABELS = {"mechanism": "krr", "epsilon": 6.0, "domain": ["a", "b", "none"], "nulls": "category", "null_label": "none"}
NUMBERS = {"mechanism": "laplace", "epsilon": 6.0, "bounds": [0, 10], "nulls": 5}
LISTS = [["a", "b", "a", "b"], [], None, ["b"], ["a", None]]


def plan_of(**entry):
    return Plan(columns={"x": entry})


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.large_list(pa.string())])
def test_first_items__fill_up_with_nulls(kind):
    column = pa.array([["z"], *LISTS, ["z"]], kind).slice(1, 5)
    assert first_items(column, 2).to_pylist() == ["a", "b", None, None, None, None, "b", None, "a", None]
    fixed = pa.array([[1, 2, 3], [4, 5, 6]], pa.list_(pa.int8(), 3))
    assert first_items(fixed, 2).to_pylist() == [1, 2, 4, 5]


@pytest.mark.parametrize("length", [1, 3, 7])
@pytest.mark.parametrize("entry", [LABELS, NUMBERS, NUMBERS | {"mechanism": "piecewise"}])
def test_elements__cost_epsilon_together(length, entry):
    """The sum over all elements, from the integers of the sampler, is at most what is stated and asked for."""
    plan = plan_of(items=length, **entry)
    part = plan.columns["x"]
    with mpmath.workdps(DIGITS):
        assert length * exact_of(part.mechanism).epsilon <= mpmath.mpf(plan.privacy.record.epsilon)
    assert 6.0 * (1 - 1e-6) < plan.privacy.record.epsilon <= 6.0 * (1 + 1e-12)
    assert len(plan.losses()) == length * len(part.mechanism.losses())
    assert describe_guarantee(plan)["columns"]["x"]["epsilon"] == plan.privacy.record.epsilon


def test_reports__are_independent_draws_of_each_place():
    """Every place of every list follows the channel, and two places of a list do not know of one another."""
    plan = plan_of(items=2, **LABELS | {"epsilon": 2.0})
    table = pa.table({"x": pa.array([["a", "a"], ["b"]] * 40_000)})
    found = fd.sanitize(table, plan, rng=fd.Rng.unsafe_seed(1))["x"].combine_chunks().flatten()
    pairs = np.array([*map(["a", "b", "none"].index, found.to_pylist())]).reshape(-1, 4)
    channel = plan.columns["x"].mechanism.channel().dense()
    for place, truth in enumerate((0, 0, 1, 2)):
        assert chisquare(np.bincount(pairs[:, place], minlength=3), 40_000 * channel[truth]).pvalue > 1e-4
    both = np.bincount(3 * pairs[:, 0] + pairs[:, 1], minlength=9)
    assert chisquare(both, 40_000 * np.outer(channel[0], channel[0]).ravel()).pvalue > 1e-4
    mutant = np.bincount(4 * pairs[:, 0], minlength=9)  # one draw for the whole list
    assert chisquare(mutant, 40_000 * np.outer(channel[0], channel[0]).ravel()).pvalue < 1e-9


def test_release__is_a_list_and_is_estimated(tmp_path):
    source = np.random.default_rng(3)
    lists = [["ab"[i] for i in source.integers(0, 2, k)] for k in source.integers(0, 5, 20_000)]
    fd.sanitize(pa.table({"x": lists}), plan_of(items=3, **LABELS), tmp_path / "o.parquet", rng=fd.Rng.unsafe_seed(2))
    private = fd.estimate_table(tmp_path / "o.parquet")
    filled = np.array([(one + ["none"] * 3)[:3] for one in lists]).ravel()
    assert private["x"].reports == 60_000
    for line in private["x"].lines:
        truth = (filled == line.value).mean()
        assert abs(line.estimate - truth) <= 2.5 * (line.high - line.low) / 2
    numbers = pa.table({"x": [[2.0, 4.0], [], [6.0]] * 3000})
    made = fd.sanitize(numbers, plan_of(items=2, **NUMBERS), rng=fd.Rng.unsafe_seed(4))
    assert made.schema.field("x").type == pa.list_(pa.float64(), 2)
    (line,) = fd.estimate_table(made)["x"].lines
    assert abs(line.estimate - (2 + 4 + 5 + 5 + 6 + 5) / 6) <= 2.5 * (line.high - line.low) / 2


def test_batches__do_not_matter():
    plan, table = plan_of(items=2, **LABELS), pa.table({"x": pa.array([*LISTS[:4], ["a"]] * 500)})
    found = [fd.sanitize(table, plan, rng=fd.Rng.unsafe_seed(5), batch_rows=rows) for rows in (None, 7)]
    assert found[0]["x"].to_pylist() == found[1]["x"].to_pylist()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"items": 0}, "from 1 to 64"),
        ({"items": 65}, "from 1 to 64"),
        ({"items": True}, "from 1 to 64"),
        ({"items": "two"}, '"one" or a number'),
        ({"items": 3, "nulls": "error"}, "shows how long lists are"),
        ({"items": 3, "nulls": "drop"}, "shows how long lists are"),
        ({"items": 3, "unit": 1.0}, "epsilon alone"),
        ({"items": 3, "null_share": True}, "epsilon alone"),
    ],
)
def test_contradictions__are_refused(changes, said):
    with pytest.raises(fd.ParameterError, match=said):
        plan_of(**NUMBERS | changes)
