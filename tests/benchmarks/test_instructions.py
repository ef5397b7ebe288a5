"""The gate on instructions: what is read from callgrind, and when it closes."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner

from benchmarks import instructions
from benchmarks.instructions import judge, per_record, read_counts


def counted(versions=None, **counts):
    return {"versions": {"llvmlite": "0.50.0", **(versions or {})}, "per_record": counts}


def test_read_counts__takes_named_dumps_only(tmp_path):
    (tmp_path / "counts.1").write_text("desc: Trigger: Client Request: krr 100\nevents: Ir\nsummary: 5000\n")
    (tmp_path / "counts.2").write_text("desc: Trigger: Client Request: krr 300\nevents: Ir\nsummary: 9000\n")
    (tmp_path / "counts").write_text("desc: Trigger: Program termination\nsummary: 18446744073670887502\n")
    found = read_counts(tmp_path)
    assert found == {"krr": {100: 5000, 300: 9000}}
    assert per_record(found) == {"krr": 20.0}


@pytest.mark.parametrize(("count", "worse"), [(100.0, False), (104.9, False), (105.1, True), (50.0, False)])
def test_judge__closes_above_five_percent(count, worse):
    lines, found = judge(counted(krr=count), counted(krr=100.0))
    assert found == worse
    assert ("MORE THAN ALLOWED" in lines[0]) == worse


def test_judge__another_compiler_is_not_judged():
    lines, worse = judge(counted({"llvmlite": "0.51.0"}, krr=200.0), counted(krr=100.0))
    assert not worse
    assert "not judged" in lines[-1]
    assert "--write" in lines[-1]


def test_judge__a_kernel_that_was_not_counted_is_a_failure():
    assert judge(counted(), counted(krr=100.0))[1]
    assert not judge(counted(new=1.0), counted())[1]
    assert not judge(counted(new=1.0), None)[1]


def test_main__without_the_tool_says_so_and_passes(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    done = CliRunner().invoke(instructions.main, ["--check"])
    assert done.exit_code == 0
    assert "skipped, valgrind is not installed" in done.output


@pytest.mark.parametrize(("count", "code"), [(10.0, 0), (11.0, 1)])
def test_main__fails_on_a_regression_if_asked_to_check(monkeypatch, tmp_path, count, code):
    reference = tmp_path / "instructions.json"
    reference.write_text(json.dumps({instructions.TARGET: counted(krr=10.0)}))
    monkeypatch.setattr(instructions, "REFERENCE", reference)
    monkeypatch.setattr(instructions, "missing", lambda: None)
    monkeypatch.setattr(instructions, "measure", lambda: counted(krr=count))
    assert CliRunner().invoke(instructions.main, ["--check"]).exit_code == code
    assert CliRunner().invoke(instructions.main).exit_code == 0
    assert CliRunner().invoke(instructions.main, ["--write"]).exit_code == 0
    assert json.loads(reference.read_text())[instructions.TARGET]["per_record"] == {"krr": count}


def test_kernels__are_the_five_of_the_reference():
    assert set(instructions.stored()[instructions.TARGET]["per_record"]) == set(instructions.kernels())
    assert len(instructions.kernels()) == 5


@pytest.mark.slow
@pytest.mark.skipif(instructions.missing() is not None, reason=instructions.missing() or "")
def test_counts__are_the_same_every_time():
    """To 1 %, whatever else the machine does."""
    first, second = (instructions.measure()["per_record"] for _ in range(2))
    for name, count in first.items():
        assert second[name] == pytest.approx(count, rel=0.01)
