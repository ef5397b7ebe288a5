"""Outputs of every command: never an input, and all of them or none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import fastdp as fd
from fastdp.cli import main
from fastdp.cli.demo import people as demo
from fastdp.io import atomic
from tests.tables.people import PLAN, people


def call(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)], env={"COLUMNS": "200"})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "plan.csv").write_text(PLAN)
    pq.write_table(people(500), "in.parquet")
    fd.sanitize("in.parquet", fd.Plan.loads(PLAN), "out.parquet", rng=fd.Rng.unsafe_seed(1))
    return tmp_path


@pytest.fixture
def checkins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = np.random.default_rng(1)
    places = {"latitude": source.uniform(48.85, 48.88, 200), "longitude": source.uniform(2.32, 2.36, 200)}
    pq.write_table(pa.table(places), "checkins.parquet")
    return (
        "geo", "checkins.parquet", "--region", "48.85,48.88,2.32,2.36", "--cell", "1km", "--epsilon", "1/km",
        "--iterations", "5",
    )  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ("sanitize", "in.parquet", "-p", "plan.toml", "-o", "plan.toml", "--to", "csv", "--force"),
        ("sanitize", "in.parquet", "-p", "plan.toml", "-o", "o.csv", "--receipt", "plan.toml", "--force"),
        ("sanitize", "in.parquet", "-p", "plan.csv", "-o", "./plan.csv", "--force", "--dry-run"),
        ("estimate", "out.parquet", "-p", "plan.csv", "-o", "plan.csv", "--force"),
    ],
)
def test_plan__is_never_the_output(folder, words):
    done = call(*words)
    assert done.exit_code == 5
    assert "the output is the plan" in done.stderr
    assert (folder / "plan.toml").read_text() == (folder / "plan.csv").read_text() == PLAN


def test_experiment__never_replaces_its_data(tmp_path):
    (tmp_path / "paris.csv").write_text("precious")
    done = call("geo", "--experiment", "lecture", "--data", tmp_path, "-o", tmp_path / "paris.csv", "--force")
    assert done.exit_code == 5
    assert "the output is the data's paris.csv" in done.stderr
    assert (tmp_path / "paris.csv").read_text() == "precious"


@pytest.mark.parametrize("left", [1, 2])
def test_geo__whose_second_output_fails_leaves_both_old_ones(checkins, tmp_path, monkeypatch, left):
    page, grids = tmp_path / "map.html", tmp_path / "map.arrow"
    page.write_text("old page")
    grids.write_text("old grids")
    real = atomic.flush_folder

    def fail(folder):
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(28, "No space left on device")
        real(folder)

    monkeypatch.setattr(atomic, "flush_folder", fail)
    done = call(*checkins, "-o", page, "--grids", grids, "--force")
    assert done.exit_code == 5
    assert "No space left" in done.stderr
    assert (page.read_text(), grids.read_text()) == ("old page", "old grids")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_estimate__that_fails_leaves_the_old_output(folder, monkeypatch):
    (folder / "found.csv").write_text("old estimates")

    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic, "flush_folder", fail)
    assert call("estimate", "out.parquet", "-o", "found.csv", "--force").exit_code == 5
    assert (folder / "found.csv").read_text() == "old estimates"


def test_demo__checks_every_name_before_it_works(tmp_path):
    (tmp_path / "private.parquet.receipt.json").write_text("mine")
    done = call("demo", "--rows", "10", "--keep", tmp_path)
    assert done.exit_code == 5
    assert "private.parquet.receipt.json' exists" in done.stderr
    assert len(list(tmp_path.iterdir())) == 1


def test_demo__that_is_interrupted_leaves_no_partial_table(tmp_path, monkeypatch):
    def interrupted(_):
        yield from ()
        raise KeyboardInterrupt

    monkeypatch.setattr("fastdp.cli.demo._compile", lambda *_, **__: None)
    monkeypatch.setattr(demo, "batches", interrupted)
    assert call("demo", "--rows", "5000", "--keep", tmp_path).exit_code == 130
    assert not list(tmp_path.iterdir())
