"""``fastdp plan``: a plan to start from for every source, and plans with groups explained."""

from __future__ import annotations

import io
import json
import re
import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from fastdp.cli import main
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize

TABLE = pa.table({
    "name": ["canary-5f3c"] * 3,
    "home_lat": [48.81, 48.82, 48.83],
    "home_lon": [2.31, 2.32, 2.33],
    "ill": [True, False, None],
    "sex": ["f", "m", "f"],
    "smoker": ["yes", "no", "no"],
})  # fmt: skip
PLAN = """
[columns.name]
action = "drop"
[columns.ill]
mechanism = "randomized_response"
epsilon = 0.5
nulls = "drop"
[[groups]]
columns = ["home_lat", "home_lon"]
mechanism = "planar_laplace"
epsilon = "ln(2)/500m"
[[groups]]
columns = ["sex", "smoker"]
mechanism = "krr"
epsilon = 1.0
domains = {sex = ["f", "m"], smoker = ["yes", "no"]}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    pq.write_table(TABLE, tmp_path / "people.parquet")
    (tmp_path / "parts").mkdir()
    for part in range(2):
        pq.write_table(TABLE, tmp_path / "parts" / f"{part}.parquet")
    with pa.ipc.new_file(tmp_path / "people.arrow", TABLE.schema) as writer:
        writer.write_table(TABLE)
    with pa.ipc.new_stream(tmp_path / "people.arrows", TABLE.schema) as writer:
        writer.write_table(TABLE)
    rows = zip(*TABLE.to_pydict().values(), strict=True)
    lines = [",".join("" if value is None else str(value) for value in row) for row in rows]
    (tmp_path / "people.csv").write_text("\n".join([",".join(TABLE.column_names), *lines]) + "\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: str, **options):
    return CliRunner().invoke(main, list(arguments), **options)


SOURCES = ["people.parquet", "people.arrow", "people.arrows", "people.csv", "parts"]


@pytest.mark.parametrize("source", SOURCES)
def test_init__is_a_plan_of_names_and_types_for_every_source(folder, source):
    done = call("plan", "init", source)
    assert done.exit_code == 0, done.output
    assert list(tomllib.loads(done.stdout)["columns"]) == TABLE.column_names
    assert all(entry.action == "drop" for entry in Plan.loads(done.stdout).columns.values())
    assert "canary" not in done.output
    assert not re.search(r"48\.81|2\.31", done.output)


def test_init__reads_standard_input(folder):
    done = call("plan", "init", "-", input=(folder / "people.arrows").read_bytes())
    assert list(tomllib.loads(done.stdout)["columns"]) == TABLE.column_names
    done = call("plan", "init", "-", "--from", "csv", input="a,b\ncanary-5f3c,2\n")
    assert list(tomllib.loads(done.stdout)["columns"]) == ["a", "b"]
    assert "canary" not in done.output


@pytest.mark.parametrize("source", SOURCES)
def test_init__suggests_a_group_that_works(folder, source):
    """The suggestion is a comment; without its marks, and without the entries that it replaces, it is a plan."""
    text = call("plan", "init", source).stdout
    assert "groups" not in tomllib.loads(text)
    start = text.index("# [[groups]]")
    group = text[start:].replace("# ", "", 1).replace("\n# ", "\n")
    assert tomllib.loads(group)["groups"][0]["columns"] == ["home_lat", "home_lon"]
    columns = {name: "drop" for name in TABLE.column_names if not name.startswith("home")}
    plan = Plan(columns, tomllib.loads(group)["groups"])
    assert sanitize(TABLE, plan).column_names == ["home_lat", "home_lon"]


def test_init__suggests_no_group_without_places(folder):
    pq.write_table(TABLE.drop_columns(["home_lat"]), "other.parquet")
    assert "[[groups]]" not in call("plan", "init", "other.parquet").stdout


@pytest.mark.parametrize("source", [(), *((source,) for source in SOURCES)])
def test_check__explains_groups(folder, source):
    done = call("plan", "check", "plan.toml", *source)
    assert done.exit_code == 0, done.output
    for expected in (
        "planar_laplace", "home_lat, home_lon: epsilon 0.693148 per distance 500 m", "one record: epsilon 1.5,",
        "d-privacy",
    ):  # fmt: skip
        assert expected in done.stdout
    table = done.stdout.partition("one record")[0]
    assert max(map(len, table.splitlines())) <= 80
    assert {"500", "combinations", "public", "point"} <= set(re.findall(r"\w+", table))


def test_check__says_the_same_in_json(folder):
    said = json.loads(call("plan", "check", "plan.toml", "--json").stdout)
    points, joint = said["groups"]
    assert points["columns"] == ["home_lat", "home_lon"]
    assert "d-privacy" in points["kind"]
    assert points["unit"] == "distance 500 m"
    assert points["error_within_95_percent"].endswith("m from each point")
    assert joint["mechanism"] == "KRR"
    assert said["record"]["epsilon"] == pytest.approx(1.5)
    assert list(said["metric"]) == ["home_lat, home_lon"]


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ('"planar_laplace"', '"planar_laplac"', 2, "group 1: unknown mechanism of a group"),
        ("ln(2)/500m", "ln(2)/500", 2, "group 1: epsilon is per length"),
        ("[columns.ill]", "[columns.sex]", 2, "column 'sex' is in group 2 and in its own entry"),
        ('"sex", "smoker"', '"home_lat", "smoker"', 2, "group 2"),
        ('smoker = ["yes", "no"]', "smoker = 2", 3, "column 'smoker'"),
        ('["home_lat", "home_lon"]', '["home_lat", "home_long"]', 3, "home_lon: is not in the plan"),
    ],
)
def test_check__says_what_is_wrong(folder, old, new, code, said):
    (folder / "plan.toml").write_text(PLAN.replace(old, new))
    done = call("plan", "check", "plan.toml", "people.parquet")
    assert done.exit_code == code
    assert said in done.stderr
    assert done.stdout == ""


def test_formats__give_the_same_results(folder):
    """Groups too, from text as from tables."""
    import fastdp as fd

    plan = Plan.load("plan.toml")
    found = [
        sanitize(source, plan, rng=fd.Rng.unsafe_seed(1)).replace_schema_metadata(None).combine_chunks()
        for source in SOURCES[:4]
    ]
    assert found[0].num_rows == 2
    assert all(one.equals(found[0]) for one in found)


def test_skeleton__of_a_stream_is_made_before_its_data(folder):
    """Whatever follows the schema may be broken: it is not looked at."""
    content = (folder / "people.arrows").read_bytes()
    with pa.ipc.open_stream(io.BytesIO(content)) as reader:
        head = reader.schema.serialize().to_pybytes()
    done = call("plan", "init", "-", "--from", "arrow", input=head + b"\xff\xff\xff\xff broken")
    assert list(tomllib.loads(done.stdout)["columns"]) == TABLE.column_names
