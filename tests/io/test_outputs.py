"""Outputs that replace others: all of them, or the old ones are back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import fastdp as fd
from fastdp.io import atomic
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize
from tests.patience import PATIENCE
from tests.tables.files import path_for
from tests.tables.people import COLUMNS, people

PLAN = Plan(columns=COLUMNS)
KINDS = ("parquet", "arrow", "arrows", "csv")
FULL = OSError(28, "No space left on device")


def old_release(folder: Path, kind: str) -> tuple[Path, Path]:
    """A release of an earlier day, and its receipt."""
    out = Path(path_for(folder / "out", kind))
    receipt = folder / f"{out.name}.receipt.json"
    out.write_text("precious\n")
    receipt.write_text("its receipt\n")
    return out, receipt


def fail_at(monkeypatch, owner, name, left, error=FULL):
    """Let one call of a function raise, as a disk or a signal would."""
    real = getattr(owner, name)

    def fail(*given, **named):
        nonlocal left
        left -= 1
        if left == 0:
            raise error
        return real(*given, **named)

    monkeypatch.setattr(owner, name, fail)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("owner", "name", "left"),
    [
        *((os, "fsync", left) for left in (1, 2, 3, 4)),
        (atomic.AtomicFile, "commit", 1),
        (atomic.AtomicFile, "commit", 2),
        (Path, "replace", 1),
        (Path, "replace", 2),
        (Path, "rename", 1),
    ],
)
def test_replacing__that_fails_leaves_the_old_files(tmp_path, monkeypatch, kind, owner, name, left):
    out, receipt = old_release(tmp_path, kind)
    with monkeypatch.context() as patched:
        fail_at(patched, owner, name, left)
        with pytest.raises(OSError, match="No space left"):
            sanitize(people(50), PLAN, out, force=True)
    assert (out.read_text(), receipt.read_text()) == ("precious\n", "its receipt\n")
    assert sorted(tmp_path.iterdir()) == [out, receipt]


@pytest.mark.parametrize("left", [1, 2])
def test_replacing__that_is_interrupted_right_after_a_rename_leaves_the_old_files(tmp_path, monkeypatch, left):
    """Ctrl-C can come between any two steps."""
    out, receipt = old_release(tmp_path, "csv")
    fail_at(monkeypatch, atomic, "flush_folder", left, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        sanitize(people(50), PLAN, out, force=True)
    assert (out.read_text(), receipt.read_text()) == ("precious\n", "its receipt\n")
    assert sorted(tmp_path.iterdir()) == [out, receipt]


@pytest.mark.parametrize("links", [True, False])
def test_replacing__that_succeeds_leaves_the_new_files_alone(tmp_path, monkeypatch, links):
    out, receipt = old_release(tmp_path, "csv")
    if not links:
        monkeypatch.delattr(os, "link")
        monkeypatch.setattr(os, "link", lambda *_, **__: (_ for _ in ()).throw(OSError(95, "no links")), raising=False)
    sanitize(people(50), PLAN, out, force=True)
    assert out.read_text().count("\n") == 51
    assert '"rows": 50' in receipt.read_text()
    assert sorted(tmp_path.iterdir()) == [out, receipt]


def test_replacing__without_links_still_puts_the_old_files_back(tmp_path, monkeypatch):
    out, receipt = old_release(tmp_path, "csv")
    monkeypatch.setattr(os, "link", lambda *_, **__: (_ for _ in ()).throw(OSError(95, "no links")))
    fail_at(monkeypatch, atomic.AtomicFile, "commit", 2)
    with pytest.raises(OSError, match="No space left"):
        sanitize(people(50), PLAN, out, force=True)
    assert (out.read_text(), receipt.read_text()) == ("precious\n", "its receipt\n")


def test_symbolic_links__are_replaced_and_put_back_as_such(tmp_path, monkeypatch):
    real, out = tmp_path / "real.csv", tmp_path / "out.csv"
    real.write_text("precious\n")
    out.symlink_to(real)
    with monkeypatch.context() as patched:
        fail_at(patched, atomic.AtomicFile, "commit", 2)
        with pytest.raises(OSError, match="No space left"):
            sanitize(people(50), PLAN, out, force=True)
    assert out.is_symlink()
    sanitize(people(50), PLAN, out, force=True)
    assert not out.is_symlink()
    assert real.read_text() == "precious\n"


def test_folder__whose_receipt_cannot_be_placed_leaves_the_old_receipt(tmp_path, monkeypatch):
    receipt = tmp_path / "out.receipt.json"
    receipt.write_text("of another day\n")
    fail_at(monkeypatch, atomic, "flush_folder", 1)
    with pytest.raises(OSError, match="No space left"):
        sanitize(people(50), PLAN, f"{tmp_path}/out/", force=True)
    assert receipt.read_text() == "of another day\n"
    assert sorted(tmp_path.iterdir()) == [receipt]


def test_receipt_of_standard_output__is_put_back(tmp_path, monkeypatch, capfdbinary):
    receipt = tmp_path / "r.json"
    receipt.write_text("of another day\n")
    fail_at(monkeypatch, atomic, "flush_folder", 1)
    with pytest.raises(OSError, match="No space left"):
        sanitize(people(50), PLAN, "-", output_format="csv", receipt=receipt, force=True)
    assert receipt.read_text() == "of another day\n"


KILL = """
import os, signal, sys
from fastdp.io import atomic
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize
from tests.tables.people import COLUMNS, people

real, left = atomic.AtomicFile.commit, [2]

def die(file):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    real(file)

atomic.AtomicFile.commit = die
sanitize(people(50), Plan(columns=COLUMNS), sys.argv[1], force=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
def test_kill_between_two_renames__leaves_no_receipt_of_another_release(tmp_path):
    out, receipt = old_release(tmp_path, "csv")
    done = subprocess.run([sys.executable, "-c", KILL, str(out)], timeout=PATIENCE, cwd=Path.cwd())
    assert done.returncode == -signal.SIGKILL
    assert out.read_text().count("\n") == 51
    assert not receipt.exists()


class TestPlanFile:
    """The plan is an input too: no output and no receipt may replace it."""

    @pytest.fixture
    def plan(self, tmp_path):
        path = tmp_path / "plan.toml"
        path.write_text('[columns.ill]\nmechanism = "randomized_response"\nepsilon = 1.0\n')
        return path

    @pytest.mark.parametrize("named", ["plan.toml", "link.csv"])
    def test_output__is_not_the_plan(self, tmp_path, plan, named):
        if named != plan.name:
            (tmp_path / named).symlink_to(plan)
        before = plan.read_text()
        with pytest.raises(fd.OutputExistsError, match="the output is the plan"):
            sanitize({"ill": [True]}, Plan.load(plan), tmp_path / named, output_format="csv", force=True)
        assert plan.read_text() == before

    def test_receipt__is_not_the_plan(self, tmp_path, plan):
        with pytest.raises(fd.OutputExistsError, match="the output is the plan"):
            sanitize({"ill": [True]}, Plan.load(plan), tmp_path / "o.csv", receipt=plan, force=True)

    def test_path__is_no_part_of_what_a_plan_says(self, plan):
        loaded = Plan.load(plan)
        assert loaded == Plan.loads(plan.read_text())
        assert "path" not in loaded.to_dict()
