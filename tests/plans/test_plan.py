"""Plans: what they accept, what they promise, and what they refuse."""

from __future__ import annotations

import pickle
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from fastdp.errors import ParameterError, SchemaError
from fastdp.plans.column_group import GROUPS
from fastdp.plans.explain import explain
from fastdp.plans.plan import Plan
from fastdp.plans.spec import MECHANISMS
from fastdp.random import Rng
from fastdp.tables.sanitize import sanitize
from tests.tables.people import COLUMNS, PLAN


def one(**entry):
    return Plan(columns={"x": entry})


def test_plan__is_the_same_from_python_and_toml(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    assert Plan.load(tmp_path / "plan.toml").to_dict() == Plan(columns=COLUMNS).to_dict()


def test_plan__is_frozen_and_pickles():
    plan = Plan(columns=COLUMNS)
    with pytest.raises(AttributeError):
        plan.columns = {}
    with pytest.raises(TypeError):
        plan.columns["name"] = "keep"
    assert pickle.loads(pickle.dumps(plan)).to_dict() == plan.to_dict()


def test_bounds_alone__hide_the_record():
    """Any two values within the bounds are neighbours, so the sensitivity is the width."""
    entry = one(mechanism="laplace", epsilon=1.0, bounds=[-10, 30]).columns["x"]
    assert entry.mechanism.sensitivity == 40
    assert entry.privacy.unit == "record"
    assert entry.privacy.neighbours == "replace"


def test_bounds_alone__width_is_rounded_up():
    entry = one(mechanism="laplace", epsilon=1.0, bounds=[-1e-20, 1.0]).columns["x"]
    assert Fraction(entry.mechanism.sensitivity) >= Fraction(1.0) + Fraction(1e-20)


def test_unit__is_metric_and_says_so():
    plan = one(mechanism="geometric", epsilon=0.5, bounds=[0, 120], unit=5)
    assert plan.columns["x"].mechanism.sensitivity == 5
    assert plan.privacy.record is None
    assert plan.privacy.metric["x"].unit == "distance 5"


def test_total__is_the_sum_rounded_up_and_leaves_metric_columns_out():
    plan = Plan(columns=COLUMNS)
    parts = [plan.columns[name].privacy.epsilon for name in ("disease", "income", "ill")]
    assert Fraction(plan.privacy.record.epsilon) >= sum(map(Fraction, parts))
    assert plan.privacy.record.epsilon == pytest.approx(3.5)
    assert list(plan.privacy.metric) == ["age"]


def test_total__of_rho_and_pure_columns_is_a_rho():
    noisy = {"mechanism": "gaussian", "rho": 0.5, "bounds": [0, 1]}
    record = Plan(columns={"a": noisy, "b": {"mechanism": "randomized_response", "epsilon": 1.0}}).privacy.record
    assert record.epsilon is None
    assert record.rho == pytest.approx(1.0)


LINE = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
KEYS = {
    "bounds": [0, 10], "domain": ["a", "b", "c"], "shape": [1, 3], "distance": LINE, "prior": [1, 2, 1],
    "epsilon": 1.0, "beta": 0.5, "bits": 8, "cohorts": 4,
}  # fmt: skip


def entry_of(name: str) -> dict:
    """Everything that a mechanism needs, and a value for each key that it may have."""
    spec = MECHANISMS[name]
    keys = {key: KEYS[key] for key in (*spec.keys, *spec.declared) if key in KEYS}
    keys |= {"bounds": [0, 10]} if spec.takes == "numbers" else {}
    return {"mechanism": name, **keys} | ({"delta": 1e-6} if "gaussian" in name else {})


VALUES = {"categories": ["a", "c", None], "truths": [True, False, None], "codes": [0, 2, None]}


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_mechanisms__all_work_by_name(name):
    """Each gives as many reports as values, and states an epsilon for the whole record, or per distance."""
    plan = one(**entry_of(name), nulls="public")
    values = VALUES.get(MECHANISMS[name].takes, [1, 9, None])
    result = sanitize(pa.table({"x": values}), plan, rng=Rng.unsafe_seed(1))
    assert result["x"].is_null().to_pylist() == [False, False, True]
    if MECHANISMS[name].takes == "codes":
        assert plan.privacy.record is None
        assert plan.privacy.metric["x"].unit in {"distance 1 cell", "distance 1 unit"}
        assert plan.privacy.metric["x"].epsilon <= 1.0 + 1e-9
    else:
        assert plan.privacy.record.epsilon <= 1.0


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_mechanisms__all_are_explained(name):
    (line,) = explain(one(**entry_of(name)))
    assert "epsilon" in line.guarantee
    assert line.error or name == "square_wave"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("kep", "did you mean 'keep'"),
        (3, 'give "keep"'),
        ({}, "say action"),
        ({"action": "keep", "epsilon": 1.0}, "unknown key 'epsilon'"),
        ({"action": "keep", "mechanism": "krr"}, "not both"),
        ({"mechanism": "laplce", "epsilon": 1.0}, "did you mean 'laplace'"),
        ({"mechanism": "laplace", "epsilon": 1.0}, "give bounds to hide the whole record, or unit"),
        ({"mechanism": "laplace", "epsilom": 1.0, "bounds": [0, 1]}, "did you mean 'epsilon'"),
        ({"mechanism": "laplace", "bounds": [0, 1]}, "give exactly one of epsilon"),
        ({"mechanism": "krr", "domain": ["a", "b"]}, "needs epsilon"),
        ({"mechanism": "laplace", "epsilon": -1.0, "bounds": [0, 1]}, "epsilon must be"),
        ({"mechanism": "laplace", "epsilon": [1.0, 2.0], "bounds": [0, 1]}, "for all records"),
        ({"mechanism": "laplace", "epsilon": 1.0, "bounds": [1, 0]}, "low < high"),
        ({"mechanism": "laplace", "epsilon": 1.0, "unit": 0}, "unit must be"),
        ({"mechanism": "laplace", "epsilon": 1.0, "unit": 1, "sensitivity": 1}, "unknown key 'sensitivity'"),
        ({"mechanism": "laplace", "epsilon": 1.0, "unit": 1, "nan": "lower"}, "give bounds"),
        ({"mechanism": "geometric", "epsilon": 1.0, "bounds": [0, 1.5]}, "two integers"),
        ({"mechanism": "krr", "epsilon": 1.0}, "needs domain"),
        ({"mechanism": "krr", "epsilon": 1.0, "domain": ["a", "a"]}, "different"),
        ({"mechanism": "krr", "epsilon": 1.0, "domain": ["a"]}, "2 to"),
        ({"mechanism": "krr", "epsilon": 1.0, "domain": ["a", "b"], "nulls": "keep"}, "nulls must be"),
        ({"mechanism": "krr", "epsilon": 1.0, "domain": ["a", "b"], "out_of_domain": "c"}, "label of the domain"),
        ({"mechanism": "duchi", "epsilon": 1.0}, "needs bounds"),
    ],
)  # fmt: skip
def test_plan__refuses(entry, said):
    with pytest.raises(ParameterError) as caught:
        Plan(columns={"x": entry})
    assert said in str(caught.value)
    assert "'x'" in str(caught.value)


@pytest.mark.parametrize("text", ["", "columns = 3", "[column.x]\naction='keep'", "[columns.x", "[columns]"])
def test_toml__refused(text):
    with pytest.raises(ParameterError, match="Plan: "):
        Plan.loads(text)


def test_load__names_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ParameterError, match="No such file"):
        Plan.load(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("names", "said"), [(["x", "y"], "'y' is not in the plan"), (["x", "x"], "more than once"), (["xx"], "not in")]
)
def test_names__must_match(names, said):
    with pytest.raises(SchemaError, match=said):
        Plan(columns={"x": "keep"}).check_names(names)


def test_names__a_missing_column_is_refused():
    with pytest.raises(SchemaError, match="did you mean 'income'"):
        Plan(columns={"income": "keep", "incom": "keep"}).check_names(["income"])


def test_manual__is_a_plan_and_names_every_mechanism():
    text = (Path(__file__).parents[2] / "docs" / "plans.md").read_text()
    plan = Plan.loads(text.partition("```toml\n")[2].partition("```")[0])
    assert list(plan.privacy.metric) == ["age", "latitude, longitude"]
    assert [name for name in (*MECHANISMS, *GROUPS) if f"`{name}`" not in text] == []


@pytest.mark.parametrize(("bounds", "said"), [([0, 10], "±10 on"), ([0, 1000], "±1,000 on"), (None, "±2.996 on")])
def test_errors_to_expect__are_no_larger_than_bounds_allow(bounds, said):
    """Reports stay within bounds, so no error is larger than their width."""
    more = {"unit": 1} if bounds is None else {"bounds": bounds, "boundary": "clamp"}
    plan = Plan(columns={"x": {"mechanism": "laplace", "epsilon": 1.0, **more}})
    (line,) = explain(plan)
    assert line.error.startswith(said)


def test_errors_to_expect__of_open_reports_are_those_of_the_noise():
    """They may lie beyond the bounds, by three times their width at epsilon 1."""
    (line,) = explain(Plan(columns={"x": {"mechanism": "laplace", "epsilon": 1.0, "bounds": [0, 10]}}))
    assert line.error.startswith("±29.9")


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_errors_to_expect__are_said_of_every_mechanism(name):
    square = [[0.0, 1.0], [1.0, 0.0]]
    more = {
        "numbers": {"bounds": [0, 10]},
        "bounded": {"bounds": [0, 10]},
        "categories": {"domain": 4},
        "codes": {"unit": "km"} | ({"shape": [3, 3]} if name.startswith("grid") else {"distance": square}),
        "truths": {},
    }[MECHANISMS[name].takes]
    cost = {"gaussian": {"rho": 1.0}, "discrete_gaussian": {"rho": 1.0}, "blahut_arimoto": {"beta": 1.0}}
    more |= cost.get(name, {"epsilon": 1.0})
    more |= {"prior": [0.5, 0.5]} if name in {"blahut_arimoto", "optimal"} else {}
    more |= {"threshold": 0.7} if name == "thresholded_histogram" else {}
    (line,) = explain(Plan(columns={"x": {"mechanism": name, **more}}))
    assert any(word in line.error for word in ("each value", "the mean of", "shares of"))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 8.0])
def test_errors_to_expect__of_square_waves(epsilon):
    """95 % of the reports of the middle value are as near as is said."""
    plan = Plan(columns={"x": {"mechanism": "square_wave", "epsilon": epsilon, "bounds": [0, 10]}})
    (line,) = explain(plan)
    said = float(line.error.removeprefix("±").split()[0].replace(",", ""))
    table = pa.table({"x": [5.0] * 40_000})
    reports = sanitize(table, plan, rng=Rng.unsafe_seed(3))["x"].to_numpy()
    assert abs((abs(reports - 5.0) <= said).mean() - 0.95) < 0.005
