"""The ledger: exact sums, never over, never lost, and no refund."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastdp as fd
from fastdp.accounting.ledger import Ledger
from fastdp.accounting.ledger.costs import Cost
from fastdp.accounting.ledger.filters import Total
from fastdp.privacy import Privacy


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.ledger"


def laplace(epsilon):
    return fd.Laplace(epsilon=epsilon, sensitivity=1.0)


@pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.25, 0.3, 0.7, 1.0, 2.5])
@pytest.mark.parametrize(
    "make",
    [
        laplace,
        lambda epsilon: fd.Geometric(epsilon=epsilon),
        lambda epsilon: fd.KRR(epsilon=epsilon, domain=7),
        lambda epsilon: fd.UnaryEncoding(epsilon=epsilon, domain=7),
        lambda epsilon: fd.RandomizedResponse(epsilon=epsilon),
    ],
    ids=["laplace", "geometric", "krr", "unary", "rr"],
)
def test_charge__is_the_decimal_that_was_asked_for(make, epsilon):
    """The realised guarantee is just below it, so that rounding up to billionths gives it back."""
    assert Cost.of(make(epsilon).privacy).epsilon == round(epsilon * 10**9)


def test_ten_tenths__fit_into_one(path):
    ledger = Ledger.create(path, epsilon=1.0)
    for _ in range(10):
        ledger.spend(laplace(0.1))
    assert ledger.remaining == Total(0, 0)
    with pytest.raises(
        fd.BudgetExceededError, match="costs epsilon 0.10 but 0.00 of 1.00 remains; nothing was released"
    ):
        ledger.spend(laplace(0.1))
    assert ledger.verify() == 11


def test_refusal__spends_nothing_and_smaller_ones_still_fit(path):
    ledger = Ledger.create(path, epsilon=1.0, delta=1e-6)
    ledger.spend(Privacy(epsilon=0.5, delta=4e-7))
    for wrong in (Privacy(epsilon=0.75), Privacy(epsilon=0.1, delta=7e-7)):
        with pytest.raises(fd.BudgetExceededError):
            ledger.spend(wrong)
    ledger.spend(Privacy(epsilon=0.5, delta=5e-7))
    assert ledger.spent.amount == 10**9


def test_zcdp__sums_rho(path):
    ledger = Ledger.create(path, rho=0.1, policy="zcdp")
    ledger.spend(fd.Gaussian(rho=0.04, sensitivity=1.0))
    ledger.spend(laplace(0.2))  # 0.02
    assert ledger.spent.amount == pytest.approx(60_000_000, abs=2)
    with pytest.raises(fd.ParameterError, match="no rho to add up"):
        ledger.spend(Privacy(epsilon=1.0, delta=1e-6))
    with pytest.raises(fd.BudgetExceededError):
        ledger.spend(fd.Gaussian(rho=0.05, sensitivity=1.0))


def test_pure__refuses_rho_alone(path):
    with pytest.raises(fd.ParameterError, match="no epsilon to add up"):
        Ledger.create(path, epsilon=1.0).spend(Privacy(rho=0.1))


def test_no_refund__when_the_release_fails(path):
    ledger = Ledger.create(path, epsilon=1.0)
    with pytest.raises(RuntimeError), ledger.spend(laplace(0.5)):
        raise RuntimeError
    assert ledger.spent.amount == 5 * 10**8


def test_settle__notes_the_receipt(path):
    ledger = Ledger.create(path, epsilon=1.0, name="people", unit="person")
    with ledger.spend(laplace(0.5), name="mean", records=1) as paid:
        entry = paid.settle("sha256 of the receipt")
    assert entry.body["of"] == paid.entry.number == 2
    assert [one.kind for one in Ledger(path).entries()] == ["create", "spend", "settle"]
    assert Ledger(path).verify([paid.stamp]) == 3


def test_create__never_replaces(path):
    path.write_text("precious")
    with pytest.raises(fd.OutputExistsError, match="never replaces"):
        Ledger.create(path, epsilon=1.0)
    assert path.read_text() == "precious"
    assert list(path.parent.iterdir()) == [path]


def test_open__never_creates(path):
    with pytest.raises(fd.ParameterError, match=r"there is no ledger.*Ledger\.create"):
        Ledger(path)
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + bytes(200)])
def test_open__refuses_what_is_no_ledger(path, content):
    path.write_bytes(content)
    with pytest.raises(fd.LedgerCorruptError):
        Ledger(path)


@pytest.mark.parametrize(
    "bad",
    [{"epsilon": 0}, {"epsilon": -1}, {"epsilon": float("nan")}, {"epsilon": float("inf")}, {"epsilon": True},
     {"epsilon": "1"}, {}, {"rho": 1.0}, {"epsilon": 1.0, "delta": 1.0}, {"epsilon": 1.0, "delta": -0.1},
     {"epsilon": 1.0, "policy": "pld"}, {"epsilon": 1.0, "rho": 1.0},
     {"epsilon": 1.0, "policy": "approx"}, {"rho": 1.0, "policy": "gaussian"},
     {"epsilon": 21, "delta": 1e-6, "policy": "approx"}],
)  # fmt: skip
def test_create__refuses_bad_limits(path, bad):
    with pytest.raises(fd.ParameterError, match="ledger"):
        Ledger.create(path, **bad)
    assert not path.exists()


@pytest.mark.parametrize("bad", [None, 1.0, "laplace", object()])
def test_spend__refuses_what_states_no_guarantee(path, bad):
    ledger = Ledger.create(path, epsilon=1.0)
    with pytest.raises(fd.ParameterError, match="give a mechanism"):
        ledger.spend(bad)
    assert ledger.spent == Total(0, 0)


def test_spend__of_a_plan(path):
    ledger = Ledger.create(path, epsilon=2.0)
    plan = fd.Plan(columns={
        "ill": {"mechanism": "randomized_response", "epsilon": 1.0},
        "age": {"mechanism": "krr", "epsilon": 0.5, "domain": 9},
    })  # fmt: skip
    ledger.spend(plan)
    assert ledger.spent.amount == 1_500_000_000


def test_spend__refuses_guarantees_by_distance(path):
    ledger = Ledger.create(path, epsilon=2.0)
    plan = fd.Plan(columns={"age": {"mechanism": "laplace", "epsilon": 1.0, "unit": 5}})
    with pytest.raises(fd.ParameterError, match="private by distance"):
        ledger.spend(plan)
    assert ledger.spent == Total(0, 0)


def test_person__is_charged_for_all_records(path):
    ledger = Ledger.create(path, epsilon=1.0, unit="person")
    with pytest.raises(fd.ParameterError, match="for one record, the budget for one person.*records="):
        ledger.spend(laplace(0.25))
    ledger.spend(laplace(0.25), records=3)
    assert ledger.spent.amount == pytest.approx(750_000_000, abs=3)


def test_neighbours__are_those_of_the_first_release(path):
    ledger = Ledger.create(path, epsilon=3.0)
    ledger.spend(fd.KRR(epsilon=1.0, domain=4))
    with pytest.raises(fd.ParameterError, match="for_replacement"):
        ledger.spend(laplace(0.5))
    ledger.spend(laplace(0.5).privacy.for_replacement())
    assert ledger.spent.amount == pytest.approx(2 * 10**9, abs=2)


def test_raise__is_an_entry_with_a_reason(path):
    ledger = Ledger.create(path, epsilon=1.0)
    with pytest.raises(fd.ParameterError, match="why"):
        ledger.raise_limit(epsilon=2.0, because="")
    with pytest.raises(fd.ParameterError, match="above"):
        ledger.raise_limit(epsilon=1.0, because="no reason")
    ledger.raise_limit(epsilon=2.0, because="the board agreed")
    assert ledger.limit.amount == 2 * 10**9
    assert ledger.entries()[-1].body["because"] == "the board agreed"


def test_entries__cannot_be_changed(path):
    ledger = Ledger.create(path, epsilon=1.0)
    ledger.spend(laplace(0.5))
    with sqlite3.connect(path) as found:
        for statement in ("UPDATE entries SET amount = 0", "DELETE FROM entries WHERE seq = 2"):
            with pytest.raises(sqlite3.IntegrityError, match="append only"):
                found.execute(statement)


@pytest.mark.parametrize("change", ["amount = 0", "body = replace(body, 'Laplace', 'Nothing')", "total = 0"])
def test_verify__sees_changes(path, change):
    ledger = Ledger.create(path, epsilon=1.0)
    ledger.spend(laplace(0.5))
    ledger.spend(laplace(0.25))
    with sqlite3.connect(path) as found:
        found.execute("DROP TRIGGER no_update")
        found.execute(f"UPDATE entries SET {change} WHERE seq = 2")
    with pytest.raises(fd.LedgerCorruptError, match="entry 2"):
        ledger.verify()


def test_verify__sees_an_older_copy_by_a_receipt(path):
    """A backup put back gives no budget back: whoever holds a receipt can tell."""
    ledger = Ledger.create(path, epsilon=1.0)
    shutil.copy(path, path.with_suffix(".backup"))
    stamp = ledger.spend(laplace(0.5)).stamp
    shutil.copy(path.with_suffix(".backup"), path)
    assert Ledger(path).spent == Total(0, 0)
    with pytest.raises(fd.LedgerCorruptError, match="older copy"):
        Ledger(path).verify([stamp])


def test_journal__is_a_rollback_journal(path):
    """Also if somebody turned it into a write-ahead log, a copy of whose file alone would show too much budget."""
    Ledger.create(path, epsilon=1.0)
    with sqlite3.connect(path) as found:
        assert found.execute("PRAGMA journal_mode=WAL").fetchone()[0] == "wal"
    found.close()
    Ledger(path).spend(laplace(0.5))
    with sqlite3.connect(path) as found:
        assert found.execute("PRAGMA journal_mode").fetchone()[0] == "delete"
    found.close()


def test_locked__says_so(path, monkeypatch):
    ledger = Ledger.create(path, epsilon=1.0)
    monkeypatch.setattr("fastdp.accounting.ledger.store.PATIENCE", 0.05)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(fd.LedgerLockedError, match="in use by another process"):
            ledger.spend(laplace(0.5))
    finally:
        holder.close()
    assert ledger.spent == Total(0, 0)


def _spend_all(path, start, results):
    ledger = Ledger(path)
    start.wait()
    granted = 0
    for _ in range(6):
        try:
            ledger.spend(Privacy(epsilon=0.25))
            granted += 1
        except fd.BudgetExceededError:
            pass
    results.put(granted)


def test_processes__never_spend_more_than_there_is(path):
    """Eight processes want 48 spends of which 20 fit; a check outside the transaction would let more through."""
    Ledger.create(path, epsilon=5.0)
    context = multiprocessing.get_context("spawn")
    start, results = context.Event(), context.Queue()
    workers = [context.Process(target=_spend_all, args=(path, start, results)) for _ in range(8)]
    for worker in workers:
        worker.start()
    start.set()
    granted = sum(results.get() for _ in workers)
    for worker in workers:
        worker.join()
    assert granted == 20
    assert Ledger(path).spent.amount == 5 * 10**9
    assert Ledger(path).verify() == 21


KILLED = """
import os, sys
from fastdp.accounting.ledger import Ledger
from fastdp.privacy import Privacy
ledger = Ledger(sys.argv[1])
for _ in range(100):
    paid = ledger.spend(Privacy(epsilon=0.001))
    os.write(1, b"released %d\\n" % paid.entry.number)
"""


@pytest.mark.parametrize("after", [1, 3, 7])
def test_kill__leaves_no_release_without_a_spend(path, after):
    Ledger.create(path, epsilon=5.0)
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE) as child:
        released = [child.stdout.readline() for _ in range(after)]
        os.kill(child.pid, signal.SIGKILL)
        released += child.stdout.read().splitlines()
    last = int([line for line in released if line.strip()][-1].split()[1])
    ledger = Ledger(path)
    assert ledger.verify() >= last
    assert ledger.spent.amount >= 10**6 * (last - 1)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 400_000_000), max_size=12), st.integers(10**8, 10**9))
def test_ledger__is_as_a_list_would_be(tmp_path_factory, amounts, limit):
    """Against the naive model: spends in order, each let through if it fits."""
    path = tmp_path_factory.mktemp("ledger") / "x.ledger"
    ledger, spent = Ledger.create(path, epsilon=limit / 10**9), 0
    limit = ledger.limit.amount
    for amount in amounts:
        cost = Cost.of(Privacy(epsilon=amount / 10**9)).epsilon
        if spent + cost <= limit:
            ledger.spend(Privacy(epsilon=amount / 10**9))
            spent += cost
        else:
            with pytest.raises(fd.BudgetExceededError):
                ledger.spend(Privacy(epsilon=amount / 10**9))
        assert ledger.spent.amount == spent
    ledger.verify()
