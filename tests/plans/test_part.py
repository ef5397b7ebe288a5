"""Parts of plans: columns and groups of columns answer the same questions."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastdp as fd
from fastdp.engine.uniform import uniform_codes
from fastdp.mechanisms.central.laplace import Laplace
from fastdp.plans import guarantee
from fastdp.plans.explain import explain
from fastdp.plans.part import PlanPart
from fastdp.plans.text_types import report_types, text_types
from fastdp.tables.sanitizing import receipt_lookup

LABELS = ["a", "b", "c"]
LAPLACE = {"mechanism": "laplace", "epsilon": 1.0, "bounds": [0, 100]}
HOME = {"columns": ["latitude", "longitude"], "mechanism": "planar_laplace", "epsilon": "ln(2)/500m", "nulls": "drop"}
PAIR = {"columns": ["u", "v"], "mechanism": "krr", "epsilon": 2.0, "domains": {"u": LABELS, "v": 2}}
PLAN = fd.Plan(
    columns={
        "name": "drop", "region": "keep", "income": LAPLACE,
        "ill": {"mechanism": "randomized_response", "epsilon": 1.0, "nulls": "public"},
        "disease": {"mechanism": "krr", "epsilon": 1.5, "domain": LABELS},
    },
    groups=[HOME, PAIR],
)  # fmt: skip


def test_parts__are_columns_then_groups():
    assert [part.name for part in PLAN.parts] == [*PLAN.columns, "latitude, longitude", "u, v"]
    assert all(isinstance(part, PlanPart) for part in PLAN.parts)
    assert PLAN.names == tuple(name for part in PLAN.parts for name in part.columns)
    assert PLAN.dropping == ("latitude", "longitude")


def test_guarantee__is_none_where_nothing_is_randomized():
    for part in PLAN.parts:
        assert (part.privacy is None) == (part.mechanism is None) == (part.action != "randomize")
        assert (part.text_types() == {}) == (part.mechanism is None)


def test_guarantee__is_computed_once(monkeypatch):
    """Reading a plan asks a mechanism for its guarantee once; explaining it and its receipt do not ask again."""
    asked = []
    stated = Laplace.privacy.fget
    monkeypatch.setattr(Laplace, "privacy", property(lambda self: asked.append(self) or stated(self)))
    plan = fd.Plan(columns={"income": LAPLACE})
    asked.clear()
    guarantee.describe_guarantee(plan)
    explain(plan)
    assert not asked
    assert plan.privacy is plan.privacy
    assert plan.columns["income"].privacy is plan.columns["income"].privacy


def test_description__of_a_group_starts_with_its_columns():
    said = guarantee.describe_guarantee(PLAN)
    assert said["columns"]["name"] == {"action": "drop"}
    for group in said["groups"]:
        assert list(group)[:3] == ["columns", "action", "mechanism"]
    assert said["columns"]["ill"]["nulls"] == "public: released as they are"
    assert said["groups"][0]["nulls"] == "public: rows that hold them are left out"


@pytest.mark.parametrize(
    "part", [part for part in PLAN.parts if part.mechanism is not None], ids=lambda part: part.name
)
def test_results__are_of_the_stated_types(part):
    rng = fd.Rng.unsafe_seed(1)
    kinds = list(part.text_types().values())
    values = {pa.string(): "a", pa.int64(): 1, pa.float64(): 1.0, pa.bool_(): True}
    made = part.randomize([pa.array([values[kind]] * 5, kind) for kind in kinds], part.stream(rng))
    assert [column.type for column in made] == part.result_types(kinds)
    assert [len(column) for column in made] == [5] * len(part.columns)


KINDS = [
    *(pa.int8(), pa.int64(), pa.uint16(), pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.large_string()),
    *(pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.run_end_encoded(pa.int32(), pa.int64())),
]
GROUPS = {
    "points": {"mechanism": "planar_laplace", "epsilon": "0.7/km", "unit": "km", "coordinates": "plane"},
    "globe": {"mechanism": "planar_laplace", "epsilon": "ln(2)/500m", "coordinates": "latlon"},
    "origin": {"mechanism": "planar_laplace", "epsilon": "ln(2)/500m", "origin": [1, 2]},
} | {
    " ".join([name, word, *more.values()]): {"mechanism": word, "epsilon": 1.0, "domains": {"x": domain, "y": domain}}
    | more
    for word, more in (
        *(("krr", {}), ("split", {}), ("sample", {}), ("sample_and_fake", {}), ("split", {"protocol": "oue"})),
        ("krr", {"out_of_domain": "uniform"}),
    )
    for name, domain in (("labels", ["a", "b"]), ("codes", 300), ("numbers", [1, 70_000]))
}


@pytest.mark.parametrize("given", GROUPS.values(), ids=GROUPS)
def test_types_of_groups__are_those_of_the_reports_of_no_records(given):
    """For every type, also those that are refused: the types are stated, and never tried out."""
    (part,) = fd.Plan(columns={}, groups=[{"columns": ["x", "y"]} | given]).parts
    outcomes = set()
    for kinds in itertools.product(KINDS, (pa.int64(), pa.float32(), pa.string())):
        try:
            made = part.randomize([pa.nulls(0, kind) for kind in kinds], fd.Rng.unsafe_seed(1))
        except fd.FastDPError:
            with pytest.raises(fd.FastDPError):
                part.result_types(list(kinds))
            outcomes.add("refused")
        else:
            assert part.result_types(list(kinds)) == [column.type for column in made], kinds
            outcomes.add("taken")
    assert outcomes == {"refused", "taken"}


def test_streams__of_parts_are_apart():
    rng = fd.Rng.unsafe_seed(1)
    firsts = {tuple(uniform_codes(part.stream(rng), 4, 1 << 31).tolist()) for part in PLAN.parts}
    assert len(firsts) == len(PLAN.parts)


def test_agreement__is_of_mechanisms_and_groups():
    """Policies on nulls of a column do not matter to who estimates; another epsilon, action or group does."""
    entry, group = PLAN.columns["income"], PLAN.groups[1]
    assert entry.agrees_with(fd.Plan(columns={"income": LAPLACE | {"nulls": "public"}}).columns["income"])
    assert not entry.agrees_with(fd.Plan(columns={"income": LAPLACE | {"epsilon": 2.0}}).columns["income"])
    assert not entry.agrees_with(fd.Plan(columns={"income": "keep"}).columns["income"])
    assert group.agrees_with(fd.Plan(groups=[PAIR]).groups[0])
    assert not group.agrees_with(fd.Plan(groups=[PAIR | {"epsilon": 3.0}]).groups[0])
    assert not any(part.agrees_with(None) for part in PLAN.parts)
    assert not entry.agrees_with(group)
    assert not group.agrees_with(entry)


@pytest.mark.parametrize("mechanism", ["split", "sample", "sample_and_fake"])
@pytest.mark.parametrize("domain", [LABELS, 3])
def test_reports_of_a_group__are_read_from_text_as_what_they_are(mechanism, domain, tmp_path):
    """Hadamard reports of labels are numbers: a CSV file of them is estimated from as its Parquet file is."""
    domains = {"u": domain, "v": domain}
    group = {"columns": ["u", "v"], "mechanism": mechanism, "protocol": "hadamard", "epsilon": 4.0, "domains": domains}
    plan, values = fd.Plan(groups=[group]), (LABELS if domain is LABELS else [0, 1, 2]) * 500
    table = pa.table({"u": values, "v": values})
    found = []
    for name in ("reports.csv", "reports.parquet"):
        fd.sanitize(table, plan, output=tmp_path / name, rng=fd.Rng.unsafe_seed(2))
        found.append(fd.estimate_table(tmp_path / name)["u"].lines)
    assert repr(found[0]) == repr(found[1])  # standard errors may be NaN


def test_types_of_reports__are_asked_for_by_text_alone(monkeypatch, tmp_path):
    plan = fd.Plan(columns={"disease": {"mechanism": "krr", "epsilon": 1.5, "domain": LABELS}})
    asked = []
    monkeypatch.setattr(receipt_lookup, "report_types", lambda plan: asked.append(plan) or report_types(plan))
    for name in ("reports.parquet", "reports.arrow", "reports.csv"):
        fd.sanitize(pa.table({"disease": LABELS * 10}), plan, output=tmp_path / name)
        fd.estimate_table(tmp_path / name)
    assert len(asked) == 1
    assert text_types(plan) == report_types(plan) == {"disease": pa.string()}
    assert pq.read_schema(tmp_path / "reports.parquet").field("disease").type == pa.string()
