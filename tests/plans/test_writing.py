"""Plans as files: comments, order and named files stay, what changed is written, and what is written is the plan."""

from __future__ import annotations

import datetime as dt

import pytest

import fastdp as fd
from fastdp.plans.plan import Plan
from fastdp.plans.spec import MECHANISMS
from tests.plans.test_plan import entry_of

TEXT = """# Our plan.
ledger = "people.ledger"   # the budget

[columns.city]             # typed by hand
mechanism = "krr"
epsilon = 1.5              # as agreed
domain_file = "cities.csv" # from the office
nulls = "public"

[columns.name]
action = "drop"            # never

[columns.born]
mechanism = "geometric"
# the law of 1920
epsilon = 1.0
bounds = [1920-01-01, 2026-12-31]

# Where they live.
[[groups]]
columns = ["lat", "lon"]
mechanism = "planar_laplace"
epsilon = "ln(2)/500m"     # half a kilometre
"""

NOISY = {"mechanism": "geometric", "epsilon": 1.0}


@pytest.fixture
def path(tmp_path):
    (tmp_path / "cities.csv").write_text("Rome\nOslo\n")
    file = tmp_path / "plan.toml"
    file.write_text(
        TEXT.replace('columns.name = "drop"      # never\n', '[columns.name]\naction = "drop"      # never\n')
    )
    return file


def changed(plan, **entries):
    content = plan.to_dict()
    for name, entry in entries.items():
        if entry is None:
            del content["columns"][name]
        else:
            content["columns"][name] = content["columns"].get(name, {}) | entry
    made = Plan.from_dict(content)
    object.__setattr__(made, "ledger", plan.ledger)
    return made


def test_same_plan__is_the_same_text(path):
    before = path.read_text()
    Plan.load(path).save(path)
    assert path.read_text() == before
    assert [one.name for one in path.parent.iterdir() if one.name.startswith(".")] == []


def test_changes__leave_comments(path):
    plan = changed(Plan.load(path), city={"epsilon": 2.0}, born=None, email={"action": "keep"})
    plan.save(path)
    text = path.read_text()
    assert Plan.load(path) == plan
    assert Plan.load(path).ledger == path.parent / "people.ledger"
    for comment in (
        "# Our plan.",
        "# typed by hand",
        "# from the office",
        "# never",
        "# Where they live.",
        "# the budget",
    ):
        assert comment in text
    assert 'domain_file = "cities.csv"' in text
    assert "columns.born" not in text
    assert "epsilon = 2.0" in text


def test_named_files__are_written_out_where_their_content_changed(path):
    plan = changed(Plan.load(path), city={"domain": ["Rome", "Oslo", "Bonn"]})
    plan.save(path)
    assert "domain_file" not in path.read_text()
    assert Plan.load(path) == plan


def test_another_folder__finds_the_files(path, tmp_path):
    (tmp_path / "sub").mkdir()
    plan = Plan.load(path)
    plan.save(tmp_path / "sub" / "copy.toml")
    text = (tmp_path / "sub" / "copy.toml").read_text()
    assert "../cities.csv" in text
    assert "# as agreed" in text
    assert Plan.load(tmp_path / "sub" / "copy.toml") == plan


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism__is_written(name, tmp_path):
    plan = Plan(columns={"a.b": entry_of(name), "c": "keep"})
    plan.save(tmp_path / "plan.toml")
    assert Plan.load(tmp_path / "plan.toml") == plan
    plan.save(tmp_path / "plan.toml")
    assert Plan.load(tmp_path / "plan.toml") == plan


@pytest.mark.parametrize(
    "entry",
    [
        {
            "mechanism": "geometric",
            "epsilon": 1.0,
            "bounds": [dt.date(1990, 1, 1), dt.date(2000, 1, 1)],
            "nulls": dt.date(1995, 1, 1),
        },
        NOISY | {"bounds": [dt.time(0), dt.time(12)], "boundary": "clamp"},
        {
            "mechanism": "geometric",
            "epsilon": 1.0,
            "step": "1 min",
            "bounds": [dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)],
        },
        {"mechanism": "krr", "epsilon": 1.0, "domain": ["x", 'y"\n'], "aliases": {"z": "x"}, "fold_case": True},
    ],
)
def test_moments_and_tables__are_those_of_toml(entry, tmp_path):
    plan = Plan(columns={"x": entry})
    plan.save(tmp_path / "plan.toml")
    assert Plan.load(tmp_path / "plan.toml") == plan
    assert ('"19' in (tmp_path / "plan.toml").read_text()) is False


def test_groups__are_added_and_taken_out(path):
    plan = Plan.load(path)
    one = plan.to_dict()["groups"][0]
    places = {"columns": ["latitude", "longitude"], "epsilon": "1/km"}
    more = Plan.from_dict(plan.to_dict() | {"groups": [one | {"epsilon": "ln(2)/900m"}, one | places]})
    more.save(path)
    assert Plan.load(path) == more
    assert "# half a kilometre" in path.read_text()
    plan.save(path)
    assert Plan.load(path) == plan
    less = Plan.from_dict({"columns": plan.to_dict()["columns"]})
    less.save(path)
    assert Plan.load(path) == less


@pytest.mark.parametrize("content", ["[columns", "x = 1", "[columns]\nx = 3\n", "\udcff"])
def test_other_files__are_not_touched(content, tmp_path):
    file = tmp_path / "plan.toml"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    if content == "x = 1":
        file.write_text("columns = 3")
    before = file.read_bytes()
    with pytest.raises(fd.ParameterError, match="cannot be updated"):
        Plan(columns={"x": "keep"}).save(file)
    assert file.read_bytes() == before


def test_nowhere__is_refused(tmp_path):
    with pytest.raises(fd.ParameterError, match="cannot write"):
        Plan(columns={"x": "keep"}).save(tmp_path / "none" / "plan.toml")
    with pytest.raises(fd.ParameterError, match="save takes"):
        Plan(columns={"x": "keep"}).save(3)
