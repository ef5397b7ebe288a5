"""Any plan that loads says the same in its own words, in TOML, in JSON and in a pickle."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastdp.columns.domain import Domain
from fastdp.errors import ParameterError
from fastdp.tables.explain import as_data, explain, explain_total
from fastdp.tables.group import GROUPS
from fastdp.tables.places import find_pairs
from fastdp.tables.plan import Plan
from fastdp.tables.spec import MECHANISMS

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
