"""Threats to a ledger, by their numbers in docs/accounting.md; L1, L2, L4, L9 also in tests/tables/sanitizing."""

from __future__ import annotations

import json
import math
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

import fastdp as fd
from fastdp.accounting.ledger import Ledger, drives
from fastdp.accounting.ledger import ledger as module
from fastdp.accounting.ledger.costs import Cost
from fastdp.accounting.ledger.entries import Spending
from fastdp.accounting.ledger.events import LARGEST_EVENT, describe, read_mechanisms
from fastdp.accounting.ledger.filters import Total
from fastdp.mechanisms.base import Mechanism
from fastdp.privacy import Privacy


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.ledger"


@pytest.fixture
def ledger(path):
    return Ledger.create(path, epsilon=2.0, delta=1e-6, name="people")


def copy_shows_all(path) -> bool:
    """Whether a plain copy of an open ledger's file shows what was spent."""
    holder = sqlite3.connect(path, isolation_level=None)
    try:
        holder.execute("SELECT * FROM entries").fetchall()
        Ledger(path).spend(Privacy(epsilon=0.5))
        shutil.copy(path, path.with_suffix(".copy"))
        with sqlite3.connect(f"file:{path.with_suffix('.copy')}?immutable=1", uri=True) as found:
            copied = found.execute("SELECT total FROM entries ORDER BY seq DESC LIMIT 1").fetchone()[0]
        found.close()
        return copied == Ledger(path).spent.amount
    finally:
        holder.close()


def test_l1_copy__of_the_file_alone_is_whole_and_wal_is_caught(ledger, path, monkeypatch):
    assert copy_shows_all(path)
    execute = sqlite3.connect(path, isolation_level=None)
    execute.execute("PRAGMA journal_mode=WAL")
    execute.close()
    from fastdp.accounting.ledger import store

    monkeypatch.setattr(store, "PRAGMAS", tuple(one for one in store.PRAGMAS if not one.startswith("journal_mode")))
    assert not copy_shows_all(path)


def test_l3_truncated_tail__is_seen_by_a_receipt_alone(ledger, path):
    stamp = ledger.spend(Privacy(epsilon=0.5)).stamp
    with sqlite3.connect(path) as found:
        found.execute("DROP TRIGGER no_delete")
        found.execute("DELETE FROM entries WHERE seq = 2")
    found.close()
    assert ledger.verify() == 1
    with pytest.raises(fd.LedgerCorruptError, match="older copy, or was changed"):
        ledger.verify([stamp])


@pytest.mark.parametrize("change", ["amount = 0, total = 0", "body = replace(body, 'Privacy', 'Nothing')", "seq = 7"])
def test_l3_edited_rows__are_named_by_the_chain(ledger, path, change):
    ledger.spend(Privacy(epsilon=0.5))
    with sqlite3.connect(path) as found:
        found.execute("DROP TRIGGER no_update")
        found.execute(f"UPDATE entries SET {change} WHERE seq = 2")
    found.close()
    with pytest.raises(fd.LedgerCorruptError, match="entry 2"):
        ledger.verify()


@pytest.mark.parametrize("seed", range(8))
def test_l3_flipped_bits__never_give_budget(ledger, path, seed):
    """Any flipped byte leaves what was spent, or an error."""
    import random

    for _ in range(3):
        ledger.spend(Privacy(epsilon=0.25))
    whole, source = bytearray(path.read_bytes()), random.Random(seed)
    for _ in range(25):
        damaged = bytearray(whole)
        damaged[source.randrange(len(whole))] ^= 1 << source.randrange(8)
        path.write_bytes(damaged)
        try:
            Ledger(path).verify()
        except (fd.FastDPError, OSError, KeyError):
            continue
        assert Ledger(path).spent == Total(750_000_000 + 3 * (Cost.of(Privacy(epsilon=0.25)).epsilon - 250_000_000), 0)


def gives_nothing_back(ledger) -> bool:
    before = ledger.spent.amount
    try:
        with ledger.spend(Privacy(epsilon=0.25)):
            raise RuntimeError
    except RuntimeError:
        pass
    return ledger.spent.amount > before


def test_l4_mutant__a_refund_is_caught(ledger, monkeypatch):
    assert gives_nothing_back(ledger)

    def refund(self, kind, *_):
        if kind is not None:
            with sqlite3.connect(ledger.path) as found:
                found.execute("DROP TRIGGER no_delete")
                found.execute("DELETE FROM entries WHERE seq = ?", (self.entry.number,))
            found.close()

    monkeypatch.setattr(Spending, "__exit__", refund)
    assert not gives_nothing_back(ledger)


def test_l6_disjoint_parts__get_no_credit(ledger):
    """Releases that claim to be about different people are added up all the same."""
    ledger.spend(Privacy(epsilon=1.0), name="north")
    ledger.spend(Privacy(epsilon=0.9), name="south")
    with pytest.raises(fd.BudgetExceededError):
        ledger.spend(Privacy(epsilon=1.0), name="east")
    with pytest.raises(TypeError):
        ledger.spend(Privacy(epsilon=0.05), partition="east")


def test_l7_units_neighbours_and_distances__do_not_mix(path):
    ledger = Ledger.create(path, epsilon=9.0, unit="person", metric={"age": 1.0})
    with pytest.raises(fd.ParameterError, match="records="):
        ledger.spend(Privacy(epsilon=1.0, unit="record"))
    ledger.spend(Privacy(epsilon=1.0, unit="person"))
    with pytest.raises(fd.ParameterError, match="for_replacement"):
        ledger.spend(Privacy(epsilon=1.0, unit="person", neighbours="replace"))
    with pytest.raises(fd.ParameterError, match="by distance"):
        ledger.spend(fd.PlanarLaplace(epsilon=0.7, unit="km"), records=1)


def age(epsilon, unit=5):
    return fd.Plan(columns={"age": {"mechanism": "laplace", "epsilon": epsilon, "unit": unit}})


def test_l7_distances__have_accounts_of_their_own(path):
    ledger = Ledger.create(path, epsilon=1.0, metric={"age": 1.0})
    ledger.spend(age(0.5))
    assert ledger.spent == Total(0, 0)
    with pytest.raises(fd.ParameterError, match="is per distance 5, this release is per distance 10"):
        ledger.spend(age(0.25, unit=10))
    with pytest.raises(fd.BudgetExceededError, match="0.75 per distance 5 of 'age' but 0.50 of 1.00 remains"):
        ledger.spend(age(0.75))
    with pytest.raises(fd.BudgetExceededError):
        ledger.check(age(0.75))
    ledger.spend(age(0.5))
    assert ledger.accounts.spent == {"age": {"unit": "distance 5", "amount": 10**9}}
    assert ledger.verify() == 3


@pytest.mark.parametrize("epsilon", [5e-324, 1e-12, 1e-9])
def test_l8_numbers__however_small_cost_something(ledger, epsilon):
    ledger.spend(Privacy(epsilon=epsilon))
    assert 1 <= ledger.spent.amount <= 2


def test_l8_numbers__that_are_none_are_refused(ledger, path):
    for bad in (-1.0, math.nan, math.inf, 0.0):
        with pytest.raises(fd.ParameterError):
            ledger.spend(Privacy(epsilon=bad))
    with pytest.raises(fd.ParameterError, match="more than a ledger can hold"):
        ledger.spend(Privacy(epsilon=1e300))
    for bad in (0, -1, 1.5, True):
        with pytest.raises(fd.ParameterError):
            ledger.spend(Privacy(epsilon=0.1), times=bad)
    with sqlite3.connect(path) as found, pytest.raises(sqlite3.IntegrityError):
        found.execute("INSERT INTO entries VALUES(2, 'spend', '{}', -5, 0, -5, 0, x'00')")
    found.close()
    assert ledger.spent == Total(0, 0)


def test_l8_times__are_multiplied_and_rounded_up(ledger):
    ledger.spend(fd.Laplace(epsilon=0.1, sensitivity=1.0), times=10)
    assert ledger.spent.amount == pytest.approx(10**9, abs=1)


def test_l10_entries__hold_public_parameters_alone(path, tmp_path):
    """No labels, no names of columns, no paths; and what is charged does not depend on the data."""
    plan = fd.Plan(columns={
        "secret column": {"mechanism": "krr", "epsilon": 0.5, "domain": ["secret label", "b", "c"]},
        "also secret": "keep",
    })  # fmt: skip
    ledger = Ledger.create(path, epsilon=2.0)
    ledger.spend(plan)
    text = json.dumps([entry.body for entry in ledger.entries()])
    assert "secret" not in text
    assert str(tmp_path) not in text
    (event,) = (entry.body["event"] for entry in ledger.entries() if entry.kind == "spend")
    assert read_mechanisms(event) == [{"type": "KRR", "epsilon": 0.5, "domain": 3}]


@pytest.mark.parametrize(
    "mechanism",
    [
        fd.Laplace(epsilon=0.1, sensitivity=1 / 3), fd.Gaussian(rho=0.07, sensitivity=1.0), fd.Geometric(epsilon=0.3),
        fd.KRR(epsilon=1.1, domain=9), fd.UnaryEncoding(epsilon=0.7, domain=5), fd.RandomizedResponse(epsilon=1 / 3),
    ],
    ids=lambda one: type(one).__name__,
)  # fmt: skip
def test_events__give_the_mechanism_back(path, mechanism):
    """Event to JSON to event to mechanism: the same parameters to the last bit, and so the same curve."""
    ledger = Ledger.create(path, epsilon=9.0, delta=0.1, policy="approx")
    ledger.spend(mechanism, times=3)
    event = json.loads(json.dumps(ledger.entries()[-1].body["event"]))
    (made,) = read_mechanisms(event)
    assert Mechanism.from_dict(made) == mechanism
    assert event["times"] == 3


def test_events__that_are_too_long_keep_their_guarantee():
    mechanism = fd.Laplace(epsilon=[0.5] * LARGEST_EVENT, sensitivity=1.0)
    event = describe(mechanism, mechanism.privacy, times=1, records=None)
    assert event["mechanisms"] == []
    assert event["epsilon"] == mechanism.privacy.epsilon


def test_l11_charge__is_never_below_the_guarantee():
    for epsilon in (1e-9, 0.1, 0.3, 1 / 3, 2.5):
        assert Cost.of(Privacy(epsilon=epsilon)).epsilon >= epsilon * 10**9
        assert Cost.of(Privacy(epsilon=epsilon)).rho >= epsilon**2 / 2 * 10**9


def test_l12_shuffled_rows__get_no_credit(tmp_path):
    """A plan's cost is the same with and without --shuffle."""
    import pyarrow as pa

    plan = fd.Plan(columns={"ill": {"mechanism": "randomized_response", "epsilon": 0.5}})
    ledger = Ledger.create(tmp_path / "x.ledger", epsilon=1.0)
    for shuffle in (False, True):
        fd.sanitize(pa.table({"ill": [True, False]}), plan, ledger=ledger, shuffle=shuffle)
    assert ledger.spent.amount == 10**9


MOUNTS = """\
21 1 8:1 / / rw - ext4 /dev/sda1 rw
30 21 0:40 / /mnt/share rw shared:1 - nfs4 server:/export rw
31 21 0:41 / /mnt/with\\040space rw - cifs //server/share rw
32 30 8:2 / /mnt/share/local rw - xfs /dev/sdb1 rw
33 21 0:44 / /scratch rw - lustre server:/x rw
"""


@pytest.mark.skipif(os.name != "posix", reason="mounts of Linux")
@pytest.mark.parametrize(
    ("path", "kind"),
    [("/home/x.ledger", "ext4"), ("/mnt/share/a/x.ledger", "nfs4"), ("/mnt/with space/x", "cifs"),
     ("/mnt/share/local/x", "xfs"), ("/mnt/shared/x", "ext4"), ("/scratch/x", "lustre")],
)  # fmt: skip
def test_l13_drives__are_told_by_the_nearest_mount(path, kind):
    assert drives.drive_kind(Path(path), MOUNTS) == kind


def test_l13_network_drives__are_refused_and_shared_ones_told(ledger, path, monkeypatch):
    monkeypatch.setattr(drives, "drive_kind", lambda _: "nfs4")
    with pytest.raises(fd.ParameterError, match=r"network drive \(nfs4\).*local disk"):
        Ledger.create(path.with_name("b.ledger"), epsilon=1.0)
    with pytest.raises(fd.ParameterError, match="network drive"):
        ledger.spend(Privacy(epsilon=0.1))
    assert ledger.spent == Total(0, 0)
    monkeypatch.setattr(drives, "drive_kind", lambda _: "lustre")
    with pytest.warns(UserWarning, match=r"shared drive \(lustre\)"):
        ledger.spend(Privacy(epsilon=0.1))


def test_l13_clock__does_not_order_entries(ledger, monkeypatch):
    """A clock that goes back changes nothing: entries are in the order of their numbers."""
    times = iter(["2030-01-01T00:00:00+00:00", "1999-01-01T00:00:00+00:00"])
    monkeypatch.setattr(module, "circumstances", lambda: {"time": next(times), "fastdp": "x"})
    for _ in range(2):
        ledger.spend(Privacy(epsilon=0.1))
    assert [entry.number for entry in ledger.entries()] == [1, 2, 3]
    assert ledger.verify() == 3


def rival_is_kept_out(ledger, monkeypatch) -> bool:
    """Whether nobody can spend between the check and the entry of another."""
    real, tried = module.allows, []

    def check(spent, added, limit):
        verdict = real(spent, added, limit)
        rival = sqlite3.connect(ledger.path, timeout=0, isolation_level=None)
        try:
            rival.execute("BEGIN IMMEDIATE")
            tried.append(True)
            rival.execute("ROLLBACK")
        except sqlite3.OperationalError:
            tried.append(False)
        finally:
            rival.close()
        return verdict

    with monkeypatch.context() as patch:
        patch.setattr(module, "allows", check)
        ledger.spend(Privacy(epsilon=0.1))
    return not any(tried)


def test_mutant__a_check_outside_the_transaction_is_caught(ledger, monkeypatch):
    assert rival_is_kept_out(ledger, monkeypatch)
    append = Ledger.append

    def check_first(self, kind, body, added=module.NOTHING):
        assert module.allows(self.spent, added, self.limit)
        return append(self, kind, body, added)

    monkeypatch.setattr(Ledger, "append", check_first)
    assert not rival_is_kept_out(ledger, monkeypatch)


def test_full_disk__spends_nothing_and_leaves_the_ledger_whole(ledger, path):
    """A limit on the size of files stands for a disk that is full."""
    resource = pytest.importorskip("resource")
    ledger.spend(Privacy(epsilon=0.5))
    import signal
    import subprocess
    import sys

    def cap() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, path.stat().st_size))

    code = (
        "import sys\nfrom fastdp.accounting.ledger import Ledger\nfrom fastdp.privacy import Privacy\n"
        "for _ in range(200): Ledger(sys.argv[1]).spend(Privacy(epsilon=1e-3), name='x' * 3000)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], preexec_fn=cap, capture_output=True, text=True)
    assert done.returncode != 0
    assert "nothing was spent" in done.stderr
    count = ledger.verify()
    ledger.spend(Privacy(epsilon=0.1))
    assert ledger.verify() == count + 1
