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
    assert page.read_text() == "mine"


def test_geo__repeats_the_lecture(tmp_path):
    page = tmp_path / "lecture.html"
    done = call("--experiment", "lecture", "--runs", "1", "--cell", "600m", "-o", page)
    assert done.exit_code == 0, done.output
    assert "wins in total variation" in done.output
    assert "synthetic" in Page(page.read_text()).text


def test_geo__needs_a_file_or_an_experiment():
    assert "name a FILE" in call("-o", "a.html").output


def test_help__has_examples():
    done = call("--help")
    assert done.exit_code == 0
    assert "Examples" in done.output
    assert json.dumps("ln(2)/100m") in done.output
