"""``fastdp geo`` as a person uses it."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from fastdp.cli import main
from fastdp.locations import Grid, clustered_checkins
from fastdp.plane import Plane
from tests.report.html import Page

REGION = "48.85,48.88,2.32,2.36"
GRID = Grid.over(latitude=(48.85, 48.88), longitude=(2.32, 2.36), cell=400)


def call(*arguments):
    return CliRunner().invoke(main, ["geo", *map(str, arguments)], env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    x, y = clustered_checkins(GRID, 2000, seed=1)
    latitude, longitude = Plane("test", *GRID.origin).unproject(x, y)
    path = tmp_path_factory.mktemp("geo") / "checkins.parquet"
    pq.write_table(pa.table({"latitude": latitude, "lng": longitude, "person": np.arange(2000)}), path)
    return path


def test_geo__writes_a_private_report_and_its_grids(file, tmp_path):
    page, grids = tmp_path / "map.html", tmp_path / "map.arrow"
    done = call(
        file, "--lat", "latitude", "--lon", "lng", "--region", REGION, "--cell", "400m", "--epsilon", "ln(2)/150m",
        "--iterations", "20", "-o", page, "--grids", grids,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "2,000 places sanitized" in done.output
    text = Page(page.read_text()).text
    assert "NOT PRIVATE" not in text + done.output
    assert "original" not in [alt for alt, _ in Page(page.read_text()).pictures]
    table = pa.ipc.open_file(grids).read_all()
    assert table.column_names == [
        "row", "column", "latitude", "longitude", "reports", "noisy", "inversion", "ibu", "restored",
    ]  # fmt: skip
    assert table.num_rows == GRID.size
    assert sum(table["reports"].to_pylist()) == 2000
    assert table.schema.metadata[b"private"] == b"yes"


def test_geo__with_the_truth_is_loud(file, tmp_path):
    page, grids = tmp_path / "map.html", tmp_path / "map.parquet"
    done = call(
        file, "--lon", "lng", "--region", REGION, "--cell", "400m", "--epsilon", "5/km", "--truth", "--mechanism",
        "grid", "--iterations", "20", "-o", page, "--grids", grids,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "NOT PRIVATE" in done.output
    assert "NOT PRIVATE" in Page(page.read_text()).text
    table = pq.read_table(grids)
    assert "original" in table.column_names
    assert table.schema.metadata[b"private"] == b"no"
    assert np.isclose(sum(table["original"].to_pylist()), 1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--epsilon", "1/km", "-o", "a.html"], "--region"),
        (["--region", REGION, "-o", "a.html"], "--epsilon"),
        (["--region", REGION, "--epsilon", "1/km"], "-o REPORT"),
        (["--region", "1,2,3", "--epsilon", "1/km", "-o", "a.html"], "four numbers"),
        (["--region", REGION, "--epsilon", "1", "-o", "a.html"], "epsilon per length"),
        (["--region", REGION, "--epsilon", "1/km", "--cell", "9", "-o", "a.html"], "length"),
        (["--region", REGION, "--epsilon", "1/km", "--x", "lng", "-o", "a.html"], "--x and --y"),
        (["--experiment", "lecture", "-o", "a.html"], "--data"),
        (["--region", REGION, "--epsilon", "1/km", "-o", "-"], "name a file"),
        (["--region", REGION, "--epsilon", "1e-20/km", "-o", "a.html", "--dry-run"], "PlanarLaplace: "),
        (["--region", REGION, "--epsilon", "1/km", "--grids", "a.txt"], ".parquet, .arrow, .csv"),
        (["--region", REGION, "--epsilon", "1/km", "-o", "a.csv", "--grids", "a.csv"], "same name"),
    ],
)
def test_geo__says_what_is_missing(file, arguments, says):
    done = call(file, *arguments)
    assert done.exit_code == 2
    assert says in done.output
    assert "Traceback" not in done.output


def test_geo__of_bad_data_names_no_value(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("latitude,longitude\n48.86,2.34\n948.123456,2.34\n")
    done = call(path, "--region", REGION, "--epsilon", "1/km", "-o", tmp_path / "a.html")
    assert done.exit_code == 3
    assert "948" not in done.output
    assert not (tmp_path / "a.html").exists()


def test_geo__overwrites_nothing(file, tmp_path):
    page = tmp_path / "map.html"
    page.write_text("mine")
    done = call(file, "--lon", "lng", "--region", REGION, "--epsilon", "1/km", "-o", page)
    assert done.exit_code == 5
    assert "geo: output" in done.output
    assert page.read_text() == "mine"


@pytest.mark.parametrize("option", ["-o", "--grids"])
def test_geo__never_replaces_its_input(file, option):
    before = file.read_bytes()
    done = call(file, "--lon", "lng", "--region", REGION, "--epsilon", "1/km", option, file, "--force")
    assert done.exit_code == 5
    assert "the output is the input" in done.output
    assert file.read_bytes() == before


def test_geo__writes_nothing_into_its_input_folder(file, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "a.parquet").write_bytes(file.read_bytes())
    for name in ("a.parquet", "new.parquet"):
        options = ["--lon", "lng", "--region", REGION, "--epsilon", "1/km", "--grids", folder / name, "--force"]
        done = call(folder, *options)
        assert done.exit_code == 5
        assert "inside the input's folder" in done.output
    assert [one.name for one in folder.iterdir()] == ["a.parquet"]
    assert (folder / "a.parquet").read_bytes() == file.read_bytes()


def test_geo__prints_its_numbers_as_json(file):
    """Without a file to write, on standard output alone, and without the truth nothing but the reports' numbers."""
    options = [
        "--lon",
        "lng",
        "--region",
        REGION,
        "--cell",
        "400m",
        "--epsilon",
        "5/km",
        "--iterations",
        "20",
        "--json",
    ]
    said = json.loads(call(file, *options, "-q").stdout)
    assert (said["places"], said["private"], said["mechanism"]) == (2000, True, "PlanarLaplace")
    assert said["privacy"]["epsilon"] > 0.005
    assert said["epsilon_between_neighbouring_cells"] == pytest.approx(2.0, rel=0.02)
    assert (said["grid"]["rows"], said["grid"]["columns"]) == GRID.shape
    assert set(said["maps"]) == {"noisy", "inversion", "ibu", "restored"}
    assert all(set(one) == {"method"} for one in said["maps"].values())
    assert said["curve"]["simulated_from"] == "restored"
    truth = json.loads(call(file, *options, "-q", "--truth", "--mechanism", "grid").stdout)
    assert not truth["private"]
    errors = truth["maps"]["restored"]
    assert 0 < errors["total_variation"] < truth["maps"]["noisy"]["total_variation"]
    assert {"method", "total_variation", "earth_movers_distance", "largest_error_of_a_cell"} < set(errors)
    assert errors["earth_movers_distance_is_between_blocks_of"] == 1


def test_geo__says_what_it_would_do(file, tmp_path):
    page = tmp_path / "map.html"
    options = ["--lon", "lng", "--region", REGION, "--cell", "400m", "--epsilon", "5/km", "-o", page, "--dry-run"]
    done = call(file, *options)
    assert done.exit_code == 0, done.output
    assert "2,000 places" in done.output
    assert f"{GRID.shape[1]} x {GRID.shape[0]} cells of 400 m" in done.output
    assert json.loads(call(file, *options, "--json").stdout)["places"] == 2000
    assert not page.exists()
    wrong = call(file, *options[2:])
    assert wrong.exit_code == 3
    assert "'longitude'" in wrong.output


def test_geo__says_what_the_experiment_would_do(tmp_path):
    done = call("--experiment", "lecture", "--data", tmp_path, "--dry-run")
    assert done.exit_code == 0
    assert done.output.count("synthetic") == 2


def test_geo__repeats_the_lecture(tmp_path):
    page = tmp_path / "lecture.html"
    done = call("--experiment", "lecture", "--runs", "1", "--cell", "600m", "-o", page)
    assert done.exit_code == 0, done.output
    assert "wins in total variation" in done.output
    assert "synthetic" in Page(page.read_text()).text
    said = json.loads(call("--experiment", "lecture", "--runs", "1", "--cell", "600m", "-q", "--json").stdout)
    assert [city["city"] for city in said] == ["San Francisco", "Paris"]
    assert {(one["mechanism"], one["map"]) for one in said[0]["results"]} >= {("planar", "default"), ("krr", "ibu")}


def test_geo__needs_a_file_or_an_experiment():
    assert "name a FILE" in call("-o", "a.html").output


def test_help__has_examples():
    done = call("--help")
    assert done.exit_code == 0
    assert "Examples" in done.output
    assert json.dumps("ln(2)/100m") in done.output
