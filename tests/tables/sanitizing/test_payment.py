"""Releases paid from a ledger: spend, then draw, then release; nothing comes back."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import fastdp as fd
from fastdp.accounting.ledger import Ledger
from fastdp.accounting.ledger.entries import receipt_digest
from fastdp.cli import main
from fastdp.tables.sanitizing import payment
from fastdp.tables.sanitizing.job import Job
from fastdp.tables.task import Task

COLUMNS = {"ill": {"mechanism": "randomized_response", "epsilon": 0.5}, "name": "drop"}
PLAN = fd.Plan(columns=COLUMNS)
TABLE = pa.table({"ill": [True, False] * 50, "name": ["Ann"] * 100})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(TABLE, "people.parquet")
    Path("plan.toml").write_text(
        'ledger = "people.ledger"\n[columns]\nname = "drop"\n'
        '[columns.ill]\nmechanism = "randomized_response"\nepsilon = 0.5\n'
    )
    Ledger.create("people.ledger", epsilon=1.2, name="people")
    return tmp_path


def spent() -> int:
    return Ledger("people.ledger").spent.amount


def test_table__is_paid_for_and_settled(folder):
    found = fd.sanitize(TABLE, PLAN, ledger="people.ledger", name="first")
    receipt = json.loads(found.schema.metadata[b"fastdp.receipt"])
    entries = Ledger("people.ledger").entries()
    assert [one.kind for one in entries] == ["create", "spend", "settle"]
    assert receipt["ledger"] == {
        "id": Ledger("people.ledger").id, "name": "people", "entry": 2, "head": entries[1].head,
    }  # fmt: skip
    assert entries[1].body["name"] == "first"
    assert spent() == 500_000_000


def test_file__has_a_receipt_that_the_ledger_holds(folder):
    made = fd.sanitize("people.parquet", PLAN, "out.parquet", ledger=Ledger("people.ledger"))
    entries = Ledger("people.ledger").entries()
    assert entries[-1].body == {**entries[-1].body, "of": 2, "receipt": receipt_digest(made)}
    assert json.loads(Path("out.parquet.receipt.json").read_text())["ledger"]["head"] == entries[1].head
    assert Ledger("people.ledger").verify([made.ledger]) == 3


def test_numbers__of_plan_receipt_and_entry_are_the_same(folder):
    """What plan check prints, what the receipt states and what the entry holds is one number."""
    fd.sanitize("people.parquet", PLAN, "out.parquet", ledger="people.ledger")
    said = json.loads(CliRunner().invoke(main, ["plan", "check", "plan.toml", "--json"]).stdout)
    receipt = json.loads(Path("out.parquet.receipt.json").read_text())
    event = Ledger("people.ledger").entries()[1].body["event"]
    assert said["record"]["epsilon"] == receipt["guarantee"]["record"]["epsilon"] == PLAN.privacy.record.epsilon
    assert float.fromhex(event["epsilon"]) == PLAN.privacy.record.epsilon


def test_command__refuses_what_does_not_fit(folder):
    command = ["sanitize", "people.parquet", "-p", "plan.toml", "-q", "-o"]
    for number in range(2):
        assert CliRunner().invoke(main, [*command, f"out{number}.parquet"]).exit_code == 0
    done = CliRunner().invoke(main, [*command, "out2.parquet", "--ledger", "people.ledger"])
    assert done.exit_code == 4
    assert "ledger: this release costs epsilon 0.50 but 0.20 of 1.20 remains; nothing was released" in done.stderr
    assert not Path("out2.parquet").exists()
    assert spent() == 10**9


def test_plan__names_its_ledger_from_its_own_folder(folder, monkeypatch):
    monkeypatch.chdir("/")
    plan = fd.Plan.load(folder / "plan.toml")
    fd.sanitize(TABLE, plan)
    assert Ledger(folder / "people.ledger").spent.amount == 500_000_000
    assert "ledger" not in plan.to_dict()


def test_plan__and_caller_must_name_one_ledger(folder):
    Ledger.create("other.ledger", epsilon=1.0)
    with pytest.raises(fd.ParameterError, match="another ledger"):
        fd.sanitize(TABLE, fd.Plan.load("plan.toml"), ledger="other.ledger")
    assert spent() == 0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: fd.sanitize(pa.table({"ill": [True]}), PLAN, ledger="people.ledger"),
        lambda: fd.sanitize(TABLE, PLAN, "people.ledger", ledger="people.ledger"),
        lambda: fd.sanitize(TABLE, PLAN, "missing/out.parquet", ledger="people.ledger"),
        lambda: fd.sanitize(TABLE, PLAN, "out.xyz", ledger="people.ledger"),
        lambda: fd.sanitize(pa.table({"ill": ["yes"], "name": ["a"]}), PLAN, ledger="people.ledger"),
        lambda: fd.sanitize(TABLE, PLAN, ledger="people.ledger", records=0),
    ],
)
def test_checks_without_data__come_before_the_spend(folder, wrong):
    with pytest.raises((fd.FastDPError, OSError)):
        wrong()
    assert spent() == 0


def test_l4_failures__cost_what_they_would_have_cost(folder):
    """An error that depends on the data gives nothing back: it would answer questions about them."""
    plan = fd.Plan(columns={"city": {"mechanism": "krr", "epsilon": 0.5, "domain": ["a", "b"]}})
    with pytest.raises(fd.DomainError):
        fd.sanitize(pa.table({"city": ["a", "c"]}), plan, ledger="people.ledger")
    assert spent() == 500_000_000
    assert [one.kind for one in Ledger("people.ledger").entries()] == ["create", "spend"]


def test_l1_backup__gives_no_budget_back(folder):
    """Neither where the old output is replaced, nor for another output beside it or beside the ledger."""
    shutil.copy("people.ledger", "backup")
    fd.sanitize("people.parquet", PLAN, "out.parquet", ledger="people.ledger")
    shutil.copy("backup", "people.ledger")
    for output, force in (("out.parquet", True), ("other.parquet", False), (None, False)):
        with pytest.raises(fd.LedgerCorruptError, match="older copy"):
            fd.sanitize("people.parquet", PLAN, output, ledger="people.ledger", force=force)
    assert spent() == 0
    assert not Path("other.parquet").exists()


def test_l1_backup__is_seen_by_a_receipt_that_is_named(folder):
    shutil.copy("people.ledger", "backup")
    Path("kept").mkdir()
    fd.sanitize("people.parquet", PLAN, "out.parquet", ledger="people.ledger", receipt="kept/receipt")
    shutil.copy("backup", "people.ledger")
    with pytest.raises(fd.LedgerCorruptError, match="older copy"):
        fd.sanitize("people.parquet", PLAN, "b.parquet", ledger="people.ledger", receipt="kept/receipt", force=True)


def test_l2_two_ledgers__of_one_data_set_are_told(folder):
    fd.sanitize("people.parquet", PLAN, "out.parquet", ledger="people.ledger")
    Ledger.create("second.ledger", epsilon=1.0, name="people")
    with pytest.warns(UserWarning, match="another ledger of the data set 'people'"):
        fd.sanitize("people.parquet", PLAN, "again.parquet", ledger="second.ledger")
    plan = fd.Plan(columns={"ill": COLUMNS["ill"]})
    Ledger.create("third.ledger", epsilon=1.0, name="other")
    with pytest.warns(UserWarning, match="the input was paid for from ledger"):
        fd.sanitize("out.parquet", plan, "twice.parquet", ledger="third.ledger")


def test_once__tells_an_identical_redo_and_every_redo_is_charged(folder):
    """The same key, plan and file have the same three digests; another key hides both."""
    stored = []
    for seed, output in ((1, "a.parquet"), (1, "b.parquet")):
        fd.sanitize("people.parquet", PLAN, output, ledger="people.ledger", rng=fd.Rng.unsafe_seed(seed))
        stored.append(Ledger("people.ledger").entries()[-2].body["once"])
    assert stored[0] == stored[1]
    assert spent() == 10**9
    source = Job("people.parquet", PLAN).source
    fresh = payment.once(PLAN, source, fd.JobKey())
    assert fresh["plan"] == stored[0]["plan"]
    assert fresh["input"] != stored[0]["input"]
    assert fresh["key"] != stored[0]["key"]


def test_noise__is_the_same_with_and_without_a_ledger(folder):
    paid = fd.sanitize(TABLE, PLAN, rng=fd.Rng.unsafe_seed(3), ledger="people.ledger")
    assert paid.equals(fd.sanitize(TABLE, PLAN, rng=fd.Rng.unsafe_seed(3)))


def test_estimation__spends_nothing(folder):
    fd.sanitize("people.parquet", PLAN, "out.parquet", ledger="people.ledger")
    before = len(Ledger("people.ledger").entries())
    fd.estimate_table("out.parquet")
    assert len(Ledger("people.ledger").entries()) == before


KILLED = """
import os, signal, sys
import fastdp as fd
from fastdp.accounting.ledger import entries, ledger, store
from fastdp.io import atomic
from fastdp.tables import task
from fastdp.tables.sanitizing import job, payment
POINTS = {
    "checks": (payment, "check_stamps"), "spend": (ledger.Ledger, "spend"), "hash": (ledger, "link"),
    "judge": (ledger.Ledger, "_judge"), "stamp": (entries.Spending, "__init__"), "draw": (task.Task, "sanitize"),
    "link": (os, "link"), "settle": (job, "settle"), "hash of the settlement": (entries, "receipt_digest"),
}
owner, name = POINTS[sys.argv[1]]
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(owner, name, die)
plan = fd.Plan(columns={"ill": {"mechanism": "randomized_response", "epsilon": 0.5}, "name": "drop"})
fd.sanitize("people.parquet", plan, "out.parquet", ledger="people.ledger")
"""
STEPS = ["checks", "spend", "judge", "hash", "stamp", "draw", "link", "settle", "hash of the settlement"]


@pytest.mark.parametrize("step", STEPS)
def test_l9_crash__leaves_no_release_without_a_spend(folder, step):
    """Killed at every step in turn: what is out was paid for, and the ledger is whole."""
    done = subprocess.run([sys.executable, "-c", KILLED, step], capture_output=True)
    assert done.returncode == -9, done.stderr
    ledger = Ledger("people.ledger")
    assert ledger.verify() in (1, 2)
    assert Path("out.parquet").exists() == (step in STEPS[-2:])
    assert spent() == (500_000_000 if STEPS.index(step) >= STEPS.index("stamp") else 0)
    fd.sanitize("people.parquet", PLAN, "again.parquet", ledger=ledger)


def releases_are_paid(draw) -> bool:
    """Whether the ledger had its entry when the first record was drawn."""
    seen = []

    def watch(self, *given, **named):
        seen.append(spent())
        return draw(self, *given, **named)

    Task.sanitize = watch
    try:
        fd.sanitize(TABLE, PLAN, ledger="people.ledger")
    finally:
        Task.sanitize = draw
    return seen[0] == spent() > 0


def test_mutant__release_before_spend_is_caught(folder, monkeypatch):
    draw = Task.sanitize
    assert releases_are_paid(draw)
    Ledger.create("late.ledger", epsilon=1.0)
    run, pay = Job.run, Job.pay

    def late(self, *given, **named):
        found = run(self, *given, **named)
        pay(self, "people.ledger", fd.JobKey())
        return found

    monkeypatch.setattr(Job, "pay", lambda *_, **__: None)
    monkeypatch.setattr(Job, "run", late)
    assert not releases_are_paid(draw)
