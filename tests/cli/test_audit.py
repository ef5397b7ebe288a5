"""fastdp audit epsilon and attack, as a person uses them."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from fastdp.cli import main

CANARY = "Zaphod4242"


def call(*words: str):
    return CliRunner().invoke(main, ["audit", *words], env={"COLUMNS": "200"})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = np.random.default_rng(1)
    n = 2000
    names = np.array(["flu", "none", CANARY])[source.integers(0, 3, n)]
    people = {"zip": source.integers(0, 300, n), "age": source.integers(0, 80, n), "disease": names}
    pq.write_table(pa.table(people), "people.parquet")
    pa.csv.write_csv(pa.table(people), "people.csv")
    pq.write_table(pa.table({"person": np.arange(n) // 8, "item": source.integers(0, 500, n)}), "ratings.parquet")
    pq.write_table(pa.table({"a": source.integers(0, 400, n), "b": source.integers(0, 400, n)}), "edges.parquet")
    hashes = [hashlib.sha1(f"{i % 10}{i % 7}".encode()).hexdigest() for i in range(n)]
    pq.write_table(pa.table({"licence": hashes}), "trips.parquet")
    (tmp_path / "own_releases.py").write_text(
        "import numpy as np\n"
        "def noisy(value, count): return value + np.random.default_rng(1).laplace(size=count)\n"
        "def exact_mean(bits): return bits.mean()\n"
        "def exact_count(bits): return bits.sum()\n"
        "def means(rows): return rows.mean(axis=0)\n"
        "def as_it_is(given): return given\n"
        "def md5(texts):\n"
        "    import hashlib\n"
        "    return [hashlib.md5(str(text).encode()).hexdigest() for text in texts]\n"
    )
    return tmp_path


def test_epsilon__says_what_is_proven(folder):
    done = call("epsilon", "Laplace(epsilon=1, sensitivity=1)", "0.0", "1.0", "--draws", "2e5", "--seed", "3")
    assert done.exit_code == 0
    assert "not refuted" in done.stdout
    assert "fixed seed" in done.stdout


def test_epsilon__ends_with_one_if_refuted(folder):
    done = call("epsilon", "own_releases:noisy", "0.0", "1.0", "--claimed", "1", "--draws", "2e5", "-o", "page.html")
    assert done.exit_code == 1
    assert "refuted" in done.stdout
    assert "binary digits" in (folder / "page.html").read_text()


def test_epsilon__audits_by_json(folder):
    found = json.loads(
        call("epsilon", "KRR(epsilon=1, domain=['x', 'y'])", "x", "y", "--json", "--draws", "1e4").stdout
    )
    assert found["pair"] == ["x", "y"]
    assert found["epsilon"] <= found["exact"]


@pytest.mark.parametrize(
    "words",
    [
        ("epsilon",), ("epsilon", "KRR(epsilon=1, domain=4)", "0"), ("epsilon", "KRR(1, 4)"),
        ("epsilon", "__import__('os').getcwd()"), ("epsilon", "nomodule:nothing", "0", "1"),
        ("epsilon", "KRR(epsilon=1, domain=4)", "--all"), ("epsilon", "KRR(epsilon=1, domain=4)", "--draws", "many"),
        ("attack", "reconstruction", "people.parquet"), ("attack", "linkage", "people.parquet", "people.parquet"),
        ("attack", "nothing"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_usage__is_refused_in_one_line(folder, words):
    done = call(*words)
    assert done.exit_code == 2
    assert done.stderr.startswith("fastdp: ")
    assert done.stderr.count("\n") == 1


ATTACKS = [
    ("differencing", "people.parquet", "--column", "disease", "--equals", "flu"),
    ("differencing", "people.csv", "--column", "disease", "--equals", "flu", "--release", "own_releases:exact_mean"),
    ("averaging", "--repeats", "50"),
    ("reconstruction", "people.parquet", "--column", "disease", "--equals", "flu"),
    ("tracing", "--people", "20", "--attributes", "500"),
    ("uniform", "--width", "5"),
    ("lattice", "--release", "Staircase(epsilon=1, sensitivity=1)"),
    ("linkage", "people.parquet", "people.csv", "--on", "zip,age"),
    ("composition", "people.parquet", "people.csv", "--on-first", "zip", "--on-second", "age"),
    ("similarity", "ratings.parquet", "ratings.parquet"),
    ("topology", "edges.parquet"),
    ("dictionary", "trips.parquet", "--column", "licence", "--pattern", "99", "--algorithm", "sha1"),
    ("tracker", "people.csv", "--column", "disease", "--equals", "flu", "--on", "zip,age"),
]


OWN = [
    ("differencing", "--size", "1e4", "--release", "own_releases:exact_mean"),
    ("averaging", "--release", "own_releases:noisy"),
    ("reconstruction", "--size", "1e4", "--release", "own_releases:as_it_is"),
    ("tracing", "--people", "20", "--attributes", "500", "--release", "own_releases:means"),
    ("uniform", "--release", "own_releases:noisy"),
    ("lattice", "--release", "own_releases:noisy"),
    ("linkage", "people.parquet", "people.csv", "--on", "zip,age", "--release", "own_releases:as_it_is"),
    ("composition", "people.parquet", "people.parquet", "--on-first", "zip", "--on-second", "age", "--release",
     "own_releases:as_it_is"),
    ("similarity", "ratings.parquet", "ratings.parquet", "--release", "own_releases:as_it_is"),
    ("topology", "edges.parquet", "--release", "own_releases:as_it_is"),
    ("dictionary", "plates.parquet", "--column", "plate", "--pattern", "99", "--release", "own_releases:md5"),
    ("tracker", "people.csv", "--column", "disease", "--equals", "flu", "--on", "zip,age", "--release",
     "own_releases:exact_count"),
]  # fmt: skip


@pytest.mark.parametrize("words", OWN, ids=lambda words: words[0])
def test_attacks__take_a_callable_of_the_callers(folder, words):
    """Exact releases fall as the first one does; fastdp's budget does better than each."""
    plates = [f"{i % 10}{i % 7}" for i in range(2000)]
    pq.write_table(pa.table({"plate": plates}), "plates.parquet")
    done = call("attack", *words, "--json")
    assert done.exit_code == 0, done.output
    found = {name: one["success"] for name, one in json.loads(done.stdout).items()}
    assert "your release" in found
    if words[0] not in {"averaging", "uniform", "lattice"}:
        first = next(iter(found.values()))
        assert found["your release"] == pytest.approx(first, abs=0.01)
        assert found["fastdp, one budget"] < found["your release"]


def test_attacks__on_tables_refuse_a_mechanism(folder):
    done = call("attack", "linkage", "people.csv", "people.csv", "--on", "zip", "--release", "KRR(epsilon=1, domain=4)")
    assert (done.exit_code, "module:callable" in done.stderr) == (2, True)


@pytest.mark.parametrize("words", ATTACKS, ids=" ".join)
def test_attacks__run_and_show_no_value(folder, words):
    done = call("attack", *words, "-o", "page.html")
    assert done.exit_code == 0, done.output
    page = (folder / "page.html").read_text()
    assert "defence: " in done.stdout
    assert "What defends" in page
    for text in (done.output, page):
        assert CANARY not in text
    found = json.loads(call("attack", *words, "--json").stdout)
    first = next(iter(found.values()))
    assert first["success"] > first["baseline"]
    if "fastdp, one budget" in found:
        assert found["fastdp, one budget"]["success"] < first["success"]


def test_attacks__fail_above_a_threshold(folder):
    words = ("attack", "differencing", "people.parquet", "--column", "disease", "--equals", "flu")
    assert call(*words, "--fail-above", "0.99").exit_code == 0
    assert call(*words, "--fail-above", "0.9", "--release", "own_releases:exact_mean").exit_code == 1


def test_attacks__refuse_by_name_before_work(folder):
    done = call("attack", "differencing", "people.parquet", "--column", "disease")
    assert (done.exit_code, CANARY in done.stderr) == (3, False)
    assert "--equals" in done.stderr
    assert "no column 'salary'" in call("attack", "reconstruction", "people.csv", "--column", "salary").stderr
    (folder / "page.html").write_text("here")
    assert call("attack", "uniform", "-o", "page.html").exit_code == 5
