"""What plans, receipts and commands state of whole records, recomputed column by column."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import mpmath
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import fastdp as fd
from fastdp.cli import main
from fastdp.locations import Grid, clustered_checkins
from fastdp.plane import Plane
from fastdp.plans.column_group import GROUPS
from fastdp.plans.explain import as_data, explain, explain_total
from fastdp.plans.guarantee import describe_guarantee
from fastdp.plans.spec import MECHANISMS
from tests.contracts.protocols import NAMES
from tests.mechanisms.metric.test_grid import realised_channel
from tests.plans.test_plan import entry_of
from tests.reference.metric import exact_epsilon, plane
from tests.report.html import Page
from tests.statements.exact import DIGITS, Exact, planar_loss, recompute

PROTOCOL_OF = {
    "KRR": "krr", "UnaryEncoding": "oue", "SubsetSelection": "subset-selection",
    "HadamardResponse": "hadamard-response", "LocalHashing": "local-hashing", "RAPPOR": "rappor",
    "ThresholdedHistogram": "thresholded-histogram", "SummedHistogram": "summed-histogram",
    "RandomizedResponse": "randomized-response",
}  # fmt: skip
RECORD = [name for name, spec in MECHANISMS.items() if spec.takes != "codes"]
DOMAINS = {"a": ["x", "y"], "b": ["u", "v", "w"]}
JOINT = {name: {"columns": ["a", "b"], "mechanism": name, "epsilon": 1.0, "domains": DOMAINS} for name in
         ("krr", "split", "sample", "sample_and_fake")}  # fmt: skip


def exact_of(mechanism) -> Exact:
    """What a mechanism costs, from its integers."""
    name = PROTOCOL_OF.get(type(mechanism).__name__)
    with mpmath.workdps(DIGITS):
        return recompute(mechanism, mechanism.privacy) if name is None else Exact(NAMES[name].cost(mechanism))


def shown_number(text: str, name: str) -> Fraction:
    return Fraction(re.search(rf"\b{name} ([-+.e0-9]*[0-9])", text)[1])


@pytest.mark.parametrize("name", RECORD)
def test_column__states_what_its_mechanism_costs(name):
    """In ``privacy``, in the receipt, in JSON and in words; numbers in words are rounded up."""
    plan = fd.Plan(columns={"x": entry_of(name)})
    exact = exact_of(plan.columns["x"].mechanism)
    receipt = describe_guarantee(plan)
    (line,), (total,) = explain(plan), explain_total(plan)
    for part in ("epsilon", "rho", "delta"):
        found = getattr(exact, part)
        if found is None:
            continue
        for stated in (
            getattr(plan.privacy.record, part),
            receipt["record"][part],
            receipt["columns"]["x"][part],
            as_data(plan)["columns"]["x"][part],
        ):
            assert mpmath.mpf(stated) >= found
        for text in (line.guarantee, total):
            assert shown_number(text, part) >= Fraction(getattr(plan.privacy.record, part))
    assert plan.privacy.record.neighbours == receipt["record"]["neighbours"] == "replace"


@pytest.mark.parametrize("name", JOINT)
def test_group__states_what_its_mechanism_costs(name):
    plan = fd.Plan(groups=[JOINT[name]])
    (group,) = plan.groups
    with mpmath.workdps(DIGITS):
        exact = exact_of(group.mechanism).epsilon
        assert exact <= mpmath.mpf(plan.privacy.record.epsilon)
        assert plan.privacy.record.epsilon * (1 - 1e-9) < exact
        assert exact <= mpmath.mpf(describe_guarantee(plan)["groups"][0]["epsilon"])
    assert set(JOINT) | {"planar_laplace"} == set(GROUPS)


def test_record__is_the_sum_of_all_columns_that_are_not_metric():
    """Exactly, from every column's integers; metric ones are named with their own words and are not in the sum."""
    names = [name for name in RECORD if "gaussian" not in name]
    columns = {name: entry_of(name) for name in names}
    columns["age"] = {"mechanism": "staircase", "epsilon": 1.0, "unit": 2}
    plan = fd.Plan(columns=columns, groups=[JOINT["krr"]])
    with mpmath.workdps(DIGITS):
        parts = [exact_of(plan.columns[name].mechanism).epsilon for name in names]
        exact = mpmath.fsum([*parts, exact_of(plan.groups[0].mechanism).epsilon])
        assert exact <= mpmath.mpf(plan.privacy.record.epsilon)
        assert plan.privacy.record.epsilon * (1 - 1e-9) < exact
    one, metric = explain_total(plan)
    assert shown_number(one, "epsilon") >= Fraction(plan.privacy.record.epsilon)
    assert "started" in metric
    assert "d-private" not in metric
    assert list(plan.privacy.metric) == ["age"]


PLAN = """
[columns.a]
mechanism = "krr"
epsilon = 0.7
domain = ["x", "y", "z"]
[columns.b]
mechanism = "laplace"
epsilon = 0.3
bounds = [0, 10]
[columns.c]
mechanism = "staircase"
epsilon = 1.0
unit = 2
[columns.d]
mechanism = "gaussian"
epsilon = 1.0
delta = 1e-6
unit = 5
[columns.e]
mechanism = "geometric"
epsilon = 1.0
unit = 5
bounds = [0, 120]
boundary = "resample"
"""


def test_commands__print_what_the_plan_states(tmp_path, monkeypatch):
    """`plan check`, its JSON, `sanitize` and the receipts of what it wrote: the same numbers everywhere."""
    monkeypatch.chdir(tmp_path)
    table = pa.table({"a": ["x", "y"], "b": [1.0, 2.0], "c": [1.0, 2.0], "d": [1.0, 2.0], "e": [1, 2]})
    pq.write_table(table, "in.parquet")
    (tmp_path / "plan.toml").write_text(PLAN)
    plan = fd.Plan.load("plan.toml")
    check = CliRunner().invoke(main, ["plan", "check", "plan.toml"])
    said = json.loads(CliRunner().invoke(main, ["plan", "check", "plan.toml", "--json"]).stdout)
    done = CliRunner().invoke(main, ["sanitize", "in.parquet", "-p", "plan.toml", "-o", "out.parquet"])
    assert check.exit_code == done.exit_code == 0
    for words in (check.output, done.output):
        assert all(line in words for line in explain_total(plan))
        assert "started" in words
        assert "square of the distance" in words
        assert words.count("d-privacy: epsilon grows in proportion to the distance") == 1
    (receipt,) = (json.loads(path.read_text()) for path in tmp_path.glob("out*.json"))
    inside = json.loads(pq.read_metadata("out.parquet").metadata[b"fastdp.receipt"])
    guarantee = describe_guarantee(plan)
    assert receipt["guarantee"] == guarantee == inside["guarantee"]
    assert {key: said[key] for key in ("record", "metric")} == {key: guarantee[key] for key in ("record", "metric")}


@pytest.mark.parametrize("kind", ["planar", "grid"])
def test_geo__prints_what_neighbouring_places_cost(kind, tmp_path):
    """On standard error, as JSON, in the table of the page and in the metadata of the grids."""
    grid = Grid.over(latitude=(48.85, 48.88), longitude=(2.32, 2.36), cell=800)
    x, y = clustered_checkins(grid, 500, seed=1)
    latitude, longitude = Plane("test", *grid.origin).unproject(x, y)
    pq.write_table(pa.table({"latitude": latitude, "longitude": longitude}), tmp_path / "in.parquet")
    page, grids = tmp_path / "map.html", tmp_path / "map.arrow"
    done = CliRunner().invoke(main, [
        "geo", str(tmp_path / "in.parquet"), "--region", "48.85,48.88,2.32,2.36", "--cell", "800m", "--epsilon",
        "ln(2)/150m", "--mechanism", kind, "--iterations", "5", "-o", str(page), "--grids", str(grids), "--json",
    ])  # fmt: skip
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    from fastdp.locations.mechanisms import make_mechanism

    mechanism = make_mechanism(grid, kind, float(np.log(2) / 150))
    with mpmath.workdps(DIGITS):
        if kind == "planar":
            unit, side = (planar_loss(mechanism, Fraction(distance)) for distance in (1, 800))
            far = planar_loss(mechanism, Fraction(8000))
        else:
            unit = exact_epsilon(realised_channel(mechanism), plane(*mechanism.shape) * mechanism.cell)
            side, far = 800 * unit, 8000 * unit
    assert said["privacy"]["epsilon"] >= unit
    assert said["epsilon_between_neighbouring_cells"] >= side
    assert float(re.search(r"epsilon ([.0-9]+) between", done.stderr)[1]) >= side
    assert float(pa.ipc.open_file(grids).schema.metadata[b"epsilon"]) >= unit
    text = Page(page.read_text()).text
    last = re.search(r"(?:8000 m|\b10)\s+([0-9]+\.[0-9]{4})", text)
    assert float(last[1]) >= far
