"""Blocks of the guides run, in the order of the page, and give what their comments say.

Doctests have tests of their own (test_pages.py), so has the page on engines (tests/integrations/test_examples.py).
"""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import fastdp as fd
from fastdp.cli import main

DOCS = Path(__file__).parents[2] / "docs"
ELSEWHERE = {"engines", "fairness", "protocols"}
STATED = re.compile(r"#\s+(-?\d+\.?\d*|\[[^\]]*\])(?=[:,;]|$)")
"""A comment that starts with what the line gives."""
NO_COMMANDS = {"prebuilt": "installs the package", "security": "runs tests", "fairness": "its data are not ours"}
RELEASE = """
[budget]
epsilon = 2.0
delta = 1e-9
[columns.income]
bounds = [0, 200000]
[[queries]]
name = "by_city"
group_by = ["city"]
keys = "select"
answers = ["count", "mean(income)"]
"""
RNG = np.random.default_rng(2026)


def blocks(page: str, language: str) -> list[str]:
    """Blocks of a language on a page that are no doctests."""
    flags = re.MULTILINE | re.DOTALL
    found = re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / f"{page}.md").read_text("utf-8"), flags)
    return [block for block in found if ">>>" not in block]


def pages(language: str) -> list[str]:
    return sorted(path.stem for path in DOCS.glob("*.md") if path.stem not in ELSEWHERE and blocks(path.stem, language))


def run(source: str, names: dict[str, Any]) -> Iterator[tuple[Any, str]]:
    """Run a block; each value that its comment states, beside what is stated."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        code = ast.get_source_segment(source, node)
        assert code is not None
        comment = STATED.search(lines[node.end_lineno - 1][node.end_col_offset :])  # type: ignore[operator]
        if isinstance(node, ast.Expr):
            value = eval(code, names)
            if comment:
                yield value, comment.group(1)
        else:
            exec(code, names)


def write_people(size: int = 4000) -> pa.Table:
    """People with everything that a guide asks of them, one row each but for those who come twice."""
    ages = RNG.integers(16, 95, size)
    table = pa.table({
        "user": RNG.integers(0, size // 2, size), "age": ages, "sex": RNG.choice(["f", "m"], size),
        "zip": RNG.choice(["75001", "75002", "69001"], size), "city": RNG.choice(["Paris", "Lyon"], size),
        "income": RNG.gamma(2.0, 20_000.0, size), "smoker": RNG.random(size) < 0.3,
        "severity": RNG.integers(1, 5, size),
        "job": pa.array(RNG.choice(["baker", "clerk", "nurse"], size)),
        "born": pa.array((RNG.integers(-5000, 12_000, size)).astype("datetime64[D]")),
    })  # fmt: skip
    pq.write_table(table, "people.parquet")
    return table


def accounting() -> dict[str, Any]:
    gaussian, krr = fd.Gaussian(epsilon=0.1, delta=1e-7, sensitivity=1.0), fd.KRR(epsilon=1.0, domain=4)
    return {
        "laplace": fd.Laplace(epsilon=0.1, sensitivity=1.0), "gaussian": gaussian, "krr": krr, "a": krr, "b": krr,
        "make": lambda scale: [(fd.Laplace(scale=scale, sensitivity=1.0), 10)],
    }  # fmt: skip


def anonymity() -> dict[str, Any]:
    table = write_people()
    pq.write_table(pa.concat_tables([table] * 3), "voters.parquet")
    parts = [fd.anonymity.classes(table.slice(start, 2000), ["age"], ["severity"]) for start in (0, 2000)]
    return {"table": table, "part_1": parts[0], "part_2": parts[1]}


def estimation() -> dict[str, Any]:
    truth = np.clip(RNG.normal(300, 60, 20_000), 0, 999).astype(np.int64)
    return {"noisy": fd.Geometric(epsilon=0.05, bounds=(0, 999)).randomize(truth), "np": np}


def learning() -> dict[str, Any]:
    rows, width = RNG.uniform(-1, 1, (2000, 3)), 40
    return {
        "low": -1, "high": 1, "X": rows, "y": rows[:, 0] > 0, "per_example_gradients": RNG.normal(size=(8, 5)),
        "d": width, "update": RNG.normal(size=width) / 10, "initial_weights": [np.zeros(width)],
        "losses": RNG.normal(size=30), "losses_of_candidates": RNG.normal(size=900),
        "messages": [np.zeros(width, np.uint64)] * 900,
    }  # fmt: skip


def locations() -> dict[str, Any]:
    grid = fd.locations.Grid.over(latitude=(48.82, 48.91), longitude=(2.25, 2.42), cell="250m")
    places = {"latitude": RNG.uniform(48.82, 48.91, 500), "longitude": RNG.uniform(2.25, 2.42, 500)}
    return {**places, "truth": grid.count_latlon(**places)}


def measures() -> dict[str, Any]:
    p, q = np.full(8, 1 / 8), np.eye(8)[0]
    return {"np": np, "p": p, "q": q, "cells": np.arange(8.0)}


def mechanisms() -> dict[str, Any]:
    counts = np.array([4.0, 3.0, 2.0, 1.0])
    return {
        "diagnoses": RNG.choice(["cold", "flu", "none"], 2000), "x": RNG.random(50), "y": RNG.random(50),
        "cells": RNG.integers(0, 1600, 50), "prior": counts,
        "distances": np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0))),
    }  # fmt: skip


def releases() -> dict[str, Any]:
    return {"table": write_people()}


def nothing() -> dict[str, Any]:
    write_people()
    return {}


SETUPS: dict[str, Callable[[], dict[str, Any]]] = {
    "accounting": accounting, "anonymity": anonymity, "estimation": estimation, "frequent_strings": nothing,
    "learning": learning, "locations": locations, "measures": measures, "mechanisms": mechanisms, "releases": releases,
    "selection": nothing, "synthetic": nothing,
}  # fmt: skip


def geo_files() -> None:
    places = {"latitude": RNG.uniform(48.82, 48.91, 300), "longitude": RNG.uniform(2.25, 2.42, 300)}
    pq.write_table(pa.table(places), "checkins.parquet")


def release_files() -> None:
    pq.write_table(write_people(), "visits.parquet")
    Path("release.toml").write_text(RELEASE)
    fd.Ledger.create("people.ledger", epsilon=50.0, delta=1e-5)


def synthetic_files() -> None:
    write_people()
    Path("synth.toml").write_text(blocks("synthetic", "toml")[0])
    fd.Ledger.create("people.ledger", epsilon=5.0, delta=1e-5, unit="person")


COMMANDS = {"locations": geo_files, "releases": release_files, "synthetic": synthetic_files}


def test_every_guide__is_run():
    assert set(pages("python")) == set(SETUPS)
    assert set(pages("sh")) == set(COMMANDS) | set(NO_COMMANDS) - ELSEWHERE


@pytest.mark.filterwarnings("ignore:.*click.utils:DeprecationWarning")  # Flower's
@pytest.mark.parametrize("page", SETUPS)
def test_blocks__run_and_give_what_they_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"fd": fd, **SETUPS[page]()}
    threads = fd.get_threads()
    for block in blocks(page, "python"):
        if "flwr" in block and importlib.util.find_spec("flwr") is None:
            continue  # its tests are tests/learning/test_flower.py
        for value, stated in run(block, names):
            expected = ast.literal_eval(stated)
            digits = len(stated.partition(".")[2])
            assert value == expected if isinstance(expected, list) else round(float(value), digits) == expected
    fd.set_threads(threads)


def test_statements__that_are_wrong_are_caught():
    names: dict[str, Any] = {}
    assert list(run("x = 2\nx + 1  # 3\n[x]  # [2]; a list\nx  # the rest", names)) == [(3, "3"), ([2], "[2]")]


@pytest.mark.parametrize("page", COMMANDS)
def test_commands__run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    COMMANDS[page]()
    for block in blocks(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            name, *given = shlex.split(line, comments=True)
            assert name == "fastdp"
            given, target = (given[:-2], given[-1]) if ">" in given else (given, None)
            done = CliRunner().invoke(main, given)
            assert done.exit_code == 0, (line, done.output)
            if target is not None:
                Path(target).write_text(done.stdout)


@pytest.mark.parametrize("text", blocks("plans", "toml"))
def test_plans__are_read(text):
    assert fd.Plan.from_dict(tomllib.loads(text)).to_dict()


def test_release_plan__is_read():
    (text,) = blocks("releases", "toml")
    assert [query.name for query in fd.ReleasePlan.loads(text).queries][:2] == ["by_city", "ages"]
