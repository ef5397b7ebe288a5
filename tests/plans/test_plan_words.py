"""Any plan that loads says the same in its own words, in TOML, in JSON and in a pickle."""

from __future__ import annotations

import datetime as dt
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastdp.columns.domain import Domain
from fastdp.errors import ParameterError
from fastdp.plans.column_group import GROUPS
from fastdp.plans.documents.coordinate_names import find_pairs
from fastdp.plans.explain import as_data, explain, explain_total
from fastdp.plans.plan import Plan
from fastdp.plans.spec import MECHANISMS

EPSILONS = st.sampled_from([0.1, 1, 1.5, np.float64(2.0), np.int64(1)])
DOMAINS = st.sampled_from([
    ["a", "b", "?"], ("?", "b"), np.array(["a", "?", "c"]), ["?", *"abcdefg"], Domain.read("test", ["a", "?"]),
])  # fmt: skip
NAMES = st.text(st.characters(codec="utf-8", exclude_characters=","), max_size=8)
RATES = st.sampled_from(["ln(2)/500m", "0.7/km", "2*ln(3)/1.5km", "1/mi"])


@st.composite
def entries(draw):
    """What a plan may say of a column: anything that is allowed, and as often as not with policies."""
    name = draw(
        st.sampled_from(
            ["keep", "drop", "laplace", "geometric", "krr", "oue", "rappor", "duchi", "randomized_response"]
        )
    )
    if name in {"keep", "drop"}:
        return draw(st.sampled_from([name, {"action": name}]))
    entry = {"mechanism": name, "epsilon": draw(EPSILONS)}
    takes = MECHANISMS[name].takes
    if takes in {"numbers", "bounded"}:
        entry["bounds"] = draw(st.sampled_from([[0, 9], (0, 100), np.array([-3, 3])]))
        entry |= draw(st.sampled_from([{}, {"nan": "lower"}, {"nulls": "drop"}, {"nulls": "public"}]))
        entry |= draw(st.sampled_from([{}, {"unit": 2}])) if takes == "numbers" else {}
    if takes == "categories":
        entry["domain"] = draw(DOMAINS)
        entry |= draw(st.sampled_from([{}, {"nulls": "category", "null_label": "?"}, {"nulls": "drop"}]))
        entry |= draw(st.sampled_from([{}, {"out_of_domain": "?"}, {"out_of_domain": "uniform"}]))
    return entry


@st.composite
def groups(draw, names):
    mechanism = draw(st.sampled_from(list(GROUPS)))
    nulls = draw(st.sampled_from([{}, {"nulls": "public"}, {"nulls": "drop"}]))
    if mechanism == "planar_laplace":
        where = [{}, {"origin": (1, 2.5)}, {"origin": [1, 2], "region": ((-5, 5), (-5, 5)), "unit": "km"}]
        rate = {"epsilon": draw(RATES), "coordinates": "latlon"}
        return nulls | rate | {"columns": names, "mechanism": mechanism} | draw(st.sampled_from(where))
    protocol = {} if mechanism == "krr" else draw(st.sampled_from([{}, {"protocol": "oue"}]))
    domains = {name: draw(DOMAINS) for name in names}
    return nulls | protocol | {"columns": names, "mechanism": mechanism, "epsilon": draw(EPSILONS), "domains": domains}


@st.composite
def plans(draw):
    names = draw(st.lists(NAMES, min_size=5, max_size=8, unique=True))
    pairs = draw(st.integers(0, 2))
    together = [names[2 * i : 2 * i + 2] for i in range(pairs)]
    return {
        "columns": {name: draw(entries()) for name in names[2 * pairs :]},
        "groups": [draw(groups(pair)) for pair in together],
    }


def as_toml(said: dict) -> str:
    """A plan's words as a TOML text, by hand: JSON's values are TOML's, but for tables."""

    def value(item) -> str:
        if isinstance(item, dict):
            return "{" + ", ".join(f"{value(key)} = {value(part)}" for key, part in item.items()) + "}"
        if isinstance(item, list):
            return "[" + ", ".join(map(value, item)) + "]"
        return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")

    lines = []
    for name, entry in said["columns"].items():
        lines += [f"[columns.{value(name)}]", *(f"{key} = {value(item)}" for key, item in entry.items())]
    for group in said.get("groups", ()):
        lines += ["[[groups]]", *(f"{key} = {value(item)}" for key, item in group.items())]
    return "\n".join(lines)


@given(plans())
def test_words__say_the_same(said):
    """Python's own words, tuples and arrays too, become plain ones; privacy and policies stay."""
    plan = Plan(**said)
    words = plan.to_dict()
    for copy in (Plan(**words), Plan(**json.loads(json.dumps(words))), pickle.loads(pickle.dumps(plan))):
        assert copy == plan
        assert copy.to_dict() == words
        assert hash(copy) == hash(plan)
        assert copy.privacy == plan.privacy
        assert copy.dropping == plan.dropping
        assert copy.names == plan.names
    assert explain_total(plan)
    assert len(explain(plan)) == len(plan.columns) + len(plan.groups)
    json.dumps(as_data(plan))


@given(plans())
def test_toml__says_the_same(said):
    plan = Plan(**said)
    assert Plan.loads(as_toml(plan.to_dict())) == plan


@given(plans(), st.sampled_from(["epsilom", "mechanisn", "columms", "domain_", "nul"]))
def test_unknown_keys__are_refused_in_every_part(said, key):
    plan = Plan(**said)
    for part in ("columns", "groups"):
        words = plan.to_dict()
        chosen = list(words[part].values()) if part == "columns" else words.get("groups", [])
        if chosen:
            chosen[-1][key] = 1
            with pytest.raises(ParameterError, match="unknown key"):
                Plan(**words)


@pytest.mark.parametrize(
    ("names", "pairs"),
    [
        (["lat", "lon"], [("lat", "lon")]),
        (["Longitude", "Latitude"], [("Latitude", "Longitude")]),
        (["homeLat", "home_lng", "workLat"], [("homeLat", "home_lng")]),
        (["platform", "colony", "flat"], []),
        (["lat", "latitude", "lon"], [("lat", "lon")]),
        ([], []),
    ],
)
def test_places__are_told_by_their_names(names, pairs):
    assert find_pairs(names) == pairs


JUNK = [
    None, True, False, 0, -1, 3, 2**63, 10**400, 0.5, -0.0, math.nan, math.inf, "", "a", "uniform", "ln(2)/500m", b"a",
    [], [1], [1, 2], [0.5, math.nan], ["a", "b"], ["a", 1], [[1], [2]], [[0, 1], [0, 1]], {}, {"a": 1},
    {"a": {"b": []}}, (), set(), object(), np.zeros(3), np.float64("nan"), dt.date(2026, 1, 1), 1j,
]  # fmt: skip
POINT = {"columns": ["p", "q"], "mechanism": "planar_laplace", "epsilon": "1/km", "coordinates": "latlon"}
JOINT = {"columns": ["p", "q"], "mechanism": "krr", "epsilon": 1.0, "domains": {"p": ["a", "b"], "q": 2}}
LINE = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
PARTS = [
    {"action": "keep"},
    {"mechanism": "laplace", "epsilon": 1.0, "bounds": [0, 1], "nan": "lower", "granularity": 0.5, "boundary": "fold"},
    {"mechanism": "geometric", "epsilon": 1.0, "unit": 2},
    {"mechanism": "gaussian", "rho": 1.0, "bounds": [0, 1]},
    {
        "mechanism": "krr",
        "epsilon": 1.0,
        "domain": ["a", "b"],
        "nulls": "category",
        "null_label": "a",
        "out_of_domain": "b",
    },
    {"mechanism": "hashing", "epsilon": 1.0, "domain": 9, "g": 3, "cohorts": 4, "salt": 1},
    {"mechanism": "randomized_response", "epsilon": 1.0, "nulls": "category", "null_label": True},
    {"mechanism": "square_wave", "epsilon": 1.0, "bounds": [0, 1], "bins": 8},
    {"mechanism": "grid_laplace", "epsilon": 1.0, "shape": [2, 2], "cell": 1.0, "unit": "km"},
    {"mechanism": "blahut_arimoto", "beta": 0.5, "prior": [1, 2, 3], "distance": LINE, "iterations": 2},
    POINT,
    POINT | {"origin": [1, 2], "region": [[-5, 5], [-5, 5]], "unit": "km", "granularity": 0.5, "nulls": "drop"},
    JOINT | {"nulls": "public"},
    JOINT | {"mechanism": "sample", "protocol": "oue", "out_of_domain": "uniform"},
]


@pytest.mark.parametrize("part", PARTS)
def test_junk__is_refused_in_the_name_of_its_part(part):
    """Whatever stands for a value: a plan with a guarantee, or an error of a plan's own that names the part."""

    def plan(said: dict) -> Plan:
        return Plan(groups=[said]) if "columns" in part else Plan(columns={"x": said})

    assert plan(part).privacy is not None
    for key in part:
        for junk in JUNK:
            try:
                changed = plan(part | {key: junk})
            except ParameterError as error:
                assert str(error).startswith(("Plan: column 'x'", "Plan: group 1"))  # noqa: PT017
            else:
                assert changed == Plan(**changed.to_dict())


@pytest.mark.parametrize("junk", [3, "x", [], {"a": 3}, {3: "keep"}, {"a": []}, {"a": None}])
def test_junk__instead_of_columns_is_refused(junk):
    with pytest.raises(ParameterError, match="Plan: "):
        Plan(columns=junk)
