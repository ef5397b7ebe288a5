"""Types and columns that no mechanism takes: each message says what to do instead, and what it says works."""

from __future__ import annotations

import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import fastdp as fd
from fastdp.cli import main
from fastdp.plans.documents.kinds import Seen
from fastdp.plans.documents.profile import propose
from fastdp.plans.documents.template import skeleton
from fastdp.plans.plan import Plan

TABLE = pa.table({
    "settings": pa.array([[("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int64())),
    "photo": pa.array([b"x", b"y"], pa.binary()),
    "hash": pa.array([b"xyz", b"abc"], pa.binary(3)),
    "note": ["call me", "on 1"],
    "home": pa.array([{"city": "Rome"}, {"city": "Oslo"}]),
    "tags": pa.array([["a"], []], pa.list_(pa.string())),
    "age": pa.array([1, 2], pa.int8()),
})  # fmt: skip
DROPPED = dict.fromkeys(TABLE.column_names, "drop")


@pytest.mark.parametrize(
    ("column", "entry", "said"),
    [
        ("settings", "keep", 'drop it (action = "drop"), or store its keys as columns or a struct'),
        ("settings", {"mechanism": "krr", "epsilon": 1, "domain": ["a", "b"]}, "store its keys"),
        ("photo", {"mechanism": "krr", "epsilon": 1, "domain": ["a", "b"]}, "keep it as it is"),
        ("photo", {"mechanism": "laplace", "epsilon": 1, "bounds": [0, 1]}, "binary"),
        ("tags", {"mechanism": "krr", "epsilon": 1, "domain": ["a", "b"]}, 'items = "one"'),
        ("home", {"mechanism": "krr", "epsilon": 1, "domain": ["a", "b"]}, "home.city"),
        ("age", {"mechanism": "krr", "epsilon": 1, "domain": ["a", "b"], "items": "one"}, "items is for lists"),
    ],
)  # fmt: skip
def test_types__are_refused_with_the_way_out(column, entry, said):
    with pytest.raises(fd.SchemaError) as caught:
        fd.sanitize(TABLE, Plan(columns=DROPPED | {column: entry}))
    assert said in str(caught.value)
    assert column in str(caught.value)


@pytest.mark.parametrize("column", ["photo", "hash", "tags", "home"])
def test_bytes_lists_and_structs__can_be_kept(column):
    found = fd.sanitize(TABLE, Plan(columns=DROPPED | {column: "keep"}))
    assert found[column].to_pylist() == TABLE[column].to_pylist()


def test_open_text__is_refused_with_all_ways_out():
    with pytest.raises(fd.ParameterError) as caught:
        Plan(columns={"note": {"mechanism": "krr", "epsilon": 1.0}})
    for way in ("domain_file", "drop it", "olh", "FrequentStrings"):
        assert way in str(caught.value)
    assert hasattr(fd, "FrequentStrings")


@pytest.mark.parametrize("options", [(), ("--profile",)])
def test_proposals__name_every_column_and_are_accepted(tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    pq.write_table(TABLE, "in.parquet")
    text = CliRunner().invoke(main, ["plan", "init", "in.parquet", *options]).stdout
    assert set(tomllib.loads(text)["columns"]) == set(TABLE.column_names)
    (tmp_path / "plan.toml").write_text(text)
    assert CliRunner().invoke(main, ["plan", "check", "plan.toml", "in.parquet"]).exit_code == 0
    assert "store its keys" in text
    assert "FrequentStrings" in propose(TABLE.schema, {"note": Seen("text")})


def test_check__says_types_that_are_wider(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"age": pa.array([1, 2] * 50, pa.int8()), "ill": [True, False] * 50}), "in.parquet")
    (tmp_path / "plan.toml").write_text(
        '[columns.age]\nmechanism = "geometric"\nepsilon = 1\nbounds = [0, 120]\n'
        '[columns.ill]\nmechanism = "randomized_response"\nepsilon = 1\n'
    )
    done = CliRunner().invoke(main, ["plan", "check", "plan.toml", "in.parquet"])
    assert "released in other types: age int8 as int16" in done.stdout
    said = CliRunner().invoke(main, ["plan", "check", "plan.toml", "in.parquet", "--json"]).stdout
    assert '"age": "int16"' in said


@pytest.mark.parametrize("typed", [True, False])
def test_skeleton__is_valid_when_uncommented(typed):
    """Every alternative of every column, in the place of its action, is TOML, and a plan where it has a mechanism."""
    blocks = skeleton(TABLE.schema.append(pa.field("ill", pa.bool_())), typed=typed).split("\n\n")[1:]
    tried = 0
    for block in blocks:
        text = block.replace('action = "drop"\n', "").replace("\n# ", "\n")
        (entry,) = tomllib.loads(text)["columns"].values()
        if entry:
            Plan.loads(text)
            tried += 1
    assert tried >= 5
