"""Every command once, on every kind of file: what must work with the oldest versions of all dependencies, too."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastdp.cli import main
from fastdp.cli.main import COMMANDS
from tests.tables.files import KINDS, path_for, write
from tests.tables.people import PLAN, people

ANONYMOUS = """
k = 5
sensitive = "disease"
drop = ["name", "income", "ill"]
[quasi]
age = { intervals = [10, 40] }
region = { suppress = true }
"""
RELEASE = """
[budget]
epsilon = 1.0
[columns.income]
bounds = [0, 100000]
[[queries]]
answers = ["count", "mean(income)"]
"""
SYNTH = """
[budget]
epsilon = 1.0
[columns]
age = { bins = 4, bounds = [0, 120] }
income = { bins = 3, bounds = [0, 200000], nulls = true }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "anon.toml").write_text(ANONYMOUS)
    (tmp_path / "release.toml").write_text(RELEASE)
    (tmp_path / "synth.toml").write_text(SYNTH)
    pq.write_table(people(500), "people.parquet")
    source = np.random.default_rng(1)
    places = {"latitude": source.uniform(48.85, 48.88, 500), "longitude": source.uniform(2.32, 2.36, 500)}
    pq.write_table(pa.table(places), "places.parquet")
    return tmp_path


def call(capfd, *words: str) -> str:
    """What a command prints; click's own runner differs from version to version."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    printed = capfd.readouterr()
    assert ended.value.code == 0, printed.err
    assert "Traceback" not in printed.err
    return printed.out


GEO = ("geo", "places.parquet", "--region", "48.85,48.88,2.32,2.36", "--cell", "500m", "--epsilon", "2/km")
CALLS = [
    ("demo", "--rows", "3000", "--keep", "kept", "--json", "-q"),
    ("plan", "init", "people.parquet"),
    ("plan", "check", "plan.toml", "people.parquet"),
    ("plan", "check", "plan.toml", "--json"),
    ("sanitize", "people.parquet", "-p", "plan.toml", "--dry-run"),
    ("sanitize", "people.parquet", "-p", "plan.toml", "-o", "out.parquet", "--shuffle", "-v"),
    ("sanitize", "people.parquet", "-p", "plan.toml", "-o", "-", "--to", "csv"),
    (*GEO, "--iterations", "20", "--truth", "-o", "map.html", "--grids", "map.arrow", "--json"),
    (*GEO, "--mechanism", "grid", "--iterations", "20", "--grids", "map.csv"),
    ("geo", "--experiment", "lecture", "--dry-run"),
    ("release", "init", "people.parquet"),
    ("release", "people.parquet", "-p", "release.toml", "--explain"),
    ("release", "people.parquet", "-p", "release.toml", "-o", "answers.parquet", "--html", "page.html", "--json"),
    ("synthesize", "people.parquet", "-p", "synth.toml", "--explain"),
    ("synthesize", "people.parquet", "-p", "synth.toml", "-o", "synthetic.parquet", "--json"),
    ("budget", "create", "people.ledger", "--epsilon", "2"),
    ("audit", "epsilon", "KRR(epsilon=1, domain=4)", "0", "1", "--draws", "1e4", "-o", "audit.html"),
    ("audit", "epsilon", "Geometric(epsilon=1)", "--draws", "1e4", "--seed", "1", "--json"),
    ("audit", "attack", "reconstruction", "--size", "1000", "-o", "attack.html", "--json"),
    ("audit", "attack", "linkage", "people.parquet", "people.parquet", "--on", "disease,age"),
    ("audit", "--help"),
    ("audit", "anonymity", "people.parquet", "--quasi", "region,age", "-o", "classes.html", "--json"),
    ("anonymize", "people.parquet", "-p", "anon.toml", "-o", "anonymous.parquet"),
    ("bench", "--dry-run"),
    ("bench", "--readme", "--dry-run"),
    ("docs", "--help"),
    ("warmup", "--dry-run"),
    ("doctor",),
    ("doctor", "--json"),
    *(("completion", shell) for shell in ("bash", "zsh", "fish")),
    ("estimate", "--help"),  # these two on every kind of file below
    ("verify", "--help"),
    ("report", "--help"),
]


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_command__runs(folder, capfd, words):
    out = call(capfd, *words)
    assert out or "-o" in words or "--grids" in words
    if "--json" in words:
        json.loads(out)


def test_calls__are_of_every_command():
    assert {words[0] for words in CALLS} == set(COMMANDS)


@pytest.mark.parametrize("kind", KINDS)
def test_files__of_every_kind_are_planned_sanitized_and_estimated(folder, capfd, kind):
    source = write(people(500), folder / "in", kind)
    assert "[columns.disease]" in call(capfd, "plan", "init", source)
    out = path_for(folder / "out", kind)
    call(capfd, "sanitize", source, "-p", "plan.toml", "-o", out)
    assert "agrees" in call(capfd, "verify", out, "-p", "plan.toml")
    assert json.loads(call(capfd, "estimate", out, "--bins", "4", "--json"))
    assert "disease" in call(capfd, "estimate", out, "-p", "plan.toml", "-c", "disease", "--chart")
    call(capfd, "estimate", out, "-o", "found.parquet")
    assert pq.read_table("found.parquet").num_rows
