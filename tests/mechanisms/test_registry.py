"""The registry: mechanisms of other packages, and names that are looked up in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fastdp as fd
from fastdp.mechanisms.registry import find_protocol, rows

MODULE = '''
"""A package with a mechanism of its own."""

from dataclasses import dataclass, field
from typing import Any

from fastdp.mechanisms.base import set_fields
from fastdp.mechanisms.local.frequencies import CategoryReports
from fastdp.mechanisms.local.krr import KRR
from fastdp.mechanisms.registry import Row, Warmup, Word

ROW = Row(
    "coins", "HalfKRR", "local", "categories", (Word("half_krr"),), (Warmup({"epsilon": 1.0, "domain": 4}),)
)
TAKEN = Row("coins", "HalfKRR", "local", "categories", (Word("krr"),))
WRONG = "HalfKRR"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HalfKRR(CategoryReports):
    """k-RR with half of epsilon."""

    epsilon: Any
    domain: Any
    _inner: KRR = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        inner = KRR(epsilon=self.epsilon / 2, domain=self.domain)
        set_fields(self, domain=inner.domain, _inner=inner)

    p = property(lambda self: self._inner.p)
    q = property(lambda self: self._inner.q)
    privacy = property(lambda self: self._inner.privacy)

    def channel(self):
        return self._inner.channel()

    def randomize(self, values, *, rng=None, nulls="error"):
        return self._inner.randomize(values, rng=rng, nulls=nulls)

    def aggregate(self, reports):
        return self._inner.aggregate(reports)
'''
USE = """
import pyarrow as pa
import fastdp as fd
from fastdp.cli.warmup.compiled import jobs

mechanism = fd.Mechanism.from_dict({"type": "HalfKRR", "epsilon": 8.0, "domain": ["a", "b"]})
assert eval(repr(mechanism), {"HalfKRR": type(mechanism)}) == mechanism
plan = fd.Plan(columns={"x": {"mechanism": "half_krr", "epsilon": 8.0, "domain": ["a", "b"]}})
assert 3.9 < plan.privacy.record.epsilon <= 4
table = fd.sanitize(pa.table({"x": ["a", "b", "a"] * 1000}), plan)
assert table.schema.field("x").type == pa.string()
assert fd.estimate_table(table, plan)["x"]
assert abs(fd.estimate(mechanism, table["x"]).distribution[0] - 2 / 3) < 0.1
split = fd.SplitBudget(epsilon=2.0, domains={"x": 3, "y": 4}, protocol="half_krr")
assert fd.Mechanism.from_dict(split.to_dict()) == split
assert [name for name, _ in jobs() if "HalfKRR" in name] == ["HalfKRR int64"]
"""


def _install(folder: Path, **points: str) -> None:
    """A package as pip leaves it: a module and its metadata."""
    (folder / "coins.py").write_text(MODULE)
    metadata = folder / "coins-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: coins\nVersion: 1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    (metadata / "entry_points.txt").write_text(f"[fastdp.mechanisms]\n{lines}")


def _run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(folder), *filter(None, sys.path)])
    environment = os.environ | {"PYTHONPATH": paths}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)


def test_entry_points__add_mechanisms(tmp_path):
    """A mechanism of another package is known to plans, dicts, tables, estimates and warmup."""
    _install(tmp_path, half="coins:ROW")
    done = _run(tmp_path, USE)
    printed = [line for line in done.stderr.splitlines() if not line.startswith("fastdp: compiling kernels")]
    assert (done.returncode, printed) == (0, [])


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("coins:TAKEN", "the name 'krr' is another mechanism's"),
        ("coins:WRONG", "its entry point must name a Row, got str"),
        ("coins:ABSENT", "has no attribute 'ABSENT'"),
        ("absent:ROW", "No module named 'absent'"),
    ],
)
def test_entry_points__that_are_broken_are_left_out(tmp_path, target, message):
    """With a warning, and nothing of fastdp's own is replaced or lost."""
    _install(tmp_path, broken=target)
    code = "from fastdp.plans.spec import MECHANISMS; assert MECHANISMS['krr'].name == 'KRR'"
    done = _run(tmp_path, code)
    assert done.returncode == 0
    assert "the mechanism 'broken' of another package is left out" in done.stderr
    assert message in done.stderr


def test_rows__load_what_they_name():
    for row in rows():
        assert row.load().__name__ == row.name
        assert row.family in row.load().__module__


def test_find_protocol__takes_classes_names_and_plan_words():
    assert find_protocol("owner", fd.KRR) == (fd.KRR, fd.KRR)
    assert find_protocol("owner", "KRR") == find_protocol("owner", "krr") == (fd.KRR, fd.KRR)
    named, build = find_protocol("owner", "blh")
    assert named == "blh"
    assert build(epsilon=1.0, domain=8) == fd.LocalHashing(epsilon=1.0, domain=8, g=2)
    with pytest.raises(fd.ParameterError, match="owner: .*krrr.*krr"):
        find_protocol("owner", "krrr")
