"""``fastdp sanitize`` and ``fastdp plan``, as a person uses them."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import tomllib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import fastdp as fd
from fastdp.cli import main
from fastdp.plans.plan import Plan
from tests.patience import PATIENCE
from tests.tables.people import PLAN, people


@pytest.fixture
def folder(tmp_path, monkeypatch):
    pq.write_table(people(), tmp_path / "people.parquet")
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: str):
    return CliRunner().invoke(main, list(arguments))


SANITIZE = ("sanitize", "people.parquet", "-p", "plan.toml")


def test_sanitize__writes_the_file_and_says_so_on_stderr(folder):
    done = call(*SANITIZE, "-o", "out.parquet")
    assert done.exit_code == 0
    assert done.stdout == ""
    assert "5,000 records" in done.stderr
    assert "epsilon 3.5" in done.stderr
    assert "d-privacy" in done.stderr
    assert pq.read_table("out.parquet").num_rows == 5000
    assert (folder / "out.parquet.receipt.json").exists()


def test_sanitize__json_is_the_receipt_and_quiet_is_quiet(folder):
    done = call(*SANITIZE, "-o", "out.parquet", "--json", "-q")
    assert json.loads(done.stdout) == json.loads((folder / "out.parquet.receipt.json").read_text())
    assert done.stderr == ""


def test_dry_run__writes_nothing(folder):
    before = sorted(folder.iterdir())
    done = call(*SANITIZE, "-o", "out.parquet", "-n")
    assert done.exit_code == 0
    assert "laplace" in done.stdout
    assert json.loads(call(*SANITIZE, "-n", "--json").stdout)["rows"] == 5000
    assert sorted(folder.iterdir()) == before


LOST = """
import ctypes, os, signal, sys
from fastdp.cli import main
from fastdp.tables.sanitizing.job import Job

real, name = Job.write, sys.argv.pop()
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it would be ignored, and rightly so

@ctypes.CFUNCTYPE(None)
def call_back():
    os.kill(os.getpid(), getattr(signal, name))
    for _ in range(1000):  # the handler runs in here
        pass

def write(*given):
    call_back()
    return real(*given)

Job.write = write
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("name", "status"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_signals__that_come_during_a_call_back_from_c_are_not_lost(folder, name, status):
    """What a handler raises is ignored there, as where compiled kernels are loaded; the next batch ends the work."""
    arguments = ["sanitize", "people.parquet", "-p", "plan.toml", "-o", "lost.parquet", name]
    done = subprocess.run([sys.executable, "-c", LOST, *arguments], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    assert not list(folder.glob("*lost*"))


def test_sorted_input__is_warned_of(folder):
    (folder / "x.toml").write_text('[columns.x]\nmechanism = "laplace"\nepsilon = 1.0\nbounds = [0, 1]\n')
    pq.write_table(pa.table({"x": np.linspace(0, 1, 1000)}), "x.parquet")
    done = call("sanitize", "x.parquet", "-p", "x.toml", "-o", "y.parquet")
    assert done.exit_code == 0
    assert "warning: sanitize: column 'x' arrived sorted" in done.stderr


class TestExitCodes:
    """2 for usage and parameters, 3 for bad input, 5 for the output; one line each, no traceback."""

    def check(self, code, *arguments):
        done = call(*arguments)
        assert done.exit_code == code
        assert "Traceback" not in done.output
        assert done.stdout == ""
        return done.stderr

    def test_no_output__is_usage(self, folder):
        assert "-o OUT" in self.check(2, *SANITIZE)

    def test_bad_plan__is_a_parameter(self, folder):
        (folder / "plan.toml").write_text(PLAN.replace("epsilon = 1.5", "epsilom = 1.5"))
        said = self.check(2, *SANITIZE, "-o", "out.parquet")
        assert said == "fastdp: Plan: column 'disease': unknown key 'epsilom'; did you mean 'epsilon'?\n"

    def test_unnamed_column__is_bad_input(self, folder):
        (folder / "plan.toml").write_text('[columns.name]\naction = "drop"\n')
        assert "'region' is not in the plan" in self.check(3, *SANITIZE, "-o", "out.parquet")

    def test_corrupt_file__is_bad_input(self, folder):
        content = (folder / "people.parquet").read_bytes()
        (folder / "people.parquet").write_bytes(content[: len(content) // 2])
        self.check(3, *SANITIZE, "-o", "out.parquet")
        assert sorted(path.name for path in folder.iterdir()) == ["people.parquet", "plan.toml"]

    def test_existing_output__is_refused(self, folder):
        (folder / "out.parquet").write_text("mine")
        assert "exists" in self.check(5, *SANITIZE, "-o", "out.parquet")
        assert call(*SANITIZE, "-o", "out.parquet", "--force").exit_code == 0

    def test_input_as_output__is_refused(self, folder):
        assert "in place" in self.check(5, *SANITIZE, "-o", "people.parquet", "--force")

    def test_missing_folder__is_named(self, folder):
        assert "folder does not exist: 'none'" in self.check(5, *SANITIZE, "-o", "none/out.parquet")


def test_plan_init__is_a_plan_made_of_names_and_types(folder):
    done = call("plan", "init", "people.parquet")
    assert done.exit_code == 0
    assert set(tomllib.loads(done.stdout)["columns"]) == set(people(1).column_names)
    assert "person 0" not in done.stdout
    Plan.loads(done.stdout)


@pytest.mark.parametrize("name", ["a b", 'quo"te', "dot.ted", "", "naïve", "line\nbreak", "del\x7f", "back\\slash"])
def test_plan_init__quotes_names(folder, name):
    pq.write_table(pa.table({name: [1]}), "x.parquet")
    assert list(tomllib.loads(call("plan", "init", "x.parquet").stdout)["columns"]) == [name]


def test_plan_check__explains(folder):
    done = call("plan", "check", "plan.toml", "people.parquet")
    assert done.exit_code == 0
    for expected in ("krr", "epsilon 1.5", "per distance 5", "on each", "public", "one record"):
        assert expected in done.stdout
    assert max(map(len, done.stdout.partition("one record")[0].splitlines())) <= 80
    assert json.loads(call("plan", "check", "plan.toml", "--json").stdout)["record"]["epsilon"] > 3.4


def test_plan_check__finds_what_does_not_fit(folder):
    (folder / "plan.toml").write_text(
        PLAN.replace('"geometric"', '"krr"').replace("bounds = [0, 120]\nunit = 5", "domain = ['a', 'b']")
    )
    done = call("plan", "check", "plan.toml", "people.parquet")
    assert done.exit_code == 3
    assert "age: KRR: " in done.stderr


@pytest.mark.parametrize("command", [("sanitize",), ("estimate",), ("plan",), ("plan", "init"), ("plan", "check")])
def test_help__has_examples_and_loads_no_engine(command):
    code = (
        "import sys; from click.testing import CliRunner; from fastdp.cli import main;"
        f"r = CliRunner().invoke(main, [*{command!r}, '--help']); print(r.exit_code, 'Example' in r.output,"
        "[m for m in ('numba', 'pyarrow', 'numpy', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.strip() == "0 True []"


def test_key__gives_the_same_bytes_and_is_paid_for_once(folder):
    """A key that is not there is made, for its owner alone; another one gives other noise, and is paid for."""
    pq.write_table(pa.table({"ill": [True, False] * 5000}), "people.parquet")
    (folder / "plan.toml").write_text('[columns.ill]\nmechanism = "randomized_response"\nepsilon = 1.0\n')
    fd.Ledger.create("people.ledger", epsilon=1000.0)
    for number, name in enumerate(("one.key", "one.key", "two.key")):
        done = call(*SANITIZE, "-o", f"{number}.parquet", "--key", name, "--ledger", "people.ledger")
        assert done.exit_code == 0, done.output
        if number == 0:
            paid = fd.Ledger("people.ledger").spent
            assert stat.S_IMODE((folder / "one.key").stat().st_mode) == 0o600
        if number == 1:
            assert fd.Ledger("people.ledger").spent == paid
    assert fd.Ledger("people.ledger").spent.amount > paid.amount
    first, again, other = (pq.read_table(f"{number}.parquet") for number in range(3))
    assert first.equals(again)
    assert not first.equals(other)
    same = fd.sanitize("people.parquet", Plan.load("plan.toml"), key=fd.JobKey.load("one.key"), output="api.parquet")
    assert same is not None
    assert pq.read_table("api.parquet").equals(first)
    secret = (folder / "one.key").read_text().split()[-1]
    assert not any(secret.encode() in path.read_bytes() for path in folder.iterdir() if path.suffix != ".key")


def test_key__is_refused_where_it_is_none_or_no_secret(folder):
    (folder / "no.key").write_text("hello\n")
    (folder / "no.key").chmod(0o600)
    fd.JobKey().save("open.key")
    (folder / "open.key").chmod(0o644)
    for name, rule in (("no.key", "holds no job key"), ("open.key", "chmod 600")):
        done = call(*SANITIZE, "-o", "out.parquet", "--key", name)
        assert done.exit_code != 0
        assert rule in done.stderr
        assert not (folder / "out.parquet").exists()
